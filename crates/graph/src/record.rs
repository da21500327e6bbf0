//! The records of a run's log, and how they are written down.
//!
//! A record is a small [`Meta`] (kind, step, node, timing) and a [`Body`] (what may be large). In a
//! store each is one byte string. The meta is JSON with short names (`t` is when, `k` the kind, `s` the
//! step, `n` the node, `i` its index, `a` its attempts, `u` its time in microseconds): most records are
//! small, and a run has many. The body is JSON behind one byte that says how
//! it is packed: `0` as it is, `1` zstd behind its length (four bytes, little-endian).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    command::{Command, Dispatch},
    external::AwaitedEvent,
    path::Path,
    store::RunId,
};
use crate::base::{Fault, Timestamp, TraceContext};

/// What happened, without what may be large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "k")]
pub enum Meta {
    /// The run began. Body: its input and envelope.
    #[serde(rename = "start")]
    Started {
        /// The workflow's name.
        workflow: Arc<str>,
        /// The workflow's version.
        version: u32,
        /// The node it enters by.
        entry: Arc<str>,
    },
    /// A task ended. Body: its command, if it gave one or its policy did.
    #[serde(rename = "task")]
    TaskFinished {
        /// The step, from 1.
        #[serde(rename = "s")]
        step: u32,
        /// The node.
        #[serde(rename = "n")]
        node: Arc<str>,
        /// Its place among the step's tasks, from 0.
        #[serde(rename = "i", default, skip_serializing_if = "is_zero")]
        index: u32,
        /// How often it was tried, from 1.
        #[serde(rename = "a", default = "one", skip_serializing_if = "is_one")]
        attempts: u32,
        /// How long all tries took, in microseconds.
        #[serde(rename = "u")]
        us: u64,
        /// The worker it ran on, unless that is the one of the task before.
        #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
        /// How it failed. With a body, the failure was passed over.
        #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// All tasks of the step ended and their updates were merged. Body: the tasks its edges lead
    /// to; those that nodes sent stand in their own records.
    #[serde(rename = "step")]
    StepFinished {
        /// The step.
        #[serde(rename = "s")]
        step: u32,
        /// Deferred nodes whose tasks wait for branches that may still lead to them.
        #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<Arc<str>>,
    },
    /// A task, or the way into a step, waits for an answer. Body: the request.
    #[serde(rename = "ask")]
    Interrupted {
        /// The interrupt's id, unique in the run.
        id: String,
        /// The step.
        #[serde(rename = "s")]
        step: u32,
        /// The node.
        #[serde(rename = "n")]
        node: Arc<str>,
        /// The task that waits; without one the whole step does.
        #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// Its name among the task's interrupts.
        name: String,
        /// The event that answers it, if it waits for one and for no person.
        #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
        event: Option<AwaitedEvent>,
    },
    /// An interrupt was answered. Body: the value.
    #[serde(rename = "answer")]
    Resumed {
        /// The interrupt's id.
        id: String,
        /// The id of the event that answered it, if one did.
        #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
        event: Option<String>,
    },
    /// A task waits for a time.
    #[serde(rename = "park")]
    Parked {
        /// The step.
        #[serde(rename = "s")]
        step: u32,
        /// The node.
        #[serde(rename = "n")]
        node: Arc<str>,
        /// The task.
        #[serde(rename = "i", default, skip_serializing_if = "is_zero")]
        index: u32,
        /// When to run it again.
        #[serde(rename = "u")]
        until: Timestamp,
        /// Why, for people.
        reason: String,
    },
    /// The run goes on from `from`: later steps are void, the tasks named by `redo` run again.
    #[serde(rename = "reopen")]
    Reopened {
        /// Why, for people.
        why: String,
        /// The step to go on from.
        from: u32,
        /// Which of its tasks run again.
        redo: Redo,
    },
    /// A newer run of the subject took its place.
    #[serde(rename = "superseded")]
    Superseded {
        /// That run.
        by: RunId,
    },
    /// Stopped from outside.
    #[serde(rename = "cancelled")]
    Cancelled {
        /// By whom, for people.
        by: String,
    },
    /// The records before this one were copied from another run.
    #[serde(rename = "fork")]
    Forked {
        /// That run.
        parent: RunId,
        /// The last step copied.
        #[serde(rename = "s")]
        step: u32,
        /// Whether the fork may publish.
        publish: bool,
    },
    /// A dead letter was written about it.
    #[serde(rename = "letter")]
    Letter {
        /// The letter's id.
        id: String,
    },
    /// The queue confirmed that letter.
    #[serde(rename = "letter_ok")]
    LetterConfirmed {
        /// The letter's id.
        id: String,
    },
    /// The run reached its end.
    #[serde(rename = "end")]
    Finished {
        /// How.
        outcome: Outcome,
    },
}

/// Which tasks of the step a reopening goes back to run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redo {
    /// Those that failed, passed over or not, and those that never ran.
    Failed,
    /// All.
    All,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// At the end of its graph.
    Completed {
        /// When to wake it to run failed tasks again, and from which step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revisit: Option<(Timestamp, u32)>,
    },
    /// By a failure.
    Failed(Failure),
}

/// A failure and where it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The step.
    pub step: u32,
    /// The node, unless it was the step as a whole.
    pub node: Option<Arc<str>>,
    /// What went wrong.
    pub fault: Fault,
}

impl Meta {
    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::TaskFinished { .. } => "task_finished",
            Self::StepFinished { .. } => "step_finished",
            Self::Interrupted { .. } => "interrupted",
            Self::Resumed { .. } => "resumed",
            Self::Parked { .. } => "parked",
            Self::Reopened { .. } => "reopened",
            Self::Superseded { .. } => "superseded",
            Self::Cancelled { .. } => "cancelled",
            Self::Forked { .. } => "forked",
            Self::Letter { .. } => "letter",
            Self::LetterConfirmed { .. } => "letter_confirmed",
            Self::Finished { .. } => "finished",
        }
    }

    /// The step it belongs to, if it belongs to one.
    pub fn step(&self) -> Option<u32> {
        match self {
            Self::TaskFinished { step, .. }
            | Self::StepFinished { step, .. }
            | Self::Interrupted { step, .. }
            | Self::Parked { step, .. } => Some(*step),
            _ => None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

fn one() -> u32 {
    1
}

/// The part of a record that may be large.
#[derive(Debug, Clone)]
pub enum Body<U> {
    /// Nothing.
    None,
    /// Of `started`.
    Start(Start),
    /// Of `task_finished`.
    Command(Command<U>),
    /// Of `step_finished`.
    Tasks(Vec<Dispatch>),
    /// Of `interrupted` and `resumed`.
    Value(Arc<RawValue>),
    /// Of a subgraph's `started`, `task_finished` and `step_finished`, as it is written down: only
    /// the subgraph knows its types.
    Raw(Bytes),
}

/// What a run started from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// The workflow's input.
    pub input: Arc<RawValue>,
    /// The message that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
}

/// The message a run came from, kept for its dead letter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Headers, as they came.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body, as it came.
    pub body: String,
    /// The trace it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

impl Envelope {
    /// The message with these headers and this body, which is UTF-8.
    pub fn of(headers: BTreeMap<String, String>, body: &[u8]) -> Self {
        let trace = headers.get(TraceContext::HEADER).and_then(|trace| trace.parse().ok());
        Self { headers, body: String::from_utf8_lossy(body).into_owned(), trace }
    }
}

/// One record, decoded.
#[derive(Debug, Clone)]
pub struct Record<U> {
    /// When it was written, by its writer's clock.
    pub at: Timestamp,
    /// The subgraph it is of; empty in the workflow's own graph.
    pub path: Path,
    /// What happened.
    pub meta: Meta,
    /// What came of it.
    pub body: Body<U>,
}

impl<U> Record<U> {
    /// A record of the workflow's own graph.
    pub fn new(at: Timestamp, meta: Meta, body: Body<U>) -> Self {
        Self { at, path: Path::default(), meta, body }
    }
}
