//! The store on Google Firestore: any number of workers, on any number of machines.
//!
//! A run is one small document, its head, and below it documents with its records, one for each
//! append. Every change of a run is one commit of its head and what comes with it, which holds
//! only if the head has not been written since it was read; whoever loses reads again and decides
//! anew by the common rules. There are no transactions. A run that is held here is remembered as
//! it was last written, so that appending and renewing read nothing.
//!
//! The time is the server's, see [`time`]. Nothing is shared by all runs: documents are named by
//! hashes, nothing counts. Values too large for a document are cut into parts, see [`body`].

mod append;
mod body;
mod claim;
mod client;
mod error;
mod events;
mod fields;
mod key_value;
mod leftovers;
mod letters;
mod link;
mod open;
mod paths;
mod queries;
mod query;
mod read;
mod remove;
mod resume;
mod row;
mod time;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use firestore::gcloud_sdk::google::firestore::v1::Write;
use tokio::time::Instant;

pub use self::client::Usage;
use self::{
    client::{Client, Guard},
    error::Failure,
    row::Row,
};
use verdict_graph::{
    base::{Clock, Fault, Timestamp},
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, Head, Lease, Letter, LetterFilter, LetterState,
        NewRun, Opened, Resumed, RunFilter, RunId, Store, StoreError, StoredRecord,
    },
};

/// How a database is reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Google Cloud project.
    pub project: String,
    /// The database, usually `(default)`.
    pub database: String,
    /// An emulator's HOST:PORT, asked without credentials. `None`: the service, or the emulator that
    /// the variable FIRESTORE_EMULATOR_HOST names.
    pub emulator: Option<String>,
    /// Whom that emulator takes this process for, as a token of its own kind: its security rules
    /// then apply. `None`: its owner, who may do anything. For tests.
    pub emulator_token: Option<String>,
    /// How long any one request may take. An operation goes on trying for twice as long.
    pub timeout: Duration,
    /// Tells the time instead of the server, for tests. All users of a database need the same one.
    pub clock: Option<Clock>,
}

impl Options {
    /// The database of that project, with ten seconds for a request.
    pub fn new(project: impl Into<String>, database: impl Into<String>) -> Self {
        Self {
            project: project.into(),
            database: database.into(),
            emulator: None,
            emulator_token: None,
            timeout: Duration::from_secs(10),
            clock: None,
        }
    }
}

/// A store on Firestore. Cheap to clone.
#[derive(Clone)]
pub struct FirestoreStore {
    client: Arc<Client>,
    held: Arc<Mutex<HashMap<RunId, Row>>>,
    /// When this process looked last for what is left over.
    tidied: Arc<Mutex<Option<Instant>>>,
}

impl fmt::Debug for FirestoreStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirestoreStore").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl FirestoreStore {
    /// Connects. Credentials are found the way all of Google's clients find them.
    ///
    /// # Errors
    /// When there is no connection within the time of a request, or no credentials are found.
    pub async fn connect(options: Options) -> Result<Self, Fault> {
        let client = Arc::new(Client::connect(options).await?);
        Ok(Self { client, held: Arc::default(), tidied: Arc::default() })
    }

    /// What this store's requests came to since it was connected.
    pub fn usage(&self) -> Usage {
        self.client.usage()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<RunId, Row>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a run while it is held.
    fn remember(&self, row: Row) {
        /// Leases that were lost leave their runs behind.
        const MOST: usize = 10_000;
        let mut held = self.held();
        if row.head.lease.is_none() {
            held.remove(&row.head.id);
            return;
        }
        if held.len() >= MOST {
            held.clear();
        }
        held.insert(row.head.id.clone(), row);
    }

    /// Removes what is left over, at times: whoever sweeps runs comes by here.
    async fn tidy(&self) {
        const EVERY: Duration = Duration::from_secs(3600);
        {
            let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
            if tidied.is_some_and(|last| last.elapsed() < EVERY) {
                return;
            }
            *tidied = Some(Instant::now());
        }
        if let Err(why) = leftovers::sweep(&self.client).await {
            tracing::debug!(error = %why, "looking for what is left over in Firestore failed");
        }
    }

    fn forget(&self, run: &RunId) {
        self.held().remove(run);
    }

    async fn row(&self, run: &RunId) -> Result<Option<Row>, Failure> {
        self.client.one(&paths::run(run)).await?.as_ref().map(Row::read).transpose()
    }

    /// The write of a head that holds only if nobody has written it since.
    fn head_write(&self, row: &Row) -> Write {
        let guard = row.updated.map_or(Guard::New, Guard::Since);
        self.client.set(&paths::run(&row.head.id), row.fields(), guard)
    }

    /// Commits a changed head with what comes with it.
    async fn save(&self, row: &mut Row, with: Vec<Write>) -> Result<(), Failure> {
        let writes = [self.head_write(row)].into_iter().chain(with).collect();
        let written = self.client.commit(writes).await?;
        row.updated = written.into_iter().next().flatten();
        Ok(())
    }
}

#[async_trait]
impl Store for FirestoreStore {
    fn compresses(&self) -> bool {
        true
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        Box::pin(self.open_run(new)).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        self.claim_run(claim).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.renew_lease(lease, ttl).await
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        Box::pin(self.append_batch(append)).await
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        Box::pin(self.answer(run, interrupt, value, record)).await
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        Box::pin(self.cancel_run(run, record)).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        let row = self.client.with_retry(|| self.row(run)).await?;
        Ok(row.map(|row| row.head))
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        Ok(self.client.with_retry(|| self.read_run(run, after)).await?)
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        Ok(self.client.with_retry(|| self.list_runs(filter)).await?)
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.tidy().await;
        Ok(self.client.with_retry(|| self.due_runs(margin, limit)).await?)
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        Ok(self.delete_run(run, |_| true).await?)
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        Ok(self.delete_ended_run(run).await?)
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        Ok(Box::pin(self.expire_runs(age, limit)).await?)
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        Ok(Box::pin(self.record_letter(letter)).await?)
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        Ok(self.client.with_retry(|| self.read_letter(id)).await?)
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        Ok(self.client.with_retry(|| self.list_letters(filter)).await?)
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.confirm(id).await?)
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        Ok(self.settle(id, state, last_at).await?)
    }
}
