//! The pure heart: feed it a run's records in order, ask it what to do next.
//!
//! It does no I/O, knows no clock and no graph. Whatever it accepts can be replayed, and whatever
//! cannot have happened it rejects with [`Illegal`].

mod feed;
mod inner;
mod parts;

pub(crate) use inner::Inside;
pub use parts::{Ended, ForkedFrom, Illegal, OpenInterrupt, TaskSummary, Todo};

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde_json::value::RawValue;

use super::{
    command::{Command, Dispatch},
    external::AwaitedEvent,
    record::{Envelope, Failure},
    state::{Invalid, State},
    waiting::{Question, Waiting},
};
use crate::base::{Fault, Timestamp};

/// What a task of the current step has come to.
#[derive(Debug)]
enum Slot<U> {
    Pending,
    Interrupted(String),
    Parked {
        until: Timestamp,
        reason: String,
    },
    /// Its subgraph can do nothing before an answer, or before this time. Not recorded: it follows
    /// from the subgraph's records.
    Suspended(Option<(Timestamp, String)>),
    /// `handled`: it failed, and its command leads to its error handler.
    Done {
        command: Command<U>,
        handled: bool,
    },
    Failed(Fault),
}

/// An answer, and which interrupt it answers.
#[derive(Debug, Clone)]
struct Answer {
    step: u32,
    index: Option<u32>,
    name: String,
    value: Arc<RawValue>,
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
    tasks: Arc<[Dispatch]>,
    slots: Vec<Slot<S::Update>>,
    /// Tasks of deferred nodes, until the branches that lead to these have ended.
    held: Vec<Dispatch>,
    /// What the subgraphs of unfinished tasks have recorded, by the task's index.
    frames: BTreeMap<u32, inner::Frame>,
    gate: Option<String>,
    interrupts: Vec<OpenInterrupt>,
    answers: Vec<Answer>,
    history: Vec<TaskSummary>,
    /// Whether any task in it has failed: asked at every step, however long the history.
    faulted: bool,
    reopened: u32,
    /// Times it completed and was to be woken again.
    visits: u32,
    forked: Option<ForkedFrom>,
    letters: Vec<(String, bool)>,
    ended: Option<Ended>,
    /// The tasks that were sent, once the step's updates are merged; or why they cannot be.
    merged: Option<Result<Vec<Dispatch>, Invalid>>,
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
            held: Vec::new(),
            frames: BTreeMap::new(),
            gate: None,
            interrupts: Vec::new(),
            answers: Vec::new(),
            history: Vec::new(),
            faulted: false,
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
        Todo::Wait(self.wakes_at())
    }

    /// The earliest time that a task of the current step waits for, and why it does.
    pub fn parked(&self) -> Option<(Timestamp, &str)> {
        let parked = self.slots.iter().filter_map(|slot| match slot {
            Slot::Parked { until, reason } | Slot::Suspended(Some((until, reason))) => {
                Some((*until, reason.as_str()))
            }
            _ => None,
        });
        parked.min()
    }

    /// The earliest time that a task of the current step waits for, or that its wait for an event
    /// ends at.
    fn wakes_at(&self) -> Option<Timestamp> {
        let parked = self.parked().map(|(until, _)| until);
        parked.into_iter().chain(self.awaited().map(|(_, event)| event.until)).min()
    }

    /// The waits for events that nothing has answered: their interrupts' ids, and what they wait for.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (&str, &AwaitedEvent)> {
        self.interrupts.iter().filter_map(|open| Some((&*open.id, open.event.as_ref()?)))
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
    pub fn tasks(&self) -> (u32, &Arc<[Dispatch]>) {
        (self.step, &self.tasks)
    }

    /// Tasks of the current step that have no result yet: their index, node, and what they wait for.
    pub fn unfinished(&self) -> impl Iterator<Item = (u32, &Arc<str>, &'static str)> {
        (0u32..).zip(self.tasks.iter().zip(&self.slots)).filter_map(|(index, (task, slot))| {
            let waits = match slot {
                Slot::Done { .. } => return None,
                Slot::Interrupted(id) if self.awaited().any(|(wait, _)| wait == id) => {
                    "for an event"
                }
                Slot::Pending | Slot::Suspended(_) if self.asks_inside(index) => "for an answer",
                Slot::Pending | Slot::Suspended(_) if self.awaits_inside(index) => "for an event",
                Slot::Pending => "to run",
                Slot::Interrupted(_) | Slot::Suspended(None) => "for an answer",
                Slot::Parked { .. } | Slot::Suspended(Some(_)) => "for a time",
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

    /// Interrupts nobody has answered, the oldest first; waits for events are among them.
    pub fn interrupts(&self) -> &[OpenInterrupt] {
        &self.interrupts
    }

    /// What it waits for when it can do nothing now: answers come before events, and these before
    /// times. Fields named `sensitive` do not appear.
    pub fn waiting(&self, sensitive: &[&str]) -> Waiting {
        let asked = self.interrupts.iter().filter(|open| open.event.is_none());
        let asked: Vec<_> =
            asked.map(|open| Question::new(&open.id, &open.request, sensitive)).collect();
        let awaited: Vec<_> =
            self.awaited().map(|(id, event)| Question::event(id, &event.key)).collect();
        match (asked.is_empty(), awaited.is_empty()) {
            (false, _) => Waiting::for_answers(asked.into_iter()),
            (true, false) => Waiting::for_events(awaited.into_iter()),
            (true, true) => Waiting::for_time(self.parked().map(|(_, reason)| reason)),
        }
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

    /// Failures that were passed over; those inside subgraphs are theirs.
    pub fn failures(&self) -> Vec<Failure> {
        if !self.faulted {
            return Vec::new();
        }
        let own = self.history.iter().filter(|task| task.path.is_empty());
        let failed = own.filter_map(|task| {
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
