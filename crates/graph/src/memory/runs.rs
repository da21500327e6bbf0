//! Runs in memory, and the steps that touch more than one of them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use bytes::Bytes;

use super::{Inner, RunId, lock};
use crate::{
    base::Timestamp,
    rules::{self, LastBatch},
    store::{
        Append, Cancelled, Head, Lease, LetterState, NewRun, Opened, Resumed, RunStatus,
        StoreError, StoredRecord,
    },
};

#[derive(Debug)]
pub(super) struct Run {
    pub head: Head,
    records: Vec<StoredRecord>,
    asks: HashMap<String, Option<Bytes>>,
    last: LastBatch,
}

impl Run {
    pub(super) fn after(&self, after: u64) -> Vec<StoredRecord> {
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        self.records.get(skip..).unwrap_or_default().to_vec()
    }

    pub(super) fn resume(
        &mut self,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
        now: Timestamp,
    ) -> Resumed {
        let ask = self.asks.get(interrupt).cloned();
        if let Some(refused) = rules::refuse_answer(&self.head, ask) {
            return refused;
        }
        self.asks.insert(interrupt.to_owned(), Some(value));
        self.records.push(record);
        Resumed::Accepted(rules::resume(&mut self.head, now))
    }

    pub(super) fn cancel(&mut self, record: StoredRecord, now: Timestamp) -> Cancelled {
        if self.head.status.is_final() {
            return Cancelled::Final(self.head.status);
        }
        self.stop(RunStatus::Cancelled, record, now);
        Cancelled::Done
    }

    fn stop(&mut self, status: RunStatus, record: StoredRecord, now: Timestamp) {
        rules::stop(&mut self.head, status, now);
        self.records.push(record);
    }
}

impl Inner {
    pub(super) fn append(&self, append: Append) -> Result<u64, StoreError> {
        let now = self.clock.now();
        let mut shard = self.shard(&append.lease.run);
        let Some(run) = shard.get_mut(&append.lease.run) else {
            return Err(StoreError::Missing(append.lease.run));
        };
        if let Some(answer) = rules::settled(&run.head, run.last, &append) {
            return answer;
        }
        let version = rules::append(&mut run.head, &append, now);
        run.last = Some((append.batch, version));
        run.records.extend(append.records);
        run.asks.extend(append.asks.into_iter().map(|id| (id, None)));
        if let Some(letter) = &append.letter {
            self.put_letter(letter);
        }
        Ok(version)
    }

    pub(super) fn open(&self, new: NewRun) -> Opened {
        let now = self.clock.now();
        match new.subject.clone() {
            None => {
                let (head, lease, created) = self.find_or_create(new, false, now);
                Opened { head, created, lease, superseded: Vec::new() }
            }
            Some(subject) => self.open_on(&subject, new, now),
        }
    }

    /// Opens a run with a subject. The subjects stay locked meanwhile: of two openings on one
    /// subject, one sees all that the other did.
    fn open_on(&self, subject: &str, new: NewRun, now: Timestamp) -> Opened {
        let (id, order, record) = (new.id.clone(), new.order, new.superseded.clone());
        let mut subjects = lock(&self.subjects);
        let mut others = subjects.get(subject).cloned().unwrap_or_default();
        others.retain(|other| *other != id);
        let outranks = |other| self.with(other, |run| rules::outranks(&run.head, order));
        let late = others.iter().filter_map(outranks).any(|is| is);
        let (head, lease, created) = self.find_or_create(new, late, now);
        if created {
            subjects.entry(subject.to_owned()).or_default().push(id);
        }
        let stop = |other: &RunId| {
            self.with(other, |run| {
                let hit = rules::is_superseded_by(&run.head, head.order);
                if hit {
                    run.stop(RunStatus::Superseded, record.clone(), now);
                }
                hit
            })
        };
        let superseded = others.into_iter().filter(|other| stop(other) == Some(true)).collect();
        Opened { head, created, lease, superseded }
    }

    fn find_or_create(
        &self,
        new: NewRun,
        late: bool,
        now: Timestamp,
    ) -> (Head, Option<Lease>, bool) {
        let mut shard = self.shard(&new.id);
        if let Some(run) = shard.get_mut(&new.id) {
            rules::found(&mut run.head, new.order, now);
            return (run.head.clone(), None, false);
        }
        let (head, lease) = rules::born(&new, late, now);
        let run = Run {
            head: head.clone(),
            records: new.records,
            asks: new.asks.into_iter().collect(),
            last: None,
        };
        shard.insert(new.id, run);
        (head, lease, true)
    }

    pub(super) fn expire(&self, age: Duration, limit: usize) -> u64 {
        let now = self.clock.now();
        let mut mourned = HashSet::new();
        let mut old = Vec::new();
        for letter in lock(&self.letters).values() {
            if letter.state == LetterState::Open {
                mourned.extend(letter.run.clone());
            } else if rules::letter_outlived(letter, now, age) {
                old.push((letter.last_at, letter.id.clone()));
            }
        }
        old.sort_unstable();
        for (_, id) in old.into_iter().take(limit) {
            lock(&self.letters).remove(&id);
        }
        let mut picked = self.pick(|head| {
            (rules::outlived(head, now, age) && !mourned.contains(&head.id))
                .then_some(head.updated_at)
        });
        picked.sort_unstable();
        picked.truncate(limit);
        let still = |head: &Head| rules::outlived(head, now, age);
        picked.iter().filter(|(_, id)| self.forget(id, still)).count() as u64
    }
}
