//! How an execution is stopped from outside, and how it ended.

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
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The run is at its end, and that is durable.
    Completed,
    /// A task failed and nothing passed it over. The failure is durable and the lease is held: it
    /// is for the caller to decide, and to [`settle`](super::EndedExecution::fail), what becomes of the run.
    Failed(Failure),
    /// The run waits for an answer, or for a time; it was given back.
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

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Fenced => Self::Fenced,
            JournalError::Lost(fault) => Self::StoreLost(fault),
        }
    }
}
