//! Who may execute now: so many runs of one group (a repository) at a time, and never all of a
//! process's capacity for runs of groups, so that what is answered at once (a command in a comment)
//! does not wait behind large reviews. Runs that may not wait in line; they are in the store, queued
//! and due, so the line may be lost with the process.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::graph::{Head, RunId};

/// Runs that wait in line; beyond them no more work is taken.
const MAX_IN_LINE: usize = 1000;

/// How many runs of groups may be executed at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLimits {
    /// In all.
    pub total: usize,
    /// Of one group.
    pub per_group: usize,
}

/// The slots of one process. Cheap to clone. The default has no limits.
#[derive(Debug, Clone, Default)]
pub struct Slots(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    limits: Option<SlotLimits>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    total: usize,
    running: HashMap<String, usize>,
    line: VecDeque<(String, RunId)>,
}

/// The right to execute one run, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot(Option<(Arc<Shared>, String)>);

/// The group of a subject: `host/owner/repo` of `host/owner/repo#7`. Others belong to none.
pub(super) fn group_of(subject: Option<&str>) -> Option<&str> {
    subject?.rsplit_once('#').map(|(group, _)| group)
}

impl Slots {
    /// With these limits.
    pub fn new(limits: SlotLimits) -> Self {
        Self(Arc::new(Shared { limits: Some(limits), ..Shared::default() }))
    }

    /// The right to execute a run about this subject; `None`: it has to wait in line.
    pub(super) fn take(&self, subject: Option<&str>) -> Option<Slot> {
        let (Some(limits), Some(group)) = (self.0.limits, group_of(subject)) else {
            return Some(Slot(None));
        };
        let mut state = self.0.state();
        state.has_room(limits, group).then(|| {
            state.total += 1;
            *state.running.entry(group.to_owned()).or_default() += 1;
            Slot(Some((self.0.clone(), group.to_owned())))
        })
    }

    /// Puts a run in line, once.
    pub(super) fn line_up(&self, head: &Head) {
        let mut state = self.0.state();
        if !state.line.iter().any(|(_, run)| *run == head.id) {
            let group = group_of(head.subject.as_deref()).unwrap_or_default().to_owned();
            state.line.push_back((group, head.id.clone()));
        }
    }

    /// The next run in line that may be executed now. It leaves the line.
    pub fn next(&self) -> Option<RunId> {
        let limits = self.0.limits?;
        let mut state = self.0.state();
        let place = state.line.iter().position(|(group, _)| state.has_room(limits, group))?;
        state.line.remove(place).map(|(_, run)| run)
    }

    /// Whether the run waits in line here.
    pub fn is_in_line(&self, run: &RunId) -> bool {
        self.0.state().line.iter().any(|(_, one)| one == run)
    }

    /// How many wait in line.
    pub fn in_line(&self) -> usize {
        self.0.state().line.len()
    }

    /// Whether no more may wait in line.
    pub fn is_full(&self) -> bool {
        self.in_line() >= MAX_IN_LINE
    }

    /// Waits until a slot was given back.
    pub async fn freed(&self) {
        self.0.freed.notified().await;
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self, limits: SlotLimits, group: &str) -> bool {
        let of_group = self.running.get(group).copied().unwrap_or_default();
        self.total < limits.total.max(1) && of_group < limits.per_group.max(1)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some((shared, group)) = self.0.take() else { return };
        let mut state = shared.state();
        state.total -= 1;
        if let Some(running) = state.running.get_mut(&group) {
            *running -= 1;
            if *running == 0 {
                state.running.remove(&group);
            }
        }
        drop(state);
        shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W7: one repository leaves room for others, all of them together for what is answered at once.
    #[test]
    fn no_group_takes_it_all() {
        let slots = Slots::new(SlotLimits { total: 3, per_group: 2 });
        let take = |subject: &str| slots.take(Some(subject));
        let first = (take("h/o/a#1").unwrap(), take("h/o/a#2").unwrap());
        assert!(take("h/o/a#3").is_none(), "two of one repository");
        let other = take("h/o/b#1").unwrap();
        assert!(take("h/o/c#1").is_none(), "three in all");
        assert!(slots.take(None).is_some() && take("no group").is_some());
        drop(other);
        assert!(take("h/o/a#3").is_none());
        assert!(take("h/o/c#1").is_some());
        drop(first);
        assert!(take("h/o/a#3").is_some());
    }
}
