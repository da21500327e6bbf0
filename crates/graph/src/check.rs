//! What makes a graph whole: names that are there, and ways in and out.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{builder::GraphBuilder, command::END, node::OnError, state::State};
use crate::base::Fault;

/// What is wrong with a graph. The names are nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// No entry was named.
    #[error("the graph has no entry: name one with `entry`, or lead on from `START`")]
    NoEntry,
    /// An edge or the entry names a node that is not there.
    #[error("`{from}` leads to `{to}`, which is no node")]
    UnknownTarget {
        /// Where the edge begins (`entry` for the entry itself).
        from: String,
        /// The name nobody bears.
        to: String,
    },
    /// An edge begins at, or a policy speaks of, a node that is not there.
    #[error("`{0}` is no node, but an edge or an interrupt begins there")]
    UnknownSource(String),
    /// Two nodes bear one name, or one bears a reserved name.
    #[error("the name `{0}` is taken")]
    DuplicateName(String),
    /// Nothing leads there from the entry.
    #[error("no way leads from the entry to {}", quoted(.0))]
    Unreachable(Vec<String>),
    /// Nothing leads from there to the end.
    #[error("no way leads to the end from {}", quoted(.0))]
    NoWayToEnd(Vec<String>),
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl From<GraphError> for Fault {
    fn from(error: GraphError) -> Self {
        Fault::permanent(error.to_string())
    }
}

impl<S: State, D> GraphBuilder<S, D> {
    pub(super) fn check_names(&self, entry: &Arc<str>) -> Result<(), GraphError> {
        let mut names = BTreeSet::from([END]);
        for node in &self.nodes {
            if !names.insert(&node.name) {
                return Err(GraphError::DuplicateName(node.name.to_string()));
            }
        }
        let known = |name: &str| names.contains(name);
        let unknown = |from: &str, to: &str| GraphError::UnknownTarget {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        if !known(entry) || &**entry == END {
            return Err(unknown("entry", entry));
        }
        let sources = self.edges.keys().chain(&self.before).chain(&self.after);
        if let Some(stranger) = sources.into_iter().find(|name| !known(name) || &***name == END) {
            return Err(GraphError::UnknownSource(stranger.to_string()));
        }
        for (from, to) in self.arrows() {
            if !known(&to) {
                return Err(unknown(&from, &to));
            }
        }
        Ok(())
    }

    /// Every (from, to) there can be, error handlers included.
    fn arrows(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let edges = self.edges.iter().flat_map(|(from, edges)| {
            let targets = edges.iter().flat_map(|edge| edge.targets());
            targets.map(|to| (from.clone(), to.clone()))
        });
        let handlers = self.nodes.iter().filter_map(|node| match &node.on_error {
            OnError::Handler(handler) => Some((node.name.clone(), handler.clone())),
            _ => None,
        });
        edges.chain(handlers).collect()
    }

    /// The nodes from which a way leads to each deferred one.
    pub(super) fn upstream(&self) -> HashMap<Arc<str>, BTreeSet<Arc<str>>> {
        let deferred = self.nodes.iter().filter(|node| node.deferred).map(|node| &node.name);
        let flipped: Vec<_> = self.arrows().into_iter().map(|(from, to)| (to, from)).collect();
        deferred.map(|node| (node.clone(), reach(node, &flipped))).collect()
    }

    pub(super) fn check_ways(&self, entry: &Arc<str>) -> Result<(), GraphError> {
        let arrows = self.arrows();
        let flipped: Vec<_> = arrows.iter().map(|(from, to)| (to.clone(), from.clone())).collect();
        let forward = reach(entry, &arrows);
        let missing = |reached: &BTreeSet<Arc<str>>| -> Vec<String> {
            let left = self.nodes.iter().filter(|node| !reached.contains(&node.name));
            left.map(|node| node.name.to_string()).collect()
        };
        let unreachable = missing(&forward);
        if !unreachable.is_empty() {
            return Err(GraphError::Unreachable(unreachable));
        }
        let stuck = missing(&reach(&END.into(), &flipped));
        if !stuck.is_empty() {
            return Err(GraphError::NoWayToEnd(stuck));
        }
        Ok(())
    }
}

fn reach(from: &Arc<str>, arrows: &[(Arc<str>, Arc<str>)]) -> BTreeSet<Arc<str>> {
    let mut ways: HashMap<&str, Vec<&Arc<str>>> = HashMap::new();
    for (from, to) in arrows {
        ways.entry(from).or_default().push(to);
    }
    let mut reached = BTreeSet::from([from.clone()]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for to in ways.get(&**at).into_iter().flatten() {
            if reached.insert((*to).clone()) {
                open.push(to);
            }
        }
    }
    reached
}
