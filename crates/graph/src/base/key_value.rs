//! The key-value store: small values under a key, shared by every worker of one store, each until
//! it expires. For memoised model answers, rate limits that several pods share
//! ([`RateLimiter`](super::RateLimiter)), deliveries already seen.
//!
//! A store implements [`read`](KeyValueStore::read), [`write`](KeyValueStore::write) and
//! [`sweep`](KeyValueStore::sweep); everything else follows from these. Each is one atomic step, and
//! time is the store's: whether a value has expired is never judged by the caller's clock.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Fault, Result, Timestamp};

/// The most bytes a value may have.
pub const MAX_VALUE_BYTES: usize = 512 << 10;

/// A value as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The value.
    pub value: Bytes,
    /// From then on it is as good as absent.
    pub expires: Timestamp,
    /// Differs from that of every value written before under the key.
    pub revision: u128,
}

/// What is under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What was written last, expired or not, unless it was swept.
    pub entry: Option<Entry>,
    /// The store's time when it was read.
    pub now: Timestamp,
}

impl Found {
    /// The entry, unless it has expired.
    pub fn live(self) -> Option<Entry> {
        let now = self.now;
        self.entry.filter(|entry| entry.expires > now)
    }
}

/// What must be under the key for a write to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Anything.
    Anything,
    /// Nothing that has not expired.
    Nothing,
    /// What was read: the entry of this revision, or nothing that has not expired.
    Revision(u128),
}

/// A conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Keeps the keys of one use apart from those of another.
    pub space: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Bytes,
    /// How long from now until it expires.
    pub ttl: Duration,
    /// The condition.
    pub expect: Expect,
}

/// Small values under (space, key), each until it expires.
#[async_trait]
pub trait KeyValueStore: Send + Sync + 'static {
    /// What is under the key, and the time.
    async fn read(&self, space: &str, key: &str) -> Result<Found>;

    /// Writes if what is there is what is expected. Answers whether it was written; of any number
    /// that expect the same, one is.
    async fn write(&self, write: Write) -> Result<bool>;

    /// Removes what has expired; answers how many.
    async fn sweep(&self) -> Result<u64>;

    /// The value, unless it is absent or has expired.
    async fn get(&self, space: &str, key: &str) -> Result<Option<Bytes>> {
        Ok(self.read(space, key).await?.live().map(|entry| entry.value))
    }

    /// Puts the value, over whatever is there.
    ///
    /// # Errors
    /// Permanent if the value is larger than [`MAX_VALUE_BYTES`].
    async fn put(&self, space: &str, key: &str, value: Bytes, ttl: Duration) -> Result<()> {
        let write = Write::new((space, key), value, ttl, Expect::Anything)?;
        self.write(write).await.map(drop)
    }

    /// Puts the value unless there is one. Answers `None` when it was put, and the one that is there
    /// otherwise: of any number of contenders exactly one gets `None`.
    ///
    /// # Errors
    /// Permanent if the value is larger than [`MAX_VALUE_BYTES`].
    async fn put_if_absent(
        &self,
        space: &str,
        key: &str,
        value: Bytes,
        ttl: Duration,
    ) -> Result<Option<Bytes>> {
        let write = Write::new((space, key), value, ttl, Expect::Nothing)?;
        for _ in 0..MAX_ROUNDS {
            if self.write(write.clone()).await? {
                return Ok(None);
            }
            if let Some(there) = self.get(space, key).await? {
                return Ok(Some(there));
            }
        }
        Err(contended(space))
    }
}

/// How often a change is decided anew because somebody else's came first.
pub(super) const MAX_ROUNDS: usize = 100;

/// The error of a value that changed each time somebody was about to change it.
pub(super) fn contended(space: &str) -> Fault {
    Fault::outage(format!("a value of the space `{space}` changed {MAX_ROUNDS} times in a row"))
}

impl Write {
    /// The write of a value that is not too large.
    ///
    /// # Errors
    /// Permanent if it is.
    pub fn new(
        (space, key): (&str, &str),
        value: Bytes,
        ttl: Duration,
        expect: Expect,
    ) -> Result<Self> {
        let size = value.len();
        if size > MAX_VALUE_BYTES {
            return Err(Fault::permanent(format!(
                "a value of {size} bytes is too large for the space `{space}`: at most \
                 {MAX_VALUE_BYTES}"
            )));
        }
        Ok(Self { space: space.to_owned(), key: key.to_owned(), value, ttl, expect })
    }
}
