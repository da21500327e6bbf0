//! What a run took: per node, in order, and in one line.

use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::Duration};

use serde::Serialize;

use super::{context::RunInfo, control::Stop, machine::RunMachine, state::State};

/// The timings of a run, over all its executions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timings {
    /// Active time, in milliseconds.
    pub total_ms: f64,
    /// Time by node (in a subgraph: `NODE/NODE`, and again in its own), all its tasks and tries added up, in milliseconds.
    pub nodes: BTreeMap<Arc<str>, f64>,
    /// The order in which tasks ended.
    pub order: Vec<Arc<str>>,
    /// Tries beyond the first, by node.
    pub retries: BTreeMap<Arc<str>, u32>,
}

impl Timings {
    /// Of a run that has been active for so long.
    pub fn of<S: State>(machine: &RunMachine<S>, active: Duration) -> Self {
        let mut nodes = BTreeMap::new();
        let mut retries = BTreeMap::new();
        for task in machine.history() {
            let node = task.path.name(&task.node);
            *nodes.entry(node.clone()).or_default() += millis(task.took);
            if task.attempts > 1 {
                *retries.entry(node).or_default() += task.attempts - 1;
            }
        }
        let order = machine.history().iter().map(|task| task.path.name(&task.node)).collect();
        Self { total_ms: millis(active), nodes, order, retries }
    }

    /// One line for the log.
    pub fn line(&self) -> String {
        let mut line = format!("{:.1} ms", self.total_ms);
        for (node, took) in &self.nodes {
            // Writing to a string cannot fail.
            let _ = write!(line, " · {node} {took:.1}");
            if let Some(retries) = self.retries.get(node) {
                let _ = write!(line, " ({retries} retried)");
            }
        }
        line
    }
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Logs the end of an execution.
pub(super) fn log<S: State>(
    info: &RunInfo,
    stop: &Stop,
    machine: &RunMachine<S>,
    active: Duration,
) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let (run, workflow) = (&info.id, &info.workflow);
    match stop {
        Stop::Completed => {
            let duration_s = active.as_secs_f64();
            let timings = Timings::of(machine, active).line();
            tracing::info!(%run, %workflow, duration_s, timings, "run completed");
        }
        // Logged by whoever settles it.
        Stop::Failed(_) => {}
        Stop::StoreLost(error) => {
            tracing::info!(%run, %workflow, stop = stop.as_str(), %error, "execution ended");
        }
        _ => tracing::info!(%run, %workflow, stop = stop.as_str(), "execution ended"),
    }
}
