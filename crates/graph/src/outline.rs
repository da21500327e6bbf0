//! A run as its log shows it to whoever does not know its types: which tasks are to run.
//!
//! That a task starts is not recorded, and need not be: a record leads to it, and whatever the one who
//! works on the run records next shows that it has started.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use super::{
    codec::HistoryEntry,
    machine::{Illegal, RunMachine, Todo},
    path::{Path, Place},
    record::{Meta, Record},
    rewind,
    state::State,
    store::StoredRecord,
};
use crate::base::{Fault, Timestamp};

/// A task that is to run.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStart {
    /// The subgraph it is in; empty in the workflow's own graph.
    pub path: Path,
    /// The step.
    pub step: u32,
    /// The node.
    pub node: Arc<str>,
    /// Its place among the step's tasks.
    pub index: u32,
    /// When the record was written that leads to it.
    pub at: Timestamp,
}

/// Which tasks are to run, kept up record by record; none for a log that cannot be followed.
///
/// [`Outline::next_start`] answers each once. What it has answered of those that are due behind a record follows
/// from their number, however the log was read: they come in one order, which later answers only add
/// to.
#[derive(Default)]
pub struct Outline {
    graphs: HashMap<Path, RunMachine<Untyped>>,
    due: Vec<TaskStart>,
    reported: usize,
    lost: bool,
}

/// Stands for the state of any workflow.
#[derive(Clone, Serialize)]
struct Untyped;

/// Stands for what only the workflow can read.
#[derive(Serialize)]
struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Self)
    }
}

impl State for Untyped {
    type Input = Unread;
    type Update = Unread;

    fn new(_: Unread) -> Self {
        Self
    }

    fn merge(&mut self, _: Unread) {}
}

impl Outline {
    /// After these records, the first of a run.
    pub fn replay(stored: &[StoredRecord]) -> Self {
        let mut outline = Self::default();
        let replayed = outline.replay_all(stored);
        outline.give_up_if(replayed);
        outline
    }

    /// Whether it has to be [replayed](Self::replay) for this record: it may go back to any step.
    pub fn rewinds(entry: &HistoryEntry) -> bool {
        entry.path.is_empty() && matches!(entry.meta, Meta::Reopened { .. })
    }

    /// Whether this record, the next, shows that what was due before it has started.
    pub fn shows_started(entry: &HistoryEntry) -> bool {
        match &entry.meta {
            Meta::TaskFinished { .. } | Meta::StepFinished { .. } | Meta::Parked { .. } => true,
            // Without a task it keeps the whole step from starting.
            Meta::Interrupted { index, .. } => index.is_some(),
            Meta::Started { .. } | Meta::Reopened { .. } => !entry.path.is_empty(),
            _ => false,
        }
    }

    /// Takes record number `seq`, the next.
    pub fn take(&mut self, seq: u64, stored: &StoredRecord) {
        if !self.lost {
            let record = Record::decode_all(seq, stored).map_err(Fault::from);
            let taken = record.and_then(|record| Ok(self.apply(record)?));
            self.give_up_if(taken);
        }
    }

    /// The next task that is due and was not reported, and how many are reported with it.
    pub fn next_start(&mut self) -> Option<(usize, TaskStart)> {
        let next = self.due.get(self.reported)?.clone();
        self.reported += 1;
        Some((self.reported, next))
    }

    /// How many of the tasks that are due were reported.
    pub fn reported(&self) -> usize {
        self.reported
    }

    /// So many of the tasks that are due were reported before.
    pub fn skip(&mut self, reported: usize) {
        self.reported = reported.min(self.due.len());
    }

    fn replay_all(&mut self, stored: &[StoredRecord]) -> Result<(), Fault> {
        let records = (1u64..).zip(stored).map(|(seq, record)| Record::decode_all(seq, record));
        let records: Result<Vec<Record<Unread>>, _> = records.collect();
        let (records, _) = rewind::effective(records?);
        records.into_iter().try_for_each(|record| Ok(self.apply(record)?))
    }

    fn give_up_if(&mut self, taken: Result<(), Fault>) {
        if taken.is_err() {
            *self = Self { lost: true, ..Self::default() };
        }
    }

    fn apply(&mut self, mut record: Record<Unread>) -> Result<(), Illegal> {
        let at = record.at;
        let mut path = std::mem::take(&mut record.path);
        // All tasks that can run, or one, or none, may start with this record.
        let (mut starts, mut only) = (false, None);
        match &record.meta {
            // They say nothing of tasks.
            Meta::Letter { .. } | Meta::LetterConfirmed { .. } => return Ok(()),
            Meta::Resumed { id, .. } => {
                // An answer names its interrupt alone. One that came too late answers nothing.
                let Some((asks, index)) = self.asks(id) else { return Ok(()) };
                (path, only, starts) = (asks, index, true);
            }
            Meta::Started { .. } => {
                self.graphs.insert(path.clone(), RunMachine::default());
                self.clear();
                starts = true;
            }
            Meta::StepFinished { .. } | Meta::Reopened { .. } => {
                self.clear();
                starts = true;
            }
            Meta::Forked { .. } => {}
            _ => self.clear(),
        }
        let ended = match &record.meta {
            Meta::TaskFinished { step, node, index, .. } => {
                Some(Place { step: *step, node: node.clone(), index: *index })
            }
            _ => None,
        };
        let kind = record.meta.kind();
        let unknown = || Illegal { kind, why: format!("nothing is recorded of `{path}`") };
        let machine = self.graphs.get_mut(&path).ok_or_else(unknown)?;
        machine.apply(record)?;
        if starts && let Todo::Run(tasks) = machine.todo() {
            let (step, all) = machine.tasks();
            let tasks = tasks.into_iter().filter(|index| only.is_none_or(|only| only == *index));
            let due = tasks.filter_map(|index| {
                let node = all.get(index as usize)?.node.clone();
                Some(TaskStart { path: path.clone(), step, node, index, at })
            });
            self.due.extend(due);
        }
        if let Some(place) = ended {
            self.forget(&path, place);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.due.clear();
        self.reported = 0;
    }

    /// Where this interrupt is open, and the task that asks.
    fn asks(&self, id: &str) -> Option<(Path, Option<u32>)> {
        self.graphs.iter().find_map(|(path, machine)| {
            let open = machine.interrupts().iter().find(|open| open.id == id)?;
            Some((path.clone(), open.index))
        })
    }

    /// Nothing more comes from the subgraph of a task that has ended, unless it failed and may be
    /// tried again.
    fn forget(&mut self, path: &Path, place: Place) {
        if self.graphs.len() < 2 {
            return;
        }
        let open = |machine: &RunMachine<_>| {
            machine.unfinished().any(|(index, _, _)| index == place.index)
        };
        if !self.graphs.get(path).is_some_and(open) {
            let ended = path.inside(place);
            self.graphs.retain(|inside, _| !inside.places().starts_with(ended.places()));
        }
    }
}
