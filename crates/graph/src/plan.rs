//! Which tasks follow a step: the graph's edges, applied to what the tasks answered.

use std::sync::Arc;

use super::{
    builder::{Compiled, Edge},
    command::{END, Send},
    machine::RunMachine,
    state::State,
};
use crate::base::Fault;

impl<S: State, D> Compiled<S, D> {
    /// The tasks that the edges of the finished tasks lead to, for the state as it will be once
    /// their updates are merged. A task whose command goes somewhere follows no edge.
    ///
    /// # Errors
    /// Permanent if a branch names a target it did not declare.
    pub(super) fn routed(&self, leaving: &[Arc<str>], merged: &S) -> Result<Vec<Send>, Fault> {
        let mut tasks = Vec::new();
        for node in leaving {
            for edge in self.edges.get(node).into_iter().flatten() {
                match edge {
                    Edge::Sends(_) => {}
                    Edge::Fixed(to) if &**to == END => {}
                    Edge::Fixed(to) => tasks.push(Send::to(to.clone())),
                    Edge::Branch { targets, route } => {
                        let sends = route(merged);
                        declared(node, &sends, targets)?;
                        tasks.extend(sends.into_iter().filter(|send| &*send.node != END));
                    }
                }
            }
        }
        Ok(tasks)
    }

    /// Whether the command's targets were declared.
    pub(super) fn check_sends(&self, node: &str, sends: &[Send]) -> Result<(), Fault> {
        let edges = self.edges.get(node).into_iter().flatten();
        let targets: Vec<Arc<str>> = edges
            .filter(|edge| matches!(edge, Edge::Sends(_)))
            .flat_map(|edge| edge.targets().to_vec())
            .collect();
        declared(node, sends, &targets)
    }
}

fn declared(from: &str, sends: &[Send], targets: &[Arc<str>]) -> Result<(), Fault> {
    match sends.iter().find(|send| !targets.contains(&send.node)) {
        None => Ok(()),
        Some(send) => Err(Fault::permanent(format!(
            "node `{from}` goes to `{}`, which it did not declare as a target",
            send.node
        ))),
    }
}

/// The nodes that leave the step by their edges, in task order.
pub(super) fn leaving<S: State>(machine: &RunMachine<S>) -> Vec<Arc<str>> {
    let by_edges = machine.commands().filter(|(_, command)| command.goto.is_none());
    let mut nodes: Vec<Arc<str>> = Vec::new();
    for (node, _) in by_edges {
        if nodes.last() != Some(node) && !nodes.contains(node) {
            nodes.push(node.clone());
        }
    }
    nodes
}
