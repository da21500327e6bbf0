//! What becomes of a message and of its run, whatever the outcome: one pure function, one table.

use std::time::Duration;

use super::options::Options;
use crate::{
    base::{Fault, FaultKind},
    graph::store::LetterReason,
    queue::Settlement,
    runs::Outcome,
};

/// What to do with the run before its message is settled; without a run, with the message.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Nothing: it is as it should be.
    Nothing,
    /// Try the run again after this wait, counted.
    RetryAfter(Duration),
    /// Try the run again soon, not counted.
    HandBack,
    /// Park the run for the time that somebody else's limit asks for, not counted.
    Park(Duration),
    /// Say in the run's head that it waits for a worker of its version, for this long.
    AwaitVersion(Duration),
    /// Say in the run's head that it is paused, and leave it for this long.
    PutOff(Duration),
    /// Write a dead letter and have it confirmed; a run fails with it.
    GiveUp(LetterReason),
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Disposition {
    /// With the message, once everything else is durable.
    pub message: Settlement,
    /// Before that.
    pub action: Action,
    /// Whether to stop taking messages until the store and the forge answer.
    pub pause: bool,
}

/// How long a message waits for a lease that may have been renewed meanwhile, at most.
const MAX_LEASE_WAIT: Duration = Duration::from_secs(60);
/// How long a message waits for a worker of another version.
const VERSION_RETRY: Duration = Duration::from_secs(60);
/// How long a run waits that is paused, before it is asked again whether it is.
const PAUSE_RETRY: Duration = Duration::from_secs(20);
/// How long a run whose execution was not at fault waits.
pub(super) const HAND_BACK_WAIT: Duration = Duration::from_secs(5);

/// The table.
pub fn decide(outcome: &Outcome, options: &Options) -> Disposition {
    use Settlement::{Ack, HandBack, Later};
    match outcome {
        Outcome::Done | Outcome::Parked | Outcome::Queued => plain(Ack),
        Outcome::Failed { failure, executions } => failed(&failure.fault, *executions, options),
        Outcome::NotAdmitted { fault, deliveries } => not_admitted(fault, *deliveries, options),
        Outcome::Unreachable => Disposition { pause: true, ..plain(HandBack) },
        Outcome::Undecodable => given_up(LetterReason::Undecodable),
        Outcome::UnknownWorkflow => given_up(LetterReason::UnknownWorkflow),
        Outcome::UnknownVersion { since } if *since >= options.version_wait => {
            given_up(LetterReason::UnsupportedVersion)
        }
        Outcome::UnknownVersion { .. } => {
            let wait = VERSION_RETRY.min(options.version_wait);
            Disposition { action: Action::AwaitVersion(wait), ..plain(Later(wait)) }
        }
        Outcome::WorkersDied { .. } => given_up(LetterReason::AttemptsExhausted),
        // The worker works on it alone instead, unless it stops.
        Outcome::NeedsToBeAlone => plain(HandBack),
        Outcome::Paused => {
            Disposition { action: Action::PutOff(PAUSE_RETRY), ..plain(Later(PAUSE_RETRY)) }
        }
        Outcome::LeaseHeld { left } => plain(Later((*left).min(MAX_LEASE_WAIT))),
        Outcome::Early { left } => plain(Later(*left)),
        Outcome::LeaseLost => plain(Later(HAND_BACK_WAIT)),
        Outcome::Stopping => plain(HandBack),
    }
}

fn plain(message: Settlement) -> Disposition {
    Disposition { message, action: Action::Nothing, pause: false }
}

fn given_up(reason: LetterReason) -> Disposition {
    Disposition { action: Action::GiveUp(reason), ..plain(Settlement::Ack) }
}

fn failed(fault: &Fault, executions: u32, options: &Options) -> Disposition {
    let failed = executions + 1;
    match fault.kind {
        FaultKind::Outage => {
            Disposition { action: Action::HandBack, pause: true, ..plain(Settlement::HandBack) }
        }
        FaultKind::Permanent => given_up(LetterReason::Permanent),
        // Somebody else's limit is nobody's failure. A sweep takes the run up when it is over.
        _ if let Some(wait) = fault.retry_after => {
            Disposition { action: Action::Park(wait), ..plain(Settlement::Ack) }
        }
        _ if failed >= options.attempts => given_up(LetterReason::AttemptsExhausted),
        _ => {
            let wait = options.backoff_after(failed);
            Disposition { action: Action::RetryAfter(wait), ..plain(Settlement::Later(wait)) }
        }
    }
}

/// There is no run yet that could count, so the deliveries do, as far as the queue counts them.
fn not_admitted(fault: &Fault, deliveries: u32, options: &Options) -> Disposition {
    match fault.kind {
        FaultKind::Permanent => given_up(LetterReason::Permanent),
        FaultKind::Outage => Disposition { pause: true, ..plain(Settlement::HandBack) },
        _ => {
            let wait = options.backoff_after(deliveries);
            plain(Settlement::Later(wait.max(fault.retry_after.unwrap_or_default())))
        }
    }
}
