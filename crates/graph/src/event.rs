//! What happens in a run, told as it happens to whoever listens. Nobody listening costs nothing,
//! and a slow listener loses old events rather than slowing the run.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use super::{path::Path, record::Outcome, store::RunId};
use crate::base::{Fault, Timestamp};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// An execution of the run began, the first or a later one.
    RunStarted {
        /// The workflow.
        workflow: Arc<str>,
        /// The records there were before.
        version: u64,
    },
    /// A task began.
    NodeStarted {
        /// The step.
        step: u32,
        /// The node.
        node: Arc<str>,
        /// The task.
        index: u32,
    },
    /// A try failed and another one follows.
    NodeRetried {
        /// The step.
        step: u32,
        /// The node.
        node: Arc<str>,
        /// The task.
        index: u32,
        /// The try that failed, from 1.
        attempt: u32,
        /// How.
        fault: Fault,
        /// The wait before the next, in milliseconds.
        wait_ms: u64,
    },
    /// A node reports.
    Progress {
        /// The step.
        step: u32,
        /// The node.
        node: Arc<str>,
        /// The task.
        index: u32,
        /// What it reports on.
        name: String,
        /// What it reports.
        value: Value,
    },
    /// A task ended.
    NodeFinished {
        /// The step.
        step: u32,
        /// The node.
        node: Arc<str>,
        /// The task.
        index: u32,
        /// How often it was tried.
        attempts: u32,
        /// How long all tries took, in microseconds.
        us: u64,
        /// Its update, sensitive fields redacted.
        update: Option<Value>,
        /// How it failed, passed over or not.
        fault: Option<Fault>,
    },
    /// A step's updates were merged.
    StepFinished {
        /// The step.
        step: u32,
        /// The nodes of the next one.
        next: Vec<Arc<str>>,
    },
    /// The run waits for an answer.
    Interrupted {
        /// The interrupt.
        id: String,
        /// Where.
        node: Arc<str>,
        /// What is asked.
        request: Value,
    },
    /// A task waits for a time, or for an event from outside.
    Parked {
        /// The node.
        node: Arc<str>,
        /// Until when, at most.
        until: Timestamp,
        /// Why.
        reason: String,
    },
    /// The execution ended without the run having ended: it waits, or was handed back.
    RunPaused {
        /// Why, for people.
        why: String,
    },
    /// The run ended.
    RunFinished {
        /// How.
        outcome: Outcome,
        /// All active time, in milliseconds.
        active_ms: u64,
    },
}

/// An event with its place in the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventEnvelope {
    /// The run.
    pub run: RunId,
    /// The subgraph it happened in; empty in the workflow's own graph.
    #[serde(skip_serializing_if = "Path::is_empty")]
    pub path: Path,
    /// Its place among the events of this execution, from 1 and without gaps.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Where a run's events go. Cheap to clone; the default goes nowhere.
#[derive(Clone, Default)]
pub struct Events {
    stream: Option<Arc<Stream>>,
    path: Path,
}

struct Stream {
    run: RunId,
    clock: crate::base::Clock,
    to: broadcast::Sender<EventEnvelope>,
    seq: Mutex<u64>,
}

impl Events {
    /// Events of `run`, sent to the subscribers of `to`, which may carry those of many runs.
    pub fn new(
        run: RunId,
        clock: crate::base::Clock,
        to: broadcast::Sender<EventEnvelope>,
    ) -> Self {
        let stream = Some(Arc::new(Stream { run, clock, to, seq: Mutex::new(0) }));
        Self { stream, path: Path::default() }
    }

    /// The same, of what happens in this subgraph.
    pub(super) fn inside(&self, path: &Path) -> Self {
        Self { stream: self.stream.clone(), path: path.clone() }
    }

    /// Whether anybody listens.
    pub fn heard(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.to.receiver_count() > 0)
    }

    /// Tells the event, made only if somebody listens.
    pub fn emit(&self, event: impl FnOnce() -> RunEvent) {
        let Some(stream) = &self.stream else { return };
        if stream.to.receiver_count() == 0 {
            return;
        }
        let event = event();
        // Sent under the lock: the numbers arrive in order.
        let mut seq = stream.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        let (run, path, at) = (stream.run.clone(), self.path.clone(), stream.clock.now());
        let told = EventEnvelope { run, path, seq: *seq, at, event };
        // Nobody left to hear it is no error.
        drop(stream.to.send(told));
    }
}
