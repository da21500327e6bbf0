//! What work on a message or a run came to.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;

use crate::{
    base::{Fault, TraceContext},
    graph::{ExternalEvent, Failure, Head, RunId, store::Lease},
    workflows::{AnyEndedExecution, Event},
};

/// What work on a message or a run came to. What becomes of both is the worker's decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The run is at its end, was so before, or none is needed.
    Done,
    /// The run waits for a person, an event or a time, with its wake-up in the store.
    Parked,
    /// The run is in the store, queued: it waits for more events like the one that started it, or for
    /// a free slot of this process.
    Queued,
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
    /// So many processes in a row died while they worked on the run, the last of them on nothing else.
    WorkersDied {
        /// How many.
        claims: u32,
    },
    /// Several processes died while they worked on the run: it is to be worked on alone.
    NeedsToBeAlone,
    /// An operator paused its workflow or its repository.
    Paused,
    /// A living worker holds the run.
    LeaseHeld {
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

impl Outcome {
    /// The word for it in metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Parked => "parked",
            Self::Queued => "queued",
            Self::Failed { .. } => "failed",
            Self::NotAdmitted { .. } => "not_admitted",
            Self::Unreachable => "unreachable",
            Self::Undecodable => "undecodable",
            Self::UnknownWorkflow => "unknown_workflow",
            Self::WorkersDied { .. } => "workers_died",
            Self::NeedsToBeAlone => "needs_to_be_alone",
            Self::UnknownVersion { .. } => "unknown_version",
            Self::Paused => "paused",
            Self::LeaseHeld { .. } => "held",
            Self::Early { .. } => "early",
            Self::LeaseLost => "lease_lost",
            Self::Stopping => "stopping",
        }
    }
}

/// What a worker is asked for.
pub enum Request {
    /// To go on with this run.
    Run(Box<Head>),
    /// To go on with the run of this id, which is not checked.
    Wake(String),
    /// To give this event to the runs that wait for it.
    Event(ExternalEvent),
    /// A run of the workflow of this name, or of those that want the event.
    Start(Option<String>, Event, Source),
}

/// The message that asks for work.
pub struct Source {
    /// Its headers, those of a replay aside.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Bytes,
    /// How often it was delivered.
    pub deliveries: u32,
    /// The key of its job, if it names one.
    pub key: Option<String>,
}

impl Source {
    /// The trace it belongs to.
    pub(super) fn trace(&self) -> Option<TraceContext> {
        self.headers.get(TraceContext::HEADER).and_then(|trace| trace.parse().ok())
    }
}

/// An [`Outcome`], and what is needed to settle it.
pub struct WorkResult {
    /// What it came to.
    pub outcome: Outcome,
    /// What went wrong, for a dead letter and the log.
    pub error: String,
    /// The workflow that made no run of a message.
    pub workflow: Option<String>,
    /// The run, if something is to be done about it.
    pub run: Option<UnsettledRun>,
}

/// A run that failed, for [`Runs::give_back`](super::Runs::give_back) or
/// [`fail_with_dead_letter`](super::Runs::fail_with_dead_letter).
pub enum UnsettledRun {
    /// Its execution failed, and still holds the lease.
    Executed(Box<Head>, Box<dyn AnyEndedExecution>),
    /// It was claimed, and could not be loaded as its workflow's.
    Claimed(Lease, Box<Head>),
    /// It was not claimed: no workflow of its version is here.
    Unclaimed(Box<Head>),
}

impl UnsettledRun {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        let (Self::Executed(head, _) | Self::Claimed(_, head) | Self::Unclaimed(head)) = self;
        &head.id
    }
}

impl WorkResult {
    /// An outcome with its reason.
    pub fn because(outcome: Outcome, error: impl ToString) -> Self {
        Self { error: error.to_string(), ..outcome.into() }
    }

    pub(super) fn of(self, workflow: &str) -> Self {
        Self { workflow: Some(workflow.to_owned()), ..self }
    }

    pub(super) fn with(self, run: UnsettledRun) -> Self {
        Self { run: Some(run), ..self }
    }
}

/// An outcome with nothing to settle.
impl From<Outcome> for WorkResult {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, error: String::new(), workflow: None, run: None }
    }
}
