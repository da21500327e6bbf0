//! The key-value store in memory.

use std::{collections::HashMap, sync::Mutex};

use async_trait::async_trait;

use super::{Memory, lock};
use crate::base::{
    Result,
    key_value::{Entry, Expect, Found, KeyValueStore, Write},
};

/// Entries by space and key.
#[derive(Debug, Default)]
pub(super) struct Entries(Mutex<HashMap<(String, String), Entry>>);

#[async_trait]
impl KeyValueStore for Memory {
    async fn read(&self, space: &str, key: &str) -> Result<Found> {
        let now = self.0.clock.now();
        let entry = lock(&self.0.entries.0).get(&(space.to_owned(), key.to_owned())).cloned();
        Ok(Found { entry, now })
    }

    async fn write(&self, write: Write) -> Result<bool> {
        let Write { space, key, value, ttl, expect } = write;
        let now = self.0.clock.now();
        let mut entries = lock(&self.0.entries.0);
        let place = (space, key);
        let live = entries.get(&place).filter(|entry| entry.expires > now);
        let expected = match expect {
            Expect::Anything => true,
            Expect::Nothing => live.is_none(),
            Expect::Revision(revision) => live.is_none_or(|entry| entry.revision == revision),
        };
        if expected {
            let revision = fastrand::u128(..);
            entries.insert(place, Entry { value, expires: now.plus(ttl), revision });
        }
        Ok(expected)
    }

    async fn sweep(&self) -> Result<u64> {
        let now = self.0.clock.now();
        let mut entries = lock(&self.0.entries.0);
        let before = entries.len();
        entries.retain(|_, entry| entry.expires > now);
        Ok((before - entries.len()) as u64)
    }
}
