//! The keyed side in memory.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use super::{Memory, lock};
use crate::{
    base::{
        Result, Timestamp,
        keyed::{Budget, Keyed, Spent},
    },
    budget::{self, Bucket},
};

type Key = (String, String);

#[derive(Debug, Default)]
pub(super) struct Shelves {
    values: Mutex<HashMap<Key, (Bytes, Timestamp)>>,
    buckets: Mutex<HashMap<Key, Bucket>>,
}

fn key(space: &str, key: &str) -> Key {
    (space.to_owned(), key.to_owned())
}

#[async_trait]
impl Keyed for Memory {
    async fn get(&self, space: &str, name: &str) -> Result<Option<Bytes>> {
        let now = self.0.clock.now();
        let values = lock(&self.0.keyed.values);
        let living = values.get(&key(space, name)).filter(|(_, ends)| *ends > now);
        Ok(living.map(|(value, _)| value.clone()))
    }

    async fn put(&self, space: &str, name: &str, value: Bytes, life: Duration) -> Result<()> {
        budget::check_value(space, &value)?;
        let ends = self.0.clock.now().plus(life);
        lock(&self.0.keyed.values).insert(key(space, name), (value, ends));
        Ok(())
    }

    async fn claim(
        &self,
        space: &str,
        name: &str,
        value: Bytes,
        life: Duration,
    ) -> Result<Option<Bytes>> {
        budget::check_value(space, &value)?;
        let now = self.0.clock.now();
        let mut values = lock(&self.0.keyed.values);
        let key = key(space, name);
        if let Some((there, _)) = values.get(&key).filter(|(_, ends)| *ends > now) {
            return Ok(Some(there.clone()));
        }
        values.insert(key, (value, now.plus(life)));
        Ok(None)
    }

    async fn spend(&self, space: &str, name: &str, amount: f64, budget: Budget) -> Result<Spent> {
        budget::check_amount(space, amount, budget)?;
        let now = self.0.clock.now();
        let mut buckets = lock(&self.0.keyed.buckets);
        let key = key(space, name);
        let (spent, after) = budget::spend(buckets.get(&key).copied(), amount, budget, now);
        if let Some(after) = after {
            buckets.insert(key, after);
        }
        Ok(spent)
    }

    async fn sweep(&self) -> Result<u64> {
        let now = self.0.clock.now();
        let mut values = lock(&self.0.keyed.values);
        let mut buckets = lock(&self.0.keyed.buckets);
        let before = values.len() + buckets.len();
        values.retain(|_, (_, ends)| *ends > now);
        buckets.retain(|_, bucket| bucket.full_at > now);
        Ok((before - values.len() - buckets.len()) as u64)
    }
}
