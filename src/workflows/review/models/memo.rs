//! Answers that are used again: kept in the key-value store by everything that went into them.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::base::{Fault, Result, key_value::KeyValueStore};

/// Where answers are kept.
const SPACE: &str = "review-model";

/// Remembers answers, for a time.
#[derive(Clone)]
pub(super) struct Memo {
    store: Arc<dyn KeyValueStore>,
    ttl: Duration,
}

impl Memo {
    pub(super) fn new(store: Arc<dyn KeyValueStore>, ttl: Duration) -> Self {
        Self { store, ttl }
    }

    /// What is remembered under the key. A store that does not answer is a failure: what it may hold must not be paid again.
    pub(super) async fn recall<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        if self.ttl.is_zero() {
            return Ok(None);
        }
        let bytes = self.store.get(SPACE, key).await?;
        // One of another form is none.
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Remembers it. What cannot be remembered is only paid again.
    pub(super) async fn remember<T: Serialize + Sync>(&self, key: &str, answer: &T) {
        if self.ttl.is_zero() {
            return;
        }
        let kept = async {
            let bytes = serde_json::to_vec(answer).map_err(|error| {
                Fault::permanent(format!("an answer has no JSON form: {error}"))
            })?;
            self.store.put(SPACE, key, bytes.into(), self.ttl).await
        };
        if let Err(fault) = kept.await {
            tracing::warn!(error = %fault, "a model's answer could not be kept for later reviews");
        }
    }
}
