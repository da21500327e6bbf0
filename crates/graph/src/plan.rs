//! Which tasks follow a step: the graph's edges, applied to what the tasks answered.

use std::sync::Arc;

use super::{
    builder::Edge,
    command::{Dispatch, END},
    graph::Compiled,
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
    pub(super) fn routed(&self, leaving: &[Arc<str>], merged: &S) -> Result<Vec<Dispatch>, Fault> {
        let mut tasks = Vec::new();
        for node in leaving {
            for edge in self.edges.get(node).into_iter().flatten() {
                match edge {
                    Edge::Sends(_) => {}
                    Edge::Fixed(to) if &**to == END => {}
                    Edge::Fixed(to) => tasks.push(Dispatch::to(to.clone())),
                    Edge::Branch { targets, route } => {
                        let dispatches = route(merged);
                        declared(node, &dispatches, targets)?;
                        tasks.extend(
                            dispatches.into_iter().filter(|dispatch| &*dispatch.node != END),
                        );
                    }
                }
            }
        }
        Ok(tasks)
    }

    /// The deferred nodes among those `upcoming` that another of them can still lead to. All of them
    /// wait for each other at worst; then none does.
    pub(super) fn held(&self, upcoming: &[Arc<str>]) -> Vec<Arc<str>> {
        let mut held: Vec<Arc<str>> = Vec::new();
        for node in upcoming {
            let Some(upstream) = self.upstream.get(node) else { continue };
            let waits = upcoming.iter().any(|other| other != node && upstream.contains(other));
            if waits && !held.contains(node) {
                held.push(node.clone());
            }
        }
        let all = upcoming.iter().all(|node| held.contains(node));
        if all { Vec::new() } else { held }
    }

    /// Whether the command's targets were declared.
    pub(super) fn check_dispatches(
        &self,
        node: &str,
        dispatches: &[Dispatch],
    ) -> Result<(), Fault> {
        let edges = self.edges.get(node).into_iter().flatten();
        let targets: Vec<Arc<str>> = edges
            .filter(|edge| matches!(edge, Edge::Sends(_)))
            .flat_map(|edge| edge.targets().to_vec())
            .collect();
        declared(node, dispatches, &targets)
    }
}

fn declared(from: &str, dispatches: &[Dispatch], targets: &[Arc<str>]) -> Result<(), Fault> {
    let unfit = |dispatch: &Dispatch| Some((dispatch.node.clone(), dispatch.unfit.clone()?));
    if let Some((to, why)) = dispatches.iter().find_map(unfit) {
        return Err(Fault::permanent(format!(
            "node `{from}` sends `{to}` an input that has no JSON form: {why}"
        )));
    }
    match dispatches.iter().find(|dispatch| !targets.contains(&dispatch.node)) {
        None => Ok(()),
        Some(dispatch) => Err(Fault::permanent(format!(
            "node `{from}` goes to `{}`, which it did not declare as a target",
            dispatch.node
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
