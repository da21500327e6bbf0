//! The pure heart: feed it a run's records in order, ask it what to do next.
//!
//! It does no I/O, knows no clock and no graph. Whatever it accepts can be replayed, and whatever
//! cannot have happened it rejects with [`Illegal`].

mod feed;

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::{
    command::{Command, Send},
    record::{Envelope, Failure, Outcome},
    state::{Invalid, State},
    store::RunId,
};
use crate::base::{Fault, Timestamp};

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

/// What a task of the current step has come to.
#[derive(Debug)]
enum Slot<U> {
    Pending,
    Interrupted(String),
    Parked(Timestamp),
    /// `handled`: it failed, and its command leads to its error handler.
    Done {
        command: Command<U>,
        handled: bool,
    },
    Failed(Fault),
}

/// An interrupt nobody has answered.
#[derive(Debug, Clone)]
pub struct OpenInterrupt {
    /// Its id, unique in the run.
    pub id: String,
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
}

/// An answer, and which interrupt it answers.
#[derive(Debug, Clone)]
struct Answer {
    step: u32,
    index: Option<u32>,
    name: String,
    value: Arc<RawValue>,
}

/// A task that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSummary {
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

/// One run, as its records tell it.
#[derive(Debug)]
pub struct RunMachine<S: State> {
    state: Option<Arc<S>>,
    workflow: Arc<str>,
    workflow_version: u32,
    started_at: Timestamp,
    envelope: Option<Arc<Envelope>>,
    step: u32,
    tasks: Arc<[Send]>,
    slots: Vec<Slot<S::Update>>,
    gate: Option<String>,
    interrupts: Vec<OpenInterrupt>,
    answers: Vec<Answer>,
    history: Vec<TaskSummary>,
    reopened: u32,
    /// Times it completed and was to be woken again.
    visits: u32,
    forked: Option<ForkedFrom>,
    letters: Vec<(String, bool)>,
    ended: Option<Ended>,
    /// The tasks that were sent, once the step's updates are merged; or why they cannot be.
    merged: Option<Result<Vec<Send>, Invalid>>,
    /// Interrupts that need no answer any more. One may still come: the store knows no better.
    void: HashSet<String>,
    version: u64,
}

impl<S: State> Default for RunMachine<S> {
    fn default() -> Self {
        Self {
            state: None,
            workflow: "".into(),
            workflow_version: 0,
            started_at: Timestamp::default(),
            envelope: None,
            step: 0,
            tasks: Arc::new([]),
            slots: Vec::new(),
            gate: None,
            interrupts: Vec::new(),
            answers: Vec::new(),
            history: Vec::new(),
            reopened: 0,
            visits: 0,
            forked: None,
            letters: Vec::new(),
            ended: None,
            merged: None,
            void: HashSet::new(),
            version: 0,
        }
    }
}

/// What it can be asked.
impl<S: State> RunMachine<S> {
    /// What to do next.
    pub fn todo(&self) -> Todo {
        if self.ended.is_some() || self.state.is_none() {
            return Todo::Ended;
        }
        if self.gate.is_some() {
            return Todo::Wait(None);
        }
        let pending: Vec<u32> = self.indices(|slot| matches!(slot, Slot::Pending)).collect();
        if !pending.is_empty() {
            return Todo::Run(pending);
        }
        if let Some(failure) = self.failure() {
            return Todo::Failed(failure);
        }
        if self.tasks.is_empty() {
            return Todo::Complete;
        }
        if self.slots.iter().all(|slot| matches!(slot, Slot::Done { .. })) {
            return Todo::CloseStep;
        }
        let times = self.slots.iter().filter_map(|slot| match slot {
            Slot::Parked(until) => Some(*until),
            _ => None,
        });
        Todo::Wait(times.min())
    }

    fn indices<'a>(
        &'a self,
        wanted: impl Fn(&Slot<S::Update>) -> bool + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        (0u32..).zip(&self.slots).filter(move |(_, slot)| wanted(slot)).map(|(index, _)| index)
    }

    /// The first task of the current step that failed and was not passed over. A permanent fault
    /// comes before a transient one: no retry can save the step then.
    pub fn failure(&self) -> Option<Failure> {
        let failed = || {
            self.tasks.iter().zip(&self.slots).filter_map(|(task, slot)| match slot {
                Slot::Failed(fault) => Some((task, fault)),
                _ => None,
            })
        };
        let (task, fault) =
            failed().find(|(_, fault)| !fault.is_transient()).or_else(|| failed().next())?;
        Some(Failure { step: self.step, node: Some(task.node.clone()), fault: fault.clone() })
    }

    /// The state after the last finished step. `None` before `started`.
    pub fn state(&self) -> Option<&Arc<S>> {
        self.state.as_ref()
    }

    /// The state, given up.
    pub fn into_state(self) -> Option<Arc<S>> {
        self.state
    }

    /// The workflow's name and version, as recorded.
    pub fn workflow(&self) -> (&Arc<str>, u32) {
        (&self.workflow, self.workflow_version)
    }

    /// When it started.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// The message it came from.
    pub fn envelope(&self) -> Option<&Arc<Envelope>> {
        self.envelope.as_ref()
    }

    /// The current step, from 1, and its tasks.
    pub fn tasks(&self) -> (u32, &Arc<[Send]>) {
        (self.step, &self.tasks)
    }

    /// Tasks of the current step that have no result yet: their index, node, and what they wait for.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, &Arc<str>, &'static str)> {
        (0u32..).zip(self.tasks.iter().zip(&self.slots)).filter_map(|(index, (task, slot))| {
            let waits = match slot {
                Slot::Done { .. } => return None,
                Slot::Pending => "to run",
                Slot::Interrupted(_) => "for an answer",
                Slot::Parked(_) => "for a time",
                Slot::Failed(_) => "failed",
            };
            Some((index, &task.node, waits))
        })
    }

    /// What the tasks of a step that can be closed answered, in task order.
    pub fn commands(&self) -> impl Iterator<Item = (&Arc<str>, &Command<S::Update>)> {
        self.tasks.iter().zip(&self.slots).filter_map(|(task, slot)| match slot {
            Slot::Done { command, .. } => Some((&task.node, command)),
            _ => None,
        })
    }

    /// Interrupts nobody has answered, the oldest first.
    pub fn interrupts(&self) -> &[OpenInterrupt] {
        &self.interrupts
    }

    /// The answer given to the interrupt of this name, of this task of this step.
    pub fn answer(&self, step: u32, index: Option<u32>, name: &str) -> Option<&Arc<RawValue>> {
        self.answers
            .iter()
            .find(|a| a.step == step && a.index == index && a.name == name)
            .map(|a| &a.value)
    }

    /// All answers given to this task of the current step, by name.
    pub(super) fn answers_of(&self, index: u32) -> Vec<(String, Arc<RawValue>)> {
        self.answers
            .iter()
            .filter(|a| a.step == self.step && a.index == Some(index))
            .map(|a| (a.name.clone(), a.value.clone()))
            .collect()
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The id a new interrupt gets: readable, and unique even after a reopening.
    pub(super) fn interrupt_id(&self, index: Option<u32>, name: &str) -> String {
        let place = index.map(|i| format!("{i}.")).unwrap_or_default();
        let again = if self.reopened > 0 { format!("~{}", self.reopened) } else { String::new() };
        format!("{}.{place}{name}{again}", self.step)
    }

    /// The tasks that ended, in the order they did; those a reopening voided are left out.
    pub fn history(&self) -> &[TaskSummary] {
        &self.history
    }

    /// Failures that were passed over.
    pub fn failures(&self) -> Vec<Failure> {
        let failed = self.history.iter().filter_map(|task| {
            let fault = task.fault.clone()?;
            Some(Failure { step: task.step, node: Some(task.node.clone()), fault })
        });
        failed.collect()
    }

    /// How often it was reopened.
    pub fn reopened(&self) -> u32 {
        self.reopened
    }

    /// How often it completed with another visit to come.
    pub fn visits(&self) -> u32 {
        self.visits
    }

    /// Where it was copied from.
    pub fn forked(&self) -> Option<&ForkedFrom> {
        self.forked.as_ref()
    }

    /// Letters written about it, and whether the queue confirmed them.
    pub fn letters(&self) -> &[(String, bool)] {
        &self.letters
    }

    /// How it ended.
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// How many records it was fed.
    pub fn version(&self) -> u64 {
        self.version
    }
}
