//! The store in memory: fast, and gone with the process.
//!
//! Runs are spread over shards by their id, each behind a short lock; nothing waits while it holds
//! one. Locks are taken in one order: subjects, a shard, letters.

mod events;
mod key_value;
mod runs;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;

use self::runs::Run;
use crate::{
    base::{Clock, Timestamp},
    rules,
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, Head, Lease, Letter, LetterFilter, LetterState,
        NewRun, Opened, Resumed, RunFilter, RunId, Store, StoreError, StoredRecord,
    },
};

const SHARDS: usize = 64;

/// A store in memory. Cheap to clone; clones share what they hold.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    subjects: Mutex<HashMap<String, Vec<RunId>>>,
    shards: [Mutex<HashMap<RunId, Run>>; SHARDS],
    letters: Mutex<BTreeMap<String, Letter>>,
    entries: key_value::Entries,
    events: Mutex<events::Events>,
}

impl Memory {
    /// An empty store that tells the time by `clock`.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner {
            clock,
            subjects: Mutex::default(),
            shards: std::array::from_fn(|_| Mutex::default()),
            letters: Mutex::default(),
            entries: key_value::Entries::default(),
            events: Mutex::default(),
        }))
    }
}

/// Locks; what a panic elsewhere left behind is still whole, each change being one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn shard(&self, run: &RunId) -> MutexGuard<'_, HashMap<RunId, Run>> {
        // Ids are spread evenly already: their last bytes will do.
        let tail = run.as_str().bytes().rev().take(2).fold(0, |n, b| n * 7 + usize::from(b));
        lock(&self.shards[tail % SHARDS])
    }

    fn with<T>(&self, run: &RunId, does: impl FnOnce(&mut Run) -> T) -> Option<T> {
        self.shard(run).get_mut(run).map(does)
    }

    /// Ids and heads' parts of every run that `picks` says something about.
    fn pick<T>(&self, mut picks: impl FnMut(&Head) -> Option<T>) -> Vec<(T, RunId)> {
        let mut picked = Vec::new();
        for shard in &self.shards {
            let runs = lock(shard);
            picked.extend(
                runs.values().filter_map(|run| Some((picks(&run.head)?, run.head.id.clone()))),
            );
        }
        picked
    }

    fn heads<T>(&self, picked: Vec<(T, RunId)>) -> Vec<Head> {
        picked.iter().filter_map(|(_, id)| self.with(id, |run| run.head.clone())).collect()
    }

    fn put_letter(&self, letter: &Letter) {
        let mut letters = lock(&self.letters);
        match letters.get_mut(&letter.id) {
            Some(known) => rules::again(known, letter),
            None => drop(letters.insert(letter.id.clone(), letter.clone())),
        }
    }

    /// Removes the run if, looked at under its lock, it is to go.
    fn forget(&self, run: &RunId, goes: impl FnOnce(&Head) -> bool) -> bool {
        let mut subjects = lock(&self.subjects);
        let mut shard = self.shard(run);
        if !shard.get(run).is_some_and(|found| goes(&found.head)) {
            return false;
        }
        let Some(gone) = shard.remove(run) else { return false };
        if let Some(subject) = gone.head.subject
            && let Some(runs) = subjects.get_mut(&subject)
        {
            runs.retain(|id| id != run);
            if runs.is_empty() {
                subjects.remove(&subject);
            }
        }
        true
    }
}

fn at_most<T>(mut items: Vec<T>, limit: usize) -> Vec<T> {
    if limit > 0 {
        items.truncate(limit);
    }
    items
}

#[async_trait]
impl Store for Memory {
    fn compresses(&self) -> bool {
        false
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        Ok(self.0.open(new))
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let now = self.0.clock.now();
        let claimed = self.0.with(&claim.run, |run| rules::claim(&mut run.head, &claim, now));
        Ok(claimed.unwrap_or(Claimed::Missing))
    }

    async fn renew(&self, lease: &Lease, ttl: std::time::Duration) -> Result<(), StoreError> {
        let now = self.0.clock.now();
        self.0
            .with(&lease.run, |run| rules::renew(&mut run.head, lease, ttl, now))
            .unwrap_or_else(|| Err(StoreError::Missing(lease.run.clone())))
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        self.0.append(append)
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        let now = self.0.clock.now();
        self.0
            .with(run, |found| found.resume(interrupt, value, record, now))
            .ok_or_else(|| StoreError::Missing(run.clone()))
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        let now = self.0.clock.now();
        Ok(self.0.with(run, |found| found.cancel(record, now)).unwrap_or(Cancelled::Missing))
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        Ok(self.0.with(run, |found| found.head.clone()))
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        Ok(self.0.with(run, |found| (found.head.clone(), found.after(after))))
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        let now = self.0.clock.now();
        let listed = |head: &Head| rules::listed(head, filter, now).then_some(head.created_at);
        let mut picked = self.0.pick(listed);
        picked.sort_unstable_by(|a, b| b.cmp(a));
        Ok(self.0.heads(at_most(picked, filter.limit)))
    }

    async fn due(
        &self,
        margin: std::time::Duration,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let now = self.0.clock.now();
        let mut picked = self.0.pick(|head| rules::due_since(head, now, margin));
        picked.sort_unstable();
        picked.truncate(limit);
        Ok(self.0.heads(picked))
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.0.forget(run, |_| true))
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        let now = self.0.clock.now();
        let mut spared = Some(Deleted::Missing);
        self.0.forget(run, |head| {
            spared = rules::spared(head, now);
            spared.is_none()
        });
        Ok(spared.unwrap_or(Deleted::Done))
    }

    async fn expire(&self, age: std::time::Duration, limit: usize) -> Result<u64, StoreError> {
        Ok(self.0.expire(age, limit))
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        self.0.put_letter(&letter);
        Ok(())
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        Ok(lock(&self.0.letters).get(id).cloned())
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        let letters = lock(&self.0.letters);
        let mut found: Vec<&Letter> = letters
            .values()
            .filter(|letter| filter.state.is_none_or(|state| letter.state == state))
            .filter(|letter| filter.confirmed.is_none_or(|is| letter.confirmed == is))
            .collect();
        found.sort_unstable_by(|a, b| (b.last_at, &b.id).cmp(&(a.last_at, &a.id)));
        let bare = |letter: &Letter| Letter { payload: Bytes::new(), ..letter.clone() };
        Ok(at_most(found, filter.limit).into_iter().map(bare).collect())
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        let mut letters = lock(&self.0.letters);
        Ok(letters.get_mut(id).map(|letter| letter.confirmed = true).is_some())
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        let mut letters = lock(&self.0.letters);
        Ok(letters.get_mut(id).map(|letter| {
            let settles = rules::settles(letter, state, last_at);
            if settles {
                letter.state = state;
            }
            (letter.state, settles)
        }))
    }
}
