//! What the machine keeps of subgraphs: the records of those under way, as they are written down. A
//! subgraph's state is the fold of its own records, made by who knows its types; what comes of it is
//! the update of its task, a record like any other.

use std::{collections::HashSet, sync::Arc};

use serde_json::value::RawValue;

use super::{Illegal, OpenInterrupt, RunMachine, Slot, TaskSummary};
use crate::{
    base::Timestamp,
    path::{Path, Place},
    record::{Body, Meta, Record, Redo},
    state::State,
};

/// What one subgraph has recorded.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// As the subgraph sees them: its own have no path.
    records: Vec<Record<()>>,
    /// How many of them are answers: they come from outside.
    answers: usize,
    /// The task is to run again, and the subgraph has not been reopened for that yet.
    redo: bool,
}

/// What a subgraph starts from.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    /// Its records so far.
    pub records: Vec<Record<()>>,
    /// How many answers its outermost subgraph had by then.
    pub answers: usize,
}

impl Inside {
    /// The subgraph's run so far.
    pub(crate) fn replay<C: State>(&self) -> Result<RunMachine<C>, Illegal> {
        let typed: Result<Vec<_>, _> = self.records.iter().map(Record::seen_inside).collect();
        RunMachine::replay(typed.map_err(|e| Illegal { kind: "subgraph", why: e.to_string() })?)
    }
}

impl<S: State> RunMachine<S> {
    /// The run of `C` in the subgraph of an unfinished task of the current step. `None` if it has
    /// recorded nothing.
    ///
    /// # Errors
    /// If its records are not those of such a run.
    pub fn inside<C: State>(&self, index: u32) -> Result<Option<RunMachine<C>>, Illegal> {
        let Some(frame) = self.frames.get(&index) else { return Ok(None) };
        let of_it = Inside { records: frame.records.clone(), answers: 0 };
        of_it.replay().map(Some)
    }

    /// What the subgraph at `path` has recorded.
    pub(crate) fn load_inside(&self, path: &Path) -> Inside {
        let Some((place, rest)) = path.split() else { return Inside::default() };
        let Some(frame) = self.frames.get(&place.index) else { return Inside::default() };
        let wanted = rest.places();
        let below = frame.records.iter().filter_map(|record| {
            let own = record.path.places();
            let kept = match &record.meta {
                // An answer names its interrupt alone; whose it is, the subgraph finds out.
                Meta::Resumed { .. } => own,
                _ => own.strip_prefix(wanted)?,
            };
            Some(Record { path: kept.to_vec().into(), ..record.clone() })
        });
        Inside { records: known(below.collect()), answers: frame.answers }
    }

    /// Whether the task's subgraph is to be reopened before it goes on.
    pub(crate) fn redoes(&self, index: u32) -> bool {
        self.frames.get(&index).is_some_and(|frame| frame.redo)
    }

    /// The task's subgraph, which knew of so many answers, can do nothing before another or before
    /// this time.
    pub(crate) fn suspend(
        &mut self,
        index: u32,
        wait: Option<(Timestamp, String)>,
        answers: usize,
    ) {
        let more = self.frames.get(&index).is_some_and(|frame| frame.answers > answers);
        if let Some(slot @ Slot::Pending) = self.slots.get_mut(index as usize)
            && !more
        {
            *slot = Slot::Suspended(wait);
        }
    }

    /// Whether something in the task's subgraph waits for a person.
    pub(super) fn asks_inside(&self, index: u32) -> bool {
        self.open_inside(index).any(|open| open.event.is_none())
    }

    /// Whether something in the task's subgraph waits for an event.
    pub(super) fn awaits_inside(&self, index: u32) -> bool {
        self.open_inside(index).any(|open| open.event.is_some())
    }

    fn open_inside(&self, index: u32) -> impl Iterator<Item = &OpenInterrupt> {
        let inside = move |open: &&OpenInterrupt| {
            open.path.places().first().is_some_and(|place| place.index == index)
        };
        self.interrupts.iter().filter(inside)
    }

    /// Takes a record of the subgraph at `place`, which it sees at `rest`.
    pub(super) fn take_inner(
        &mut self,
        place: &Place,
        rest: Path,
        record: Record<S::Update>,
    ) -> Result<(), String> {
        if self.ended.is_some() {
            return Err("the run has ended".to_owned());
        }
        self.slot(place.step, place.index, &place.node)?;
        let (at, path) = (record.at, record.path);
        match &record.meta {
            Meta::Interrupted { id, step, node, index, name, event } => {
                let Body::Value(request) = &record.body else {
                    return Err("its body is missing or of another kind".to_owned());
                };
                if self.interrupts.iter().any(|other| other.id == *id) {
                    return Err(format!("interrupt `{id}` is open already"));
                }
                let (id, node, name) = (id.clone(), node.clone(), name.clone());
                let (step, index, request) = (*step, *index, request.clone());
                self.interrupts.push(OpenInterrupt {
                    id,
                    path,
                    step,
                    node,
                    index,
                    name,
                    request,
                    at,
                    event: event.clone(),
                });
            }
            Meta::TaskFinished { step, node, index, attempts, us, fault, .. } => {
                let ended = path.inside(Place { step: *step, node: node.clone(), index: *index });
                self.withdraw(|open| {
                    let own = open.path == path && open.step == *step;
                    let inside = open.path.places().starts_with(ended.places());
                    inside || (own && open.index == Some(*index))
                });
                self.history.push(TaskSummary {
                    step: *step,
                    node: node.clone(),
                    index: *index,
                    attempts: *attempts,
                    took: std::time::Duration::from_micros(*us),
                    fault: fault.clone(),
                    at,
                    path,
                });
            }
            Meta::Reopened { from, .. } => {
                self.history
                    .retain(|task| task.path != path || task.step != *from || task.fault.is_none());
            }
            _ => {}
        }
        let frame = self.frames.entry(place.index).or_default();
        frame.redo &= !(rest.is_empty() && matches!(record.meta, Meta::Reopened { .. }));
        let body = record.body.untyped();
        frame.records.push(Record { at, path: rest, meta: record.meta, body });
        Ok(())
    }

    pub(super) fn resume_inside(&mut self, index: u32, id: &str, value: Arc<RawValue>) {
        let frame = self.frames.entry(index).or_default();
        let meta = Meta::Resumed { id: id.to_owned(), event: None };
        frame.records.push(Record::new(Timestamp::default(), meta, Body::Value(value)));
        frame.answers += 1;
        if let Some(slot @ Slot::Suspended(_)) = self.slots.get_mut(index as usize) {
            *slot = Slot::Pending;
        }
    }

    /// The subgraphs of tasks that run again go on where they failed, or begin anew.
    pub(super) fn reopen_inside(&mut self, redo: Redo, redone: &HashSet<u32>) {
        match redo {
            Redo::All => self.frames.clear(),
            Redo::Failed => {
                for (index, frame) in &mut self.frames {
                    frame.redo |= redone.contains(index);
                }
            }
        }
    }
}

/// `records` without answers to questions of others.
fn known(records: Vec<Record<()>>) -> Vec<Record<()>> {
    let asked: HashSet<String> = records
        .iter()
        .filter_map(|record| match &record.meta {
            Meta::Interrupted { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect();
    let mine = |record: &Record<()>| match &record.meta {
        Meta::Resumed { id, .. } => asked.contains(id),
        _ => true,
    };
    records.into_iter().filter(mine).collect()
}
