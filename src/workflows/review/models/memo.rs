//! Answers that are used again: kept in the key-value store by everything that went into them.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use super::Spent;
use crate::base::{Fault, Result, key_value::KeyValueStore};

/// Where answers are kept.
const SPACE: &str = "review-model";

/// Where it is kept what tasks have paid that have no report, and how long.
const SPENT_SPACE: &str = "review-model-spent";
const SPENT_TTL: Duration = Duration::from_hours(30 * 24);

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

    /// Remembers it, and says whether it is. What cannot be remembered is only paid again.
    pub(super) async fn remember<T: Serialize + Sync>(&self, key: &str, answer: &T) -> bool {
        if self.ttl.is_zero() {
            return false;
        }
        let kept = self.put((SPACE, key), answer, self.ttl).await;
        if let Err(fault) = &kept {
            tracing::warn!(error = %fault, "a model's answer could not be kept for later reviews");
        }
        kept.is_ok()
    }

    /// What a task of a run has paid so far without a report.
    pub(super) async fn spent(&self, run: &str, task: u32) -> Result<Spent> {
        if run.is_empty() {
            return Ok(Spent::default());
        }
        let bytes = self.store.get(SPENT_SPACE, &spent_key(run, task)).await?;
        let spent = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(spent.unwrap_or_default())
    }

    /// Notes what a task of a run has paid so far without a report. What cannot be noted is missing from the bill.
    pub(super) async fn note_spent(&self, run: &str, task: u32, spent: &Spent) {
        if run.is_empty() || *spent == Spent::default() {
            return;
        }
        let key = spent_key(run, task);
        if let Err(fault) = self.put((SPENT_SPACE, &key), spent, SPENT_TTL).await {
            tracing::warn!(error = %fault, "what a task for models has paid could not be noted");
        }
    }

    async fn put<T: Serialize + Sync>(
        &self,
        (space, key): (&str, &str),
        value: &T,
        ttl: Duration,
    ) -> Result<()> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| Fault::permanent(format!("an answer has no JSON form: {error}")))?;
        self.store.put(space, key, bytes.into(), ttl).await
    }
}

fn spent_key(run: &str, task: u32) -> String {
    format!("{run}/{task}")
}
