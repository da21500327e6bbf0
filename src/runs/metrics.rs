//! What is counted about runs that are asked for. `docs/operations.md` explains it.

use metrics::{counter, describe_counter};

use super::Error;

const SUBMITTED: &str = "verdict_runs_submitted_total";
const WAKEUPS_LOST: &str = "verdict_wakeups_lost_total";

/// Describes what accepting runs records, and shows what has not happened yet as zero. Call it once
/// the recorder is installed.
pub fn describe() {
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

/// The queue did not take a wake-up.
pub(super) fn wakeup_lost() {
    counter!(WAKEUPS_LOST).increment(1);
}
