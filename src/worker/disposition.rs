//! What becomes of a message and of its run, whatever happened: one pure function, one table.

use std::time::Duration;

use super::options::Options;
use crate::{
    base::{Fault, FaultKind},
    graph::{Failure, store::LetterReason},
    queue::Settlement,
};

/// What happened to a message or a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// The run is at its end, was so before, or none is needed.
    Done,
    /// The run waits for a person or a time, with its wake-up in the store.
    Parked,
    /// The run failed at a node, after that node's own retries.
    Failed {
        /// Where and how.
        failure: Failure,
        /// Executions that had failed before this one.
        executions: u32,
    },
    /// The event could not be admitted: asking about it failed.
    NotAdmitted {
        /// How.
        fault: Fault,
        /// How often the message was delivered.
        deliveries: u32,
    },
    /// The store, or the forge as a whole, is out of reach.
    Unreachable,
    /// The message cannot be read.
    Undecodable,
    /// The message names a workflow that is not here.
    UnknownWorkflow,
    /// The run is of a version that this worker does not continue.
    UnknownVersion {
        /// How long the run has stood like this.
        since: Duration,
    },
    /// A living worker holds the run.
    Held {
        /// What is left of its lease.
        left: Duration,
    },
    /// The run's time has not come.
    Early {
        /// How long until then.
        left: Duration,
    },
    /// The run was another worker's before its end.
    LeaseLost,
    /// This worker stops.
    Stopping,
}

/// What to do with the run.
#[derive(Debug, Clone, PartialEq)]
pub enum ForRun {
    /// Nothing: it is as it should be.
    Nothing,
    /// Try again after this wait, counted.
    RetryAfter(Duration),
    /// Try again soon, not counted.
    HandBack,
    /// It has failed for good.
    Fail,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Disposition {
    /// With the message, once everything else is durable.
    pub message: Settlement,
    /// With the run.
    pub run: ForRun,
    /// The dead letter to write, confirm and only then acknowledge for.
    pub letter: Option<LetterReason>,
    /// Whether to stop taking messages until the store and the forge answer.
    pub pause: bool,
}

/// How long a message waits for a lease that may have been renewed meanwhile, at most.
const HELD: Duration = Duration::from_secs(60);
/// How long a message waits for a worker of another version.
pub(super) const VERSION: Duration = Duration::from_secs(60);
/// How long a run whose execution was not at fault waits.
pub(super) const SOON: Duration = Duration::from_secs(5);

/// The table.
pub fn decide(happened: &Happened, options: &Options) -> Disposition {
    use Settlement::{Ack, HandBack, Later};
    match happened {
        Happened::Done | Happened::Parked => plain(Ack),
        Happened::Failed { failure, executions } => failed(&failure.fault, *executions, options),
        Happened::NotAdmitted { fault, deliveries } => not_admitted(fault, *deliveries, options),
        Happened::Unreachable => Disposition { pause: true, ..plain(HandBack) },
        Happened::Undecodable => lettered(LetterReason::Undecodable),
        Happened::UnknownWorkflow => lettered(LetterReason::UnknownWorkflow),
        Happened::UnknownVersion { since } if *since >= options.version_wait => {
            Disposition { run: ForRun::Fail, ..lettered(LetterReason::UnsupportedVersion) }
        }
        Happened::UnknownVersion { .. } => plain(Later(VERSION.min(options.version_wait))),
        Happened::Held { left } => plain(Later((*left).min(HELD))),
        Happened::Early { left } => plain(Later(*left)),
        Happened::LeaseLost => plain(Later(SOON)),
        Happened::Stopping => plain(HandBack),
    }
}

fn plain(message: Settlement) -> Disposition {
    Disposition { message, run: ForRun::Nothing, letter: None, pause: false }
}

fn lettered(reason: LetterReason) -> Disposition {
    Disposition { letter: Some(reason), ..plain(Settlement::Ack) }
}

fn failed(fault: &Fault, executions: u32, options: &Options) -> Disposition {
    let failed = executions + 1;
    match fault.kind {
        FaultKind::Outage => {
            Disposition { run: ForRun::HandBack, pause: true, ..plain(Settlement::HandBack) }
        }
        FaultKind::Permanent => {
            Disposition { run: ForRun::Fail, ..lettered(LetterReason::Permanent) }
        }
        _ if failed >= options.attempts => {
            Disposition { run: ForRun::Fail, ..lettered(LetterReason::AttemptsExhausted) }
        }
        _ => {
            let wait = options.backoff_after(failed).max(fault.retry_after.unwrap_or_default());
            Disposition { run: ForRun::RetryAfter(wait), ..plain(Settlement::Later(wait)) }
        }
    }
}

/// There is no run yet that could count, so the deliveries do, as far as the queue counts them.
fn not_admitted(fault: &Fault, deliveries: u32, options: &Options) -> Disposition {
    match fault.kind {
        FaultKind::Permanent => lettered(LetterReason::Permanent),
        FaultKind::Outage => Disposition { pause: true, ..plain(Settlement::HandBack) },
        _ => {
            let wait = options.backoff_after(deliveries);
            plain(Settlement::Later(wait.max(fault.retry_after.unwrap_or_default())))
        }
    }
}
