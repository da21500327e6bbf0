//! Drawings of a graph, and of a run's way through it.

mod svg;

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use super::{
    builder::Edge,
    command::{END, START},
    graph::Graph,
    machine::RunMachine,
    node::OnError,
    path::Path,
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
    /// What is in its subgraphs.
    inside: BTreeMap<Arc<str>, Self>,
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
        let entry = graph.entry.clone();
        let nodes = graph.order.iter().filter(|node| &***node != START).cloned().collect();
        let inside = graph.order.iter().filter_map(|name| {
            let inside = graph.nodes.get(name)?.inside.as_ref()?;
            Some((name.clone(), inside.drawing.clone()))
        });
        let inside = inside.collect();
        Self { nodes, entry, arrows, marks: BTreeMap::new(), inside }
    }

    /// The same, with a run's way marked.
    #[must_use]
    pub fn with_run<S: State>(mut self, machine: &RunMachine<S>) -> Self {
        for task in machine.history() {
            let mark = if task.fault.is_some() { PathMark::Failed } else { PathMark::Done };
            if let Some(drawing) = self.at(&task.path) {
                drawing.mark(&task.node, mark);
            }
        }
        if machine.ended().is_none() {
            for (_, node, _) in machine.unfinished() {
                self.mark(node, PathMark::Waiting);
            }
            for open in machine.interrupts() {
                if let Some(drawing) = self.at(&open.path) {
                    drawing.mark(&open.node, PathMark::Waiting);
                }
            }
        }
        self
    }

    /// What is drawn of the subgraph there.
    fn at(&mut self, path: &Path) -> Option<&mut Self> {
        path.places().iter().try_fold(self, |drawing, place| drawing.inside.get_mut(&place.node))
    }

    fn mark(&mut self, node: &Arc<str>, mark: PathMark) {
        if &**node == START {
            return;
        }
        let known = self.marks.entry(node.clone()).or_insert(mark);
        *known = (*known).max(mark);
    }

    /// As a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        self.mermaid_in(&mut text, "", "  ");
        for (mark, style) in [
            (PathMark::Done, "done fill:#d3f9d8,stroke:#2b8a3e"),
            (PathMark::Waiting, "waiting fill:#fff3bf,stroke:#e67700"),
            (PathMark::Failed, "failed fill:#ffe3e3,stroke:#c92a2a"),
        ] {
            let nodes = self.marked("", mark);
            if let Some((class, _)) = style.split_once(' ')
                && !nodes.is_empty()
            {
                put(&mut text, format_args!("  classDef {style}\n"));
                put(&mut text, format_args!("  class {} {class}\n", nodes.join(",")));
            }
        }
        text
    }

    /// `inside`: what the ids of its nodes begin with.
    fn mermaid_in(&self, text: &mut String, inside: &str, indent: &str) {
        let id = |name: &str| format!("{inside}{}", self.id(name));
        put(text, format_args!("{indent}{}((start))\n", id(START)));
        for node in &self.nodes {
            let (id, label) = (id(node), node.replace('"', "#quot;"));
            let Some(below) = self.inside.get(node) else {
                put(text, format_args!("{indent}{id}[\"{label}\"]\n"));
                continue;
            };
            put(text, format_args!("{indent}subgraph {id}[\"{label}\"]\n"));
            below.mermaid_in(text, &format!("{id}_"), &format!("{indent}  "));
            put(text, format_args!("{indent}end\n"));
        }
        put(text, format_args!("{indent}{}((end))\n", id(END)));
        if &*self.entry != START {
            put(text, format_args!("{indent}{} --> {}\n", id(START), id(&self.entry)));
        }
        for (from, to, line) in &self.arrows {
            let arrow = match line {
                Line::Fixed => "-->",
                Line::Choice => "-.->",
                Line::Error => "-. error .->",
            };
            put(text, format_args!("{indent}{} {arrow} {}\n", id(from), id(to)));
        }
    }

    /// As a DOT digraph. A subgraph is its node and what is in it, in a box.
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph workflow {\n  node [shape=box, style=rounded]\n");
        self.dot_in(&mut text, "", "  ");
        text.push_str("}\n");
        text
    }

    fn dot_in(&self, text: &mut String, inside: &str, indent: &str) {
        let id = |name: &str| format!("{inside}{name}");
        put(text, format_args!("{indent}{} [shape=circle, label=\"start\"]\n", bare(&id(START))));
        for node in &self.nodes {
            let fill = match self.marks.get(node) {
                None => String::new(),
                Some(PathMark::Done) => filled("#d3f9d8"),
                Some(PathMark::Waiting) => filled("#fff3bf"),
                Some(PathMark::Failed) => filled("#ffe3e3"),
            };
            let name = id(node);
            let own = format!("{name:?} [label={:?}{fill}]\n", &**node);
            let Some(below) = self.inside.get(node) else {
                put(text, format_args!("{indent}{own}"));
                continue;
            };
            put(text, format_args!("{indent}subgraph {:?} {{\n", format!("cluster_{name}")));
            put(text, format_args!("{indent}  {own}"));
            below.dot_in(text, &format!("{name}/"), &format!("{indent}  "));
            let start = format!("{name}/{START}");
            put(text, format_args!("{indent}  {name:?} -> {start:?} [style=dotted]\n"));
            put(text, format_args!("{indent}}}\n"));
        }
        put(text, format_args!("{indent}{} [shape=doublecircle, label=\"end\"]\n", bare(&id(END))));
        if &*self.entry != START {
            let (start, entry) = (bare(&id(START)), id(&self.entry));
            put(text, format_args!("{indent}{start} -> {entry:?}\n"));
        }
        for (from, to, line) in &self.arrows {
            let style = match line {
                Line::Fixed => "",
                Line::Choice => " [style=dashed]",
                Line::Error => " [style=dashed, label=\"error\"]",
            };
            put(text, format_args!("{indent}{:?} -> {:?}{style}\n", id(from), id(to)));
        }
    }

    /// An identifier Mermaid takes, whatever the name, and another for each; `START` and `END` stay
    /// themselves.
    fn id(&self, name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name == END || name == START {
            return name.to_owned();
        }
        if name.chars().all(plain) {
            return format!("n_{name}");
        }
        let place = self.nodes.iter().position(|node| **node == *name).unwrap_or_default();
        format!("x{place}_{}", name.replace(|c| !plain(c), "_"))
    }

    /// The ids of the nodes that bear this mark, of subgraphs too.
    fn marked(&self, inside: &str, mark: PathMark) -> Vec<String> {
        let own = self.marks.iter().filter(|(_, is)| **is == mark);
        let mut marked: Vec<String> =
            own.map(|(node, _)| format!("{inside}{}", self.id(node))).collect();
        for (node, below) in &self.inside {
            marked.extend(below.marked(&format!("{inside}{}_", self.id(node)), mark));
        }
        marked
    }
}

/// `START` and `END` of the workflow's own graph need no quotes.
fn bare(id: &str) -> String {
    if id == START || id == END { id.to_owned() } else { format!("{id:?}") }
}

fn filled(colour: &str) -> String {
    format!(", style=\"rounded,filled\", fillcolor=\"{colour}\"")
}

fn put(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(piece);
}
