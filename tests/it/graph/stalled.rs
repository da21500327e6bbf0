//! A store behind a line that can be cut: what passes while it is whole is the real thing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use verdict::{
    base::Timestamp,
    graph::store::{
        Append, Cancelled, Claim, Claimed, Deleted, EventStore, EventWait, ExternalEvent, Head,
        Lease, Letter, LetterFilter, LetterState, NewRun, Opened, Resumed, RunFilter, RunId, Store,
        StoreError, StoredRecord,
    },
};

pub struct Stalled {
    pub store: Arc<dyn Store>,
    pub stalled: Arc<AtomicBool>,
}

impl Stalled {
    fn line(&self) -> Result<&dyn Store, StoreError> {
        if self.stalled.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("stalled".to_owned()));
        }
        Ok(&*self.store)
    }
}

#[async_trait]
impl EventStore for Stalled {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        self.line()?.put_event(event, ttl).await
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        self.line()?.find_event(key, except).await
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        self.line()?.note_event_wait(wait, ttl).await
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        self.line()?.event_waits(key).await
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        self.line()?.drop_event_wait(wait).await
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        self.line()?.sweep_events().await
    }
}

#[async_trait]
impl Store for Stalled {
    fn compresses(&self) -> bool {
        self.store.compresses()
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        self.line()?.open(new).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        self.line()?.claim(claim).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.line()?.renew(lease, ttl).await
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        self.line()?.append(append).await
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        self.line()?.resume(run, interrupt, value, record).await
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        self.line()?.cancel(run, record).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        self.line()?.head(run).await
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        self.line()?.load(run, after).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        self.line()?.list(filter).await
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.line()?.due(margin, limit).await
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        self.line()?.delete(run).await
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        self.line()?.delete_ended(run).await
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        self.line()?.expire(age, limit).await
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        self.line()?.put_letter(letter).await
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        self.line()?.letter(id).await
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        self.line()?.letters(filter).await
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.line()?.confirm_letter(id).await
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        self.line()?.settle_letter(id, state, last_at).await
    }
}
