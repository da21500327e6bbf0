//! The store in a SQLite file, shared by any number of processes on one machine.
//!
//! Each kind of operation is a lane of the file's writer: what arrives together is one transaction
//! and, kind by kind, a few multi-row statements. What is done often (opening, appending,
//! renewing) writes first and looks only at what was refused; what is done seldom reads, decides
//! by the common rules, and writes. Reads go through connections of their own.

mod append;
mod claim;
mod codec;
mod events;
mod key_value;
mod letters;
mod open;
mod read;
mod remove;
mod resume;
mod rows;

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{
    codec::refused,
    db::{DbError, Lane, Sqlite, SqliteOptions},
};
use verdict_graph::{
    base::Timestamp,
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, Head, Lease, Letter, LetterFilter, LetterState,
        NewRun, Opened, Resumed, RunFilter, RunId, Store, StoreError, StoredRecord,
    },
};

/// A store in a SQLite file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    db: Sqlite,
}

impl SqliteStore {
    /// The store in an open file.
    pub fn new(db: Sqlite) -> Self {
        Self { db }
    }

    /// The store in this file, made if it is not there, with the usual settings.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, DbError> {
        Ok(Self::new(Sqlite::open(path.as_ref(), SqliteOptions::default()).await?))
    }

    async fn write<L: Lane>(&self, op: L::Op) -> Result<L::Answer, StoreError> {
        self.db.write::<L>(op).await.map_err(refused)
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn compresses(&self) -> bool {
        true
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        rows::check_count(new.records.len() as u64)?;
        self.write::<open::Opens>(new).await
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        self.write::<claim::Claims>(claim).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.write::<claim::Renewals>((lease.clone(), ttl)).await?
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        rows::check_count(append.expected.saturating_add(append.records.len() as u64))?;
        self.write::<append::Appends>(append).await?
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        let answer =
            resume::Answer { run: run.clone(), interrupt: interrupt.to_owned(), value, record };
        self.write::<resume::Answers>(answer).await?
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        self.write::<resume::Cancels>((run.clone(), record)).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        read::head(&self.db, run).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        read::load(&self.db, run, after).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        read::list(&self.db, filter).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        read::due(&self.db, margin, limit).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        self.write::<remove::Deletions>(run.clone()).await
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        self.write::<remove::SparingDeletions>(run.clone()).await
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        self.write::<remove::Expiries>((age, limit)).await
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        self.write::<letters::Puts>(letter).await
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        letters::get(&self.db, id).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        letters::list(&self.db, filter).await.map_err(|e| refused(self.db.failed(e)))
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.write::<letters::Confirmations>(id.to_owned()).await
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        self.write::<letters::Settlements>((id.to_owned(), state, last_at)).await
    }
}
