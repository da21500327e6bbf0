//! How an execution is stopped from outside, and how it ended.

use std::fmt;

use tokio_util::sync::CancellationToken;

use super::{journal::JournalError, record::Failure};
use crate::base::{Fault, Timestamp};

/// How to stop an execution from outside.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Stop at the next record, and give the run back.
    pub drain: CancellationToken,
    /// Stop now, cutting short what runs, and give the run back.
    pub cancel: CancellationToken,
}

impl Control {
    /// For one execution: stopped with the others, and by itself without them.
    pub(super) fn child(&self) -> Self {
        Self { drain: self.drain.clone(), cancel: self.cancel.child_token() }
    }
}

/// How one execution ended.
#[must_use = "a run that stopped may have failed, or wait for something"]
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The run is at its end, and that is durable.
    Completed,
    /// A task failed and nothing passed it over. The failure is durable and the lease is held: it
    /// is for the caller to decide, and to [`settle`](super::EndedExecution::fail), what becomes of the run.
    Failed(Failure),
    /// The run waits for an answer, an event or a time; it was given back.
    Waiting(Option<Timestamp>),
    /// It was asked to stop, and the run was given back.
    Drained,
    /// The run is another worker's now, or was stopped: nothing was given back.
    Fenced,
    /// The store stopped answering.
    StoreLost(Fault),
    /// The run had ended before.
    Ended,
    /// A crash that a test asked for.
    Crashed,
}

impl Stop {
    /// Its word, for logs and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed(_) => "failed",
            Self::Waiting(_) => "waiting",
            Self::Drained => "drained",
            Self::Fenced => "fenced",
            Self::StoreLost(_) => "store_lost",
            Self::Ended => "ended",
            Self::Crashed => "crashed",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed(failure) => write!(f, "failed: {}", failure.fault),
            Self::Waiting(Some(until)) => write!(f, "waits until {until}"),
            Self::Waiting(None) => f.write_str("waits for an answer"),
            Self::Drained => f.write_str("handed back"),
            Self::Fenced => f.write_str("taken over or stopped"),
            Self::StoreLost(fault) => write!(f, "the store is lost: {fault}"),
            Self::Ended => f.write_str("had ended"),
            Self::Crashed => f.write_str("crashed"),
        }
    }
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Fenced => Self::Fenced,
            JournalError::Lost(fault) => Self::StoreLost(fault),
        }
    }
}
