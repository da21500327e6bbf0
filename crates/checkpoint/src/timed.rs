//! How long a store takes: a layer before any of them that measures each operation.
//!
//! It changes no answer. What it records are the metrics `verdict_store_duration_seconds` and
//! `verdict_store_errors_total`, by operation; refusals (fenced, a conflict) are answers, not errors.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use tokio::time::Instant;

use verdict_graph::{
    base::{
        self, Timestamp,
        key_value::{Found, KeyValueStore, Write},
    },
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, EventStore, EventWait, ExternalEvent, Head,
        Lease, Letter, LetterFilter, LetterState, NewRun, Opened, Resumed, RunFilter, RunId, Store,
        StoreError, StoredRecord,
    },
};

const DURATION: &str = "verdict_store_duration_seconds";
const ERRORS: &str = "verdict_store_errors_total";

/// A store, or a key-value store, whose operations are measured.
pub struct Timed<S: ?Sized>(Arc<S>);

impl<S: ?Sized> fmt::Debug for Timed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timed").finish_non_exhaustive()
    }
}

impl<S: ?Sized> Timed<S> {
    /// That store, measured.
    pub fn new(store: Arc<S>) -> Self {
        Self(store)
    }
}

/// Describes what is recorded. Call it once the recorder is installed.
pub fn describe_metrics() {
    describe_histogram!(DURATION, Unit::Seconds, "What an operation of the store took");
    describe_counter!(ERRORS, "Operations of the store that failed");
    for operation in ["open", "claim", "append", "load", "value_read", "value_write"] {
        counter!(ERRORS, "operation" => operation).increment(0);
    }
}

/// Measures an operation. Only `failed` answers count as errors.
async fn timed<T, E>(
    operation: &'static str,
    answer: impl Future<Output = Result<T, E>>,
    failed: impl FnOnce(&E) -> bool,
) -> Result<T, E> {
    let began = Instant::now();
    let answer = answer.await;
    histogram!(DURATION, "operation" => operation).record(began.elapsed());
    if answer.as_ref().is_err_and(failed) {
        counter!(ERRORS, "operation" => operation).increment(1);
    }
    answer
}

async fn run<T>(
    operation: &'static str,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    use StoreError::{Broken, Sealed, Unavailable};
    timed(operation, answer, |error| matches!(error, Unavailable(_) | Broken(_) | Sealed(_))).await
}

#[async_trait]
impl Store for Timed<dyn Store> {
    fn compresses(&self) -> bool {
        self.0.compresses()
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        run("open", self.0.open(new)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        run("claim", self.0.claim(claim)).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        run("renew", self.0.renew(lease, ttl)).await
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        run("append", self.0.append(append)).await
    }

    async fn resume(
        &self,
        id: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        run("resume", self.0.resume(id, interrupt, value, record)).await
    }

    async fn cancel(&self, id: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        run("cancel", self.0.cancel(id, record)).await
    }

    async fn head(&self, id: &RunId) -> Result<Option<Head>, StoreError> {
        run("head", self.0.head(id)).await
    }

    async fn load(
        &self,
        id: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        run("load", self.0.load(id, after)).await
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        run("list", self.0.list(filter)).await
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        run("due", self.0.due(margin, limit)).await
    }

    async fn delete(&self, id: &RunId) -> Result<bool, StoreError> {
        run("delete", self.0.delete(id)).await
    }

    async fn delete_ended(&self, id: &RunId) -> Result<Deleted, StoreError> {
        run("delete", self.0.delete_ended(id)).await
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        run("expire", self.0.expire(age, limit)).await
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        run("put_letter", self.0.put_letter(letter)).await
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        run("letter", self.0.letter(id)).await
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        run("letters", self.0.letters(filter)).await
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        run("confirm_letter", self.0.confirm_letter(id)).await
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        run("settle_letter", self.0.settle_letter(id, state, last_at)).await
    }
}

#[async_trait]
impl EventStore for Timed<dyn Store> {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        run("put_event", self.0.put_event(event, ttl)).await
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        run("find_event", self.0.find_event(key, except)).await
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        run("note_event_wait", self.0.note_event_wait(wait, ttl)).await
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        run("event_waits", self.0.event_waits(key)).await
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        run("drop_event_wait", self.0.drop_event_wait(wait)).await
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        run("sweep_events", self.0.sweep_events()).await
    }
}

#[async_trait]
impl KeyValueStore for Timed<dyn KeyValueStore> {
    async fn read(&self, space: &str, key: &str) -> base::Result<Found> {
        timed("value_read", self.0.read(space, key), |_| true).await
    }

    async fn write(&self, write: Write) -> base::Result<bool> {
        timed("value_write", self.0.write(write), |_| true).await
    }

    async fn sweep(&self) -> base::Result<u64> {
        timed("value_sweep", self.0.sweep(), |_| true).await
    }
}
