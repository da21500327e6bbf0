//! The port of the keyed side: small values under a key, shared by every worker of one store.
//! Memoised model answers, budgets that several pods spend together, deliveries already seen.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::Result;

/// A bucket several workers spend from: it holds at most `capacity` units and regains
/// `per_second` of them each second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The most it can hold, in units. Also what it starts with.
    pub capacity: f64,
    /// Units regained each second.
    pub per_second: f64,
}

/// Whether a [`Budget`] had enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spent {
    /// Taken.
    Granted,
    /// Nothing was taken; that much will be there after this wait.
    Wait(Duration),
}

/// Small values under (space, key), each with an end of life. Values are at most 1 MiB.
#[async_trait]
pub trait Keyed: Send + Sync + 'static {
    /// The value, unless it is absent or its life has ended.
    async fn get(&self, space: &str, key: &str) -> Result<Option<Bytes>>;

    /// Puts the value, over whatever was there.
    async fn put(&self, space: &str, key: &str, value: Bytes, life: Duration) -> Result<()>;

    /// Puts the value unless a living one is there already; answers `None` when it was put and
    /// the one that was there otherwise. Of any number of contenders exactly one gets `None`.
    async fn claim(
        &self,
        space: &str,
        key: &str,
        value: Bytes,
        life: Duration,
    ) -> Result<Option<Bytes>>;

    /// Takes `amount` from the bucket under `key`, all or nothing.
    ///
    /// # Errors
    /// Permanent when `amount` exceeds the bucket's capacity: it could never be granted.
    async fn spend(&self, space: &str, key: &str, amount: f64, budget: Budget) -> Result<Spent>;

    /// Drops what has outlived its life; answers how many.
    async fn sweep(&self) -> Result<u64>;
}
