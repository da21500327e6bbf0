//! Drawings of a graph, and of a run's way through it.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use super::{
    builder::{Edge, Graph},
    command::END,
    machine::RunMachine,
    node::OnError,
    state::State,
};

/// What a run did at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathMark {
    /// It ran and ended well.
    Done,
    /// It is to run, or waits.
    Waiting,
    /// It failed.
    Failed,
}

/// How an arrow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    /// Always taken.
    Fixed,
    /// Taken when a branch or a command says so.
    Choice,
    /// Taken on failure.
    Error,
}

/// A graph ready to be drawn: nodes, arrows, and the marks of a run.
#[derive(Debug, Clone)]
pub struct Drawing {
    nodes: Vec<Arc<str>>,
    entry: Arc<str>,
    arrows: Vec<(Arc<str>, Arc<str>, Line)>,
    marks: BTreeMap<Arc<str>, PathMark>,
}

impl Drawing {
    /// The graph alone.
    pub fn of<S: State, D>(graph: &Graph<S, D>) -> Self {
        let mut arrows = Vec::new();
        for from in &graph.order {
            for edge in graph.edges.get(from).into_iter().flatten() {
                let line = if matches!(edge, Edge::Fixed(_)) { Line::Fixed } else { Line::Choice };
                arrows.extend(edge.targets().iter().map(|to| (from.clone(), to.clone(), line)));
            }
            if let Some(node) = graph.nodes.get(from)
                && let OnError::Handler(handler) = &node.on_error
            {
                arrows.push((from.clone(), handler.clone(), Line::Error));
            }
        }
        arrows.dedup();
        let (nodes, entry) = (graph.order.clone(), graph.entry.clone());
        Self { nodes, entry, arrows, marks: BTreeMap::new() }
    }

    /// The same, with a run's way marked.
    #[must_use]
    pub fn with_run<S: State>(mut self, machine: &RunMachine<S>) -> Self {
        for task in machine.history() {
            let mark = if task.fault.is_some() { PathMark::Failed } else { PathMark::Done };
            self.mark(&task.node, mark);
        }
        if machine.ended().is_none() {
            for (_, node, _) in machine.unfinished() {
                self.mark(node, PathMark::Waiting);
            }
        }
        self
    }

    fn mark(&mut self, node: &Arc<str>, mark: PathMark) {
        let known = self.marks.entry(node.clone()).or_insert(mark);
        *known = (*known).max(mark);
    }

    /// As a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n  START((start))\n");
        for node in &self.nodes {
            put(
                &mut text,
                format_args!("  {}[\"{}\"]\n", self.id(node), node.replace('"', "#quot;")),
            );
        }
        text.push_str("  END((end))\n");
        put(&mut text, format_args!("  START --> {}\n", self.id(&self.entry)));
        for (from, to, line) in &self.arrows {
            let arrow = match line {
                Line::Fixed => "-->",
                Line::Choice => "-.->",
                Line::Error => "-. error .->",
            };
            put(&mut text, format_args!("  {} {arrow} {}\n", self.id(from), self.id(to)));
        }
        for (mark, style) in [
            (PathMark::Done, "done fill:#d3f9d8,stroke:#2b8a3e"),
            (PathMark::Waiting, "waiting fill:#fff3bf,stroke:#e67700"),
            (PathMark::Failed, "failed fill:#ffe3e3,stroke:#c92a2a"),
        ] {
            let nodes: Vec<String> = self.marked(mark).map(|node| self.id(node)).collect();
            if let Some((class, _)) = style.split_once(' ')
                && !nodes.is_empty()
            {
                put(&mut text, format_args!("  classDef {style}\n"));
                put(&mut text, format_args!("  class {} {class}\n", nodes.join(",")));
            }
        }
        text
    }

    /// As a DOT digraph.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph workflow {\n  node [shape=box, style=rounded]\n");
        text.push_str("  START [shape=circle, label=\"start\"]\n");
        for node in &self.nodes {
            let fill = match self.marks.get(node) {
                None => String::new(),
                Some(PathMark::Done) => filled("#d3f9d8"),
                Some(PathMark::Waiting) => filled("#fff3bf"),
                Some(PathMark::Failed) => filled("#ffe3e3"),
            };
            put(&mut text, format_args!("  {:?} [label={:?}{fill}]\n", &**node, &**node));
        }
        text.push_str("  END [shape=doublecircle, label=\"end\"]\n");
        put(&mut text, format_args!("  START -> {:?}\n", &*self.entry));
        for (from, to, line) in &self.arrows {
            let style = match line {
                Line::Fixed => "",
                Line::Choice => " [style=dashed]",
                Line::Error => " [style=dashed, label=\"error\"]",
            };
            put(&mut text, format_args!("  {:?} -> {:?}{style}\n", &**from, &**to));
        }
        text.push_str("}\n");
        text
    }

    /// An identifier Mermaid takes, whatever the name, and another for each; `END` stays itself.
    fn id(&self, name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name == END {
            return END.to_owned();
        }
        if name.chars().all(plain) {
            return format!("n_{name}");
        }
        let place = self.nodes.iter().position(|node| **node == *name).unwrap_or_default();
        format!("x{place}_{}", name.replace(|c| !plain(c), "_"))
    }

    fn marked(&self, mark: PathMark) -> impl Iterator<Item = &Arc<str>> {
        self.marks.iter().filter(move |(_, is)| **is == mark).map(|(node, _)| node)
    }
}

fn filled(colour: &str) -> String {
    format!(", style=\"rounded,filled\", fillcolor=\"{colour}\"")
}

fn put(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(piece);
}
