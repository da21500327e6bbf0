//! What the machine tells of a run.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use crate::{
    base::{Fault, Timestamp},
    external::AwaitedEvent,
    path::Path,
    record::{Failure, Outcome},
    run_id::RunId,
};

/// A record that cannot follow those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("illegal record `{kind}`: {why}")]
pub struct Illegal {
    /// The record's kind.
    pub kind: &'static str,
    /// What does not fit.
    pub why: String,
}

impl From<Illegal> for Fault {
    fn from(illegal: Illegal) -> Self {
        Fault::permanent(format!("the run's log is broken: {illegal}"))
    }
}

/// How a run ended, or that it has not.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// At the end of its graph, or by a failure.
    Finished(Outcome),
    /// By a newer run of its subject.
    Superseded(RunId),
    /// From outside, by this one.
    Cancelled(String),
}

/// An interrupt nobody has answered.
#[derive(Debug, Clone)]
pub struct OpenInterrupt {
    /// Its id, unique in the run.
    pub id: String,
    /// The subgraph it is in; empty in the workflow's own graph.
    pub path: Path,
    /// The step it holds up.
    pub step: u32,
    /// The node that asked, or that the gate stands at.
    pub node: Arc<str>,
    /// The task that waits; without one the whole step does.
    pub index: Option<u32>,
    /// Its name among the task's interrupts.
    pub name: String,
    /// What is asked.
    pub request: Arc<RawValue>,
    /// Since when.
    pub at: Timestamp,
    /// The event that answers it, if it waits for one and for no person.
    pub event: Option<AwaitedEvent>,
}

/// A task that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSummary {
    /// The subgraph it was in; empty in the workflow's own graph.
    pub path: Path,
    /// The step.
    pub step: u32,
    /// The node.
    pub node: Arc<str>,
    /// Its place among the step's tasks.
    pub index: u32,
    /// How often it was tried.
    pub attempts: u32,
    /// How long all tries took.
    pub took: Duration,
    /// How it failed, if it did.
    pub fault: Option<Fault>,
    /// When it ended.
    pub at: Timestamp,
}

/// Where a run was copied from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkedFrom {
    /// The run.
    pub parent: RunId,
    /// The last step copied.
    pub step: u32,
    /// Whether the fork may publish.
    pub publish: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Todo {
    /// Run these tasks of the current step.
    Run(Vec<u32>),
    /// Every task is done: merge, find the next tasks, record `step_finished`.
    CloseStep,
    /// Nothing can run before an answer, or before this time.
    Wait(Option<Timestamp>),
    /// This task failed and nothing passed it over.
    Failed(Failure),
    /// There is nothing more to run: record `finished`.
    Complete,
    /// It has ended.
    Ended,
}
