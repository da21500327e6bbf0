//! What the machine can be fed, and how each record changes it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::value::RawValue;

use super::{
    Answer, Ended, ForkedFrom, Illegal, OpenInterrupt, RunMachine, Slot, TaskSummary, Todo,
};
use crate::{
    base::{Timestamp, invalid_input},
    command::{Command, Dispatch, END},
    path::Path,
    record::{Body, Meta, Outcome, Record, Redo},
    rewind,
    state::{Invalid, State},
};

/// What it can be fed.
impl<S: State> RunMachine<S> {
    /// A machine fed with a whole log.
    ///
    /// # Errors
    /// With the first record that cannot follow those before it.
    pub fn replay(records: Vec<Record<S::Update>>) -> Result<Self, Illegal> {
        let version = records.len() as u64;
        let reopened = |record: &&Record<_>| {
            record.path.is_empty() && matches!(record.meta, Meta::Reopened { .. })
        };
        let reopened = records.iter().filter(reopened).count();
        let visit = |record: &&Record<_>| match &record.meta {
            Meta::Finished { outcome: Outcome::Completed { revisit } } => revisit.is_some(),
            _ => false,
        };
        let visits = records.iter().filter(visit).count();
        let mut machine = Self::default();
        let (records, void) = rewind::effective(records);
        machine.void = void;
        for record in records {
            machine.apply(record)?;
        }
        machine.version = version;
        machine.visits = u32::try_from(visits).unwrap_or(u32::MAX);
        machine.reopened = u32::try_from(reopened).unwrap_or(u32::MAX);
        Ok(machine)
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// If it cannot follow those before it; the machine is as it was then.
    pub fn apply(&mut self, record: Record<S::Update>) -> Result<(), Illegal> {
        let kind = record.meta.kind();
        let taken = match record.path.split() {
            None => self.take(record.at, record.meta, record.body),
            Some((place, rest)) => self.take_inner(&place.clone(), rest, record),
        };
        taken.map_err(|why| Illegal { kind, why })?;
        self.version += 1;
        Ok(())
    }

    fn take(&mut self, at: Timestamp, meta: Meta, body: Body<S::Update>) -> Result<(), String> {
        match (meta, body) {
            (Meta::Started { workflow, version, entry }, Body::Start(start)) => {
                if self.state.is_some() {
                    return Err("the run has started already".to_owned());
                }
                let input = serde_json::from_str(start.input.get()).map_err(|e| {
                    format!("its input does not fit the workflow: {}", invalid_input(&e))
                })?;
                self.start(at, (workflow, version), &entry, S::new(input));
                self.envelope = start.envelope.map(Arc::new);
                Ok(())
            }
            _ if self.state.is_none() => Err("the run has not started".to_owned()),
            (Meta::Letter { id }, _) => {
                self.letters.push((id, false));
                Ok(())
            }
            (Meta::LetterConfirmed { id }, _) => self.confirm_letter(&id),
            (Meta::Resumed { id, .. }, _) if self.void.contains(&id) => Ok(()),
            (Meta::Reopened { from, redo, .. }, _) => self.reopen(from, redo),
            _ if self.ended.is_some() => Err("the run has ended".to_owned()),
            (Meta::TaskFinished { step, node, index, attempts, us, fault, .. }, body) => {
                let command = match body {
                    Body::Command(command) => Some(command),
                    _ => None,
                };
                let took = Duration::from_micros(us);
                let path = Path::default();
                let summary = TaskSummary { path, step, node, index, attempts, took, fault, at };
                self.finish_task(summary, command)
            }
            (Meta::StepFinished { step, held }, Body::Tasks(routed)) => {
                self.finish_step(step, routed, &held)
            }
            (Meta::Interrupted { id, step, node, index, name, event }, Body::Value(request)) => {
                let path = Path::default();
                let open = OpenInterrupt { id, path, step, node, index, name, request, at, event };
                self.interrupt(open)
            }
            (Meta::Resumed { id, .. }, Body::Value(value)) => self.resume(&id, value),
            (Meta::Parked { step, node, index, until, reason }, _) => {
                self.slot(step, index, &node).map(|slot| *slot = Slot::Parked { until, reason })
            }
            (Meta::Superseded { by }, _) => self.end(Ended::Superseded(by)),
            (Meta::Cancelled { by }, _) => self.end(Ended::Cancelled(by)),
            (Meta::Forked { .. }, _) if self.forked.is_some() => {
                Err("the run is a fork already".to_owned())
            }
            (Meta::Forked { parent, step, publish }, _) => {
                self.forked = Some(ForkedFrom { parent, step, publish });
                Ok(())
            }
            (Meta::Finished { outcome }, _) => self.finish(outcome),
            _ => Err("its body is missing or of another kind".to_owned()),
        }
    }

    /// Starts from a state, for a run that keeps no records.
    pub(crate) fn start(
        &mut self,
        at: Timestamp,
        (workflow, version): (Arc<str>, u32),
        entry: &Arc<str>,
        state: S,
    ) {
        self.started_at = at;
        self.workflow = workflow;
        self.workflow_version = version;
        self.state = Some(Arc::new(state));
        self.begin(vec![Dispatch::to(entry.clone())]);
    }

    fn begin(&mut self, tasks: Vec<Dispatch>) {
        self.step += 1;
        self.slots.clear();
        self.frames.clear();
        self.slots.resize_with(tasks.len(), || Slot::Pending);
        self.tasks = tasks.into();
    }

    pub(super) fn slot(
        &mut self,
        step: u32,
        index: u32,
        node: &Arc<str>,
    ) -> Result<&mut Slot<S::Update>, String> {
        if step != self.step {
            return Err(format!("it belongs to step {step}, the run is at step {}", self.step));
        }
        if self.gate.is_some() {
            return Err("the step has not been let in".to_owned());
        }
        let count = self.slots.len();
        match self.slots.get_mut(index as usize) {
            None => Err(format!("step {step} has {count} tasks, it names number {index}")),
            Some(_) if self.tasks.get(index as usize).is_none_or(|task| task.node != *node) => {
                Err(format!("task {index} of step {step} is not `{node}`"))
            }
            Some(Slot::Done { .. } | Slot::Failed(_)) => {
                Err(format!("task {index} of step {step} has ended already"))
            }
            Some(slot) => Ok(slot),
        }
    }

    fn finish_task(
        &mut self,
        summary: TaskSummary,
        command: Option<Command<S::Update>>,
    ) -> Result<(), String> {
        let (step, index) = (summary.step, summary.index);
        let slot = self.slot(step, index, &summary.node)?;
        *slot = match (command, &summary.fault) {
            (Some(command), fault) => {
                Slot::Done { handled: fault.is_some() && command.goto.is_some(), command }
            }
            (None, Some(fault)) => Slot::Failed(fault.clone()),
            (None, None) => Slot::Done { command: Command::nothing(), handled: false },
        };
        self.frames.remove(&index);
        self.withdraw(|open| match open.path.places().first() {
            Some(place) => place.index == index,
            None => open.step == step && open.index == Some(index),
        });
        self.faulted |= summary.fault.is_some();
        self.history.push(summary);
        Ok(())
    }

    /// Merges the updates of a step whose tasks are all done, in task order, so that what follows
    /// can be chosen on the merged state. `step_finished` does it if it was not done before.
    ///
    /// # Errors
    /// If the merged state breaks its invariants; it is then as it was before the step.
    pub(crate) fn merge(&mut self) -> Result<(), Invalid> {
        if let Some(merged) = &self.merged {
            return merged.as_ref().map(|_| ()).map_err(Clone::clone);
        }
        let Some(state) = &mut self.state else { return Ok(()) };
        let before = S::CHECKED.then(|| state.clone());
        let handled =
            self.slots.iter().any(|slot| matches!(slot, Slot::Done { handled: true, .. }));
        let mut sent = Vec::new();
        let merging = Arc::make_mut(state);
        for slot in &mut self.slots {
            let Slot::Done { command, handled: by_handler } = slot else { continue };
            if let Some(update) = command.update.take() {
                merging.merge(update);
            }
            if *by_handler || !handled {
                sent.extend(command.goto.iter_mut().flat_map(std::mem::take));
            }
        }
        if let Some(before) = before
            && let Err(invalid) = merging.check()
        {
            *state = before;
            self.merged = Some(Err(invalid.clone()));
            return Err(invalid);
        }
        self.merged = Some(Ok(sent));
        Ok(())
    }

    /// Whether an error handler, and nothing else, follows the current step.
    pub(crate) fn handled(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Done { handled: true, .. }))
    }

    /// The nodes of the tasks that would follow the current step, once it is merged: held before,
    /// sent, or `routed` by edges.
    pub(crate) fn upcoming(&self, routed: &[Dispatch]) -> Vec<Arc<str>> {
        let held = self.held.iter().filter(|_| !self.handled());
        let sent = self.merged.iter().flatten().flatten().filter(|sent| &*sent.node != END);
        held.chain(sent).chain(routed).map(|dispatch| dispatch.node.clone()).collect()
    }

    /// Moves on to the tasks that were held, sent, and led to by edges, in this order. Those of nodes
    /// in `held` wait for a later step. An error handler goes on alone.
    fn finish_step(
        &mut self,
        step: u32,
        routed: Vec<Dispatch>,
        held: &[Arc<str>],
    ) -> Result<(), String> {
        if step != self.step || self.tasks.is_empty() {
            return Err(format!("the run is at step {}, not in {step}", self.step));
        }
        if !self.slots.iter().all(|slot| matches!(slot, Slot::Done { .. })) {
            return Err(format!("step {step} has tasks that have not ended"));
        }
        self.merge().map_err(|invalid| invalid.to_string())?;
        let alone = self.handled();
        let mut next = std::mem::take(&mut self.held);
        next.retain(|_| !alone);
        next.extend(self.merged.take().and_then(Result::ok).unwrap_or_default());
        next.retain(|dispatch| &*dispatch.node != END);
        next.extend(routed);
        let mut next = distinct(next);
        if !held.is_empty() {
            self.held = next.extract_if(.., |task| held.contains(&task.node)).collect();
        }
        self.begin(next);
        Ok(())
    }

    fn interrupt(&mut self, open: OpenInterrupt) -> Result<(), String> {
        if self.interrupts.iter().any(|other| other.id == open.id) {
            return Err(format!("interrupt `{}` is open already", open.id));
        }
        match open.index {
            Some(index) => {
                *self.slot(open.step, index, &open.node)? = Slot::Interrupted(open.id.clone());
            }
            None if open.step == self.step && self.gate.is_none() => {
                self.gate = Some(open.id.clone());
            }
            None => return Err(format!("the run is at step {}, not {}", self.step, open.step)),
        }
        self.interrupts.push(open);
        Ok(())
    }

    /// Takes questions back that need no answer any more.
    pub(super) fn withdraw(&mut self, void: impl Fn(&OpenInterrupt) -> bool) {
        let gone = self.interrupts.extract_if(.., |open| void(open)).map(|open| open.id);
        self.void.extend(gone);
    }

    fn resume(&mut self, id: &str, value: Arc<RawValue>) -> Result<(), String> {
        let place = self.interrupts.iter().position(|open| open.id == id);
        let Some(place) = place else { return Err(format!("no interrupt `{id}` is open")) };
        let open = self.interrupts.remove(place);
        if let Some(place) = open.path.places().first() {
            let index = place.index;
            self.resume_inside(index, id, value);
            return Ok(());
        }
        match open.index {
            None => self.gate = None,
            Some(index) => {
                if let Some(slot) = self.slots.get_mut(index as usize)
                    && matches!(slot, Slot::Interrupted(waits) if waits == id)
                {
                    *slot = Slot::Pending;
                }
            }
        }
        self.answers.push(Answer { step: open.step, index: open.index, name: open.name, value });
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome) -> Result<(), String> {
        if matches!(outcome, Outcome::Completed { .. }) && self.todo() != Todo::Complete {
            return Err(format!("step {} is not the end", self.step));
        }
        self.end(Ended::Finished(outcome))
    }

    fn end(&mut self, how: Ended) -> Result<(), String> {
        self.ended = Some(how);
        Ok(())
    }

    fn confirm_letter(&mut self, id: &str) -> Result<(), String> {
        match self.letters.iter_mut().find(|(letter, _)| letter == id) {
            Some((_, confirmed)) => {
                *confirmed = true;
                Ok(())
            }
            None => Err(format!("no letter `{id}` was written")),
        }
    }

    fn reopen(&mut self, from: u32, redo: Redo) -> Result<(), String> {
        if from != self.step {
            return Err(format!("it goes back to step {from}, the log ends at step {}", self.step));
        }
        for slot in &mut self.slots {
            if redo == Redo::All || matches!(slot, Slot::Failed(_)) {
                *slot = Slot::Pending;
            }
        }
        let step = self.step;
        let redone: HashSet<u32> = self.indices(|slot| matches!(slot, Slot::Pending)).collect();
        self.reopen_inside(redo, &redone);
        self.history.retain(|task| match task.path.places().first() {
            Some(place) => place.step != step || redo == Redo::Failed,
            None => task.step != step || !redone.contains(&task.index),
        });
        self.withdraw(|open| match open.path.places().first() {
            Some(place) => redo == Redo::All && redone.contains(&place.index),
            None => open.index.is_some_and(|index| redone.contains(&index)),
        });
        self.ended = None;
        self.reopened += 1;
        Ok(())
    }

    /// Makes parked tasks whose time has come run again: those due at `now`.
    pub(crate) fn wake(&mut self, now: Timestamp) {
        for slot in &mut self.slots {
            let due = match slot {
                Slot::Parked { until, .. } | Slot::Suspended(Some((until, _))) => *until <= now,
                _ => false,
            };
            if due {
                *slot = Slot::Pending;
            }
        }
    }
}

/// `tasks` without repeated dispatches of one node with nothing of its own to do.
fn distinct(tasks: Vec<Dispatch>) -> Vec<Dispatch> {
    if tasks.len() < 2 {
        return tasks;
    }
    let mut seen: Vec<Arc<str>> = Vec::new();
    let mut kept = Vec::with_capacity(tasks.len());
    for task in tasks {
        if task.input.is_none() {
            if seen.contains(&task.node) {
                continue;
            }
            seen.push(task.node.clone());
        }
        kept.push(task);
    }
    kept
}
