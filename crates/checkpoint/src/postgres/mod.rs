//! The store in a PostgreSQL database, shared by any number of machines.
//!
//! - What is done often (opening, appending, renewing) is grouped: what arrives together is one
//!   statement, in which each run's fence and conflict is its own. It writes first, and looks only at
//!   what was refused.
//! - What is done seldom reads, decides by the common rules, and writes on the condition that the run
//!   is as it was read.
//! - What reaches beyond one run (opening beside others of the subject) does so
//!   under an advisory lock that ends with its transaction.
//! - Every time is the server's, taken inside the statement that uses it.
//! - An answer that was lost is healed: an append by its batch, an opening and a claim by a random
//!   number left in the row.

mod append;
mod claim;
mod codec;
mod events;
mod key_value;
mod letters;
mod open;
mod read;
mod remove;
mod renew;
mod resume;
mod rows;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use self::codec::millis;
use crate::{
    codec::refused,
    db::{Postgres, postgres::Lanes},
};
use verdict_graph::{
    base::Timestamp,
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, Head, Lease, Letter, LetterFilter, LetterState,
        NewRun, Opened, Resumed, RunFilter, RunId, Store, StoreError, StoredRecord,
    },
};

/// At most one group of a kind under way for so many connections.
const CONNECTIONS: u32 = 4;

/// A store in a PostgreSQL database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    db: Postgres,
    opens: Lanes<open::Opens>,
    appends: Lanes<append::Appends>,
    renewals: Lanes<renew::Renewals>,
}

impl PostgresStore {
    /// The store in an open database. Must be called inside a Tokio runtime.
    pub fn new(db: Postgres) -> Self {
        let side_by_side = db.options().max_connections.div_ceil(CONNECTIONS) as usize;
        Self {
            opens: Lanes::new(&db, side_by_side),
            appends: Lanes::new(&db, side_by_side),
            renewals: Lanes::new(&db, 1),
            db,
        }
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn compresses(&self) -> bool {
        true
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        self.opens.send(open::Opening::new(new)).await.map_err(refused)
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        claim::claim(&self.db, &claim).await.map_err(refused)
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.renewals.send((lease.clone(), millis(ttl))).await.map_err(refused)?
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        self.appends.send(append).await.map_err(refused)?
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        let resumed = resume::resume(&self.db, run, interrupt, &value, &record).await;
        resumed.map_err(refused)?.ok_or_else(|| StoreError::Missing(run.clone()))
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        resume::cancel(&self.db, run, &record).await.map_err(refused)
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        read::head(&self.db, run).await.map_err(refused)
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        read::load(&self.db, run, after).await.map_err(refused)
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        read::list(&self.db, filter).await.map_err(refused)
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        read::due(&self.db, margin, limit).await.map_err(refused)
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        remove::delete(&self.db, run).await.map_err(refused)
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        remove::delete_ended(&self.db, run).await.map_err(refused)
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        remove::expire(&self.db, age, limit).await.map_err(refused)
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        letters::put(&self.db, &letter).await.map_err(refused)
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        letters::get(&self.db, id).await.map_err(refused)
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        letters::list(&self.db, filter).await.map_err(refused)
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        letters::confirm(&self.db, id).await.map_err(refused)
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        letters::settle(&self.db, id, (state, last_at)).await.map_err(refused)
    }
}
