//! The same layer before a key-value store: values are sealed, spaces and keys are not.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use super::{KeyRing, frame::What};
use verdict_graph::base::{
    Result,
    key_value::{Found, KeyValueStore, Write},
};

/// A key-value store whose values are sealed; without keys it seals nothing.
pub struct SealedKeyValues {
    store: Arc<dyn KeyValueStore>,
    keys: Arc<KeyRing>,
}

impl fmt::Debug for SealedKeyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedKeyValues").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl SealedKeyValues {
    /// That store, with these keys before it.
    pub fn new(store: Arc<dyn KeyValueStore>, keys: impl Into<Arc<KeyRing>>) -> Self {
        Self { store, keys: keys.into() }
    }
}

#[async_trait]
impl KeyValueStore for SealedKeyValues {
    async fn read(&self, space: &str, key: &str) -> Result<Found> {
        let mut found = self.store.read(space, key).await?;
        if let Some(entry) = &mut found.entry {
            entry.value = self.keys.open(entry.value.clone(), &What::Value { space, key })?;
        }
        Ok(found)
    }

    async fn write(&self, write: Write) -> Result<bool> {
        let what = What::Value { space: &write.space, key: &write.key };
        let value = self.keys.seal(write.value, &what)?;
        self.store.write(Write { value, ..write }).await
    }

    async fn sweep(&self) -> Result<u64> {
        self.store.sweep().await
    }
}
