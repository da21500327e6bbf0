//! Why nothing was done about a run.

use serde_json::Value;

use crate::{
    base::Fault,
    graph::{StoreError, store::RunStatus},
};

/// Why nothing was done. One variant for each answer a caller gives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such workflow here.
    #[error("there is no workflow `{name}` here (known: {known})")]
    UnknownWorkflow {
        /// The name asked for.
        name: String,
        /// Those there are, separated by commas.
        known: String,
    },
    /// The workflow makes no run of this input; the reason.
    #[error("no run: {0}")]
    NoRun(String),
    /// The caller's mistake: the input, or the name, cannot be what is meant.
    #[error("{0}")]
    Invalid(String),
    /// There is no such run, letter or step.
    #[error("{0}")]
    NotFound(String),
    /// It is not as the call needs it to be: it has ended, waits for nothing, was answered before.
    #[error("{0}")]
    Conflict(String),
    /// The interrupt was answered before.
    #[error("interrupt {interrupt} was answered before, with {first}")]
    Answered {
        /// The interrupt's id.
        interrupt: String,
        /// The first answer, sensitive fields redacted.
        first: Value,
    },
    /// Something it needs is out of reach: asking again may help.
    #[error("{0}")]
    Unavailable(Fault),
    /// The store refuses, or holds something that cannot be read.
    #[error("{0}")]
    Broken(Fault),
}

impl Error {
    /// The run has ended.
    pub(super) fn ended(run: &impl std::fmt::Display, status: RunStatus) -> Self {
        Self::Conflict(format!("run {run} has ended ({status})"))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        if fault.is_transient() { Self::Unavailable(fault) } else { Self::Broken(fault) }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // Asking again does not help here: another process may have the key.
            StoreError::Sealed(_) => Self::Broken(error.into()),
            other => Fault::from(other).into(),
        }
    }
}
