//! Encryption of what runs hold: a layer before any store.
//!
//! What it promises: with a key set, everything that comes out of a run's input and its nodes (the
//! records, the answers to interrupts, the texts of errors, what is asked of people) and out of a dead letter's message (its
//! body, its error), the payload of every event from outside, and every value of the key-value store, is stored
//! sealed by AES-256-GCM, and reads back as it was. What was stored before
//! a key was set, or under a key that is still listed, reads on. A value moved to another place
//! does not open. A key that is missing is an error that names it and the run, never a panic, and
//! no failure of the run.
//!
//! What it never does: seal what a store finds and decides by (ids, keys, subjects, statuses, times,
//! owners, counts, the names of interrupts, what kind of thing a run waits for, the spaces and keys of
//! values, the keys and ids of events, a letter's reason, node and headers); hide sizes and
//! times; notice that a run's last records were taken away, or that a whole run was put back to an
//! earlier state, or that a record was replaced by one that was never sealed.
//!
//! Layout: [`KeyRing`] in `keys`, one sealed value in `frame`, the algorithm in `aes`, here, in `events`
//! and in `key_value` the ports.

#[cfg(feature = "encryption")]
mod aes;
#[cfg(not(feature = "encryption"))]
#[path = "no_aes.rs"]
mod aes;
mod events;
mod frame;
mod key_value;
mod keys;
mod records;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use self::frame::What;
pub use self::{key_value::SealedKeyValues, keys::KeyRing};
use verdict_graph::{
    base::Timestamp,
    store::{
        Append, Cancelled, Claim, Claimed, Deleted, Head, Lease, Letter, LetterFilter, LetterState,
        NewRun, Opened, Resumed, RunFilter, RunId, Store, StoreError, StoredRecord,
    },
};

/// A store whose contents are sealed. Without keys it seals nothing, and says so where it finds
/// something sealed.
pub struct Sealed {
    store: Arc<dyn Store>,
    keys: Arc<KeyRing>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl Sealed {
    /// That store, with these keys before it.
    pub fn new(store: Arc<dyn Store>, keys: impl Into<Arc<KeyRing>>) -> Self {
        Self { store, keys: keys.into() }
    }

    fn opened(&self, mut heads: Vec<Head>) -> Vec<Head> {
        heads.iter_mut().for_each(|head| self.keys.open_head(head));
        heads
    }
}

#[async_trait]
impl Store for Sealed {
    fn compresses(&self) -> bool {
        self.store.compresses()
    }

    async fn open(&self, new: NewRun) -> Result<Opened, StoreError> {
        let mut opened = self.store.open(self.keys.seal_new(new)?).await?;
        self.keys.open_head(&mut opened.head);
        Ok(opened)
    }

    async fn claim(&self, claim: Claim) -> Result<Claimed, StoreError> {
        let mut claimed = self.store.claim(claim).await?;
        if let Claimed::Yours(_, head) = &mut claimed {
            self.keys.open_head(head);
        }
        Ok(claimed)
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.store.renew(lease, ttl).await
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        self.store.append(self.keys.seal_append(append)?).await
    }

    async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        value: Bytes,
        record: StoredRecord,
    ) -> Result<Resumed, StoreError> {
        let what = What::Answer { run, interrupt };
        let value = self.keys.seal(value, &what)?;
        let record = self.keys.seal_record(run, None, record)?;
        match self.store.resume(run, interrupt, value, record).await? {
            Resumed::Already(first) => Ok(Resumed::Already(self.keys.open(first, &what)?)),
            other => Ok(other),
        }
    }

    async fn cancel(&self, run: &RunId, record: StoredRecord) -> Result<Cancelled, StoreError> {
        self.store.cancel(run, self.keys.seal_record(run, None, record)?).await
    }

    async fn head(&self, run: &RunId) -> Result<Option<Head>, StoreError> {
        let mut head = self.store.head(run).await?;
        head.iter_mut().for_each(|head| self.keys.open_head(head));
        Ok(head)
    }

    async fn load(
        &self,
        run: &RunId,
        after: u64,
    ) -> Result<Option<(Head, Vec<StoredRecord>)>, StoreError> {
        let Some((mut head, records)) = self.store.load(run, after).await? else { return Ok(None) };
        self.keys.open_head(&mut head);
        let records = (after + 1..).zip(records);
        let records = records.map(|(seq, record)| self.keys.open_record(run, seq, record));
        Ok(Some((head, records.collect::<Result<_, _>>()?)))
    }

    async fn list(&self, filter: &RunFilter) -> Result<Vec<Head>, StoreError> {
        Ok(self.opened(self.store.list(filter).await?))
    }

    async fn due(&self, margin: Duration, limit: usize) -> Result<Vec<Head>, StoreError> {
        Ok(self.opened(self.store.due(margin, limit).await?))
    }

    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        self.store.delete(run).await
    }

    async fn delete_ended(&self, run: &RunId) -> Result<Deleted, StoreError> {
        self.store.delete_ended(run).await
    }

    async fn expire(&self, age: Duration, limit: usize) -> Result<u64, StoreError> {
        self.store.expire(age, limit).await
    }

    async fn put_letter(&self, letter: Letter) -> Result<(), StoreError> {
        self.store.put_letter(self.keys.seal_letter(letter)?).await
    }

    async fn letter(&self, id: &str) -> Result<Option<Letter>, StoreError> {
        let letter = self.store.letter(id).await?;
        letter.map(|letter| self.keys.open_letter(letter)).transpose()
    }

    async fn letters(&self, filter: &LetterFilter) -> Result<Vec<Letter>, StoreError> {
        let letters = self.store.letters(filter).await?;
        letters.into_iter().map(|letter| self.keys.open_letter(letter)).collect()
    }

    async fn confirm_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.store.confirm_letter(id).await
    }

    async fn settle_letter(
        &self,
        id: &str,
        state: LetterState,
        last_at: Option<Timestamp>,
    ) -> Result<Option<(LetterState, bool)>, StoreError> {
        self.store.settle_letter(id, state, last_at).await
    }
}
