//! What is counted about runs that are asked for. `docs/operations.md` explains it.

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

use super::Error;
use crate::{
    base::Timestamp,
    graph::{Head, RunStatus},
};

const SUBMITTED: &str = "verdict_runs_submitted_total";
const RUNS: &str = "verdict_runs_total";
const RUN_DURATION: &str = "verdict_run_duration_seconds";
const WAKEUPS_LOST: &str = "verdict_wakeups_lost_total";

/// Describes what becomes of runs. Call it once the recorder is installed.
pub fn describe() {
    describe_counter!(RUNS, "Runs that came to a status, by workflow");
    describe_histogram!(RUN_DURATION, Unit::Seconds, "From a run's creation to its end");
}

/// Describes what accepting runs records, and shows what has not happened yet as zero. Call it once
/// the recorder is installed.
pub fn describe_accepting() {
    describe_counter!(SUBMITTED, "Runs asked for over HTTP, by what came of it");
    describe_counter!(WAKEUPS_LOST, "Accepted runs whose wake-up the queue did not take");
    for outcome in ["created", "known", "refused", "unavailable"] {
        counter!(SUBMITTED, "outcome" => outcome).increment(0);
    }
    counter!(WAKEUPS_LOST).increment(0);
}

/// A run was asked for: whether it is new, or why there is none.
pub(super) fn submitted(outcome: Result<bool, &Error>) {
    let outcome = match outcome {
        Ok(true) => "created",
        Ok(false) => "known",
        Err(Error::Unavailable(_) | Error::Broken(_)) => "unavailable",
        Err(_) => "refused",
    };
    counter!(SUBMITTED, "outcome" => outcome).increment(1);
}

/// A run came to this status, by what this process did.
pub(super) fn came_to(workflow: &str, status: RunStatus) {
    counter!(RUNS, "workflow" => workflow.to_owned(), "status" => status.as_str()).increment(1);
}

/// A run came to its end.
pub(super) fn ended(head: &Head, status: RunStatus, now: Timestamp) {
    came_to(&head.workflow, status);
    let labels = [("workflow", head.workflow.clone()), ("status", status.as_str().to_owned())];
    histogram!(RUN_DURATION, &labels).record(now.since(head.created_at));
}

/// The queue did not take a wake-up.
pub(super) fn wakeup_lost() {
    counter!(WAKEUPS_LOST).increment(1);
}
