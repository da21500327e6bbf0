//! What the engine measures, by the `metrics` facade. Without a recorder nothing is kept.

use std::{sync::Arc, time::Duration};

use metrics::{Unit, describe_histogram, histogram};

const TASK_DURATION: &str = "verdict_task_duration_seconds";

/// Describes what is recorded. Call it once a recorder is installed.
pub fn describe_metrics() {
    describe_histogram!(
        TASK_DURATION,
        Unit::Seconds,
        "What a task of a step took, all its tries together"
    );
}

/// Records what a task took. The labels are names of the graph, so there are few.
pub(super) fn task_ended(workflow: &Arc<str>, node: Arc<str>, took: Duration, failed: bool) {
    let outcome = if failed { "failed" } else { "done" };
    histogram!(
        TASK_DURATION,
        "workflow" => workflow.clone(), "node" => node, "outcome" => outcome
    )
    .record(took);
}
