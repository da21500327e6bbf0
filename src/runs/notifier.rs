//! What runs need of a queue.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    base::{Result, TraceContext},
    graph::{RunId, store::Letter},
};

/// Tells workers of runs, and operators of dead letters. Whatever it tells stands in the store
/// before: doing it again, and losing it, are harmless.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// Tells the workers that a run is due after this time; a queue without delays tells them at once.
    async fn wake(&self, run: &RunId, after: Duration, trace: Option<&TraceContext>) -> Result<()>;

    /// Sends a dead letter's message to the workers again, marked as the letter's replay.
    async fn resend(&self, letter: &Letter) -> Result<()>;

    /// Shows a dead letter to whoever watches the queue.
    async fn publish(&self, letter: &Letter) -> Result<()>;

    /// Shows these letters no longer. `settled` is asked about each copy when it is looked at: one that
    /// was given up again meanwhile stays.
    async fn remove(&self, letters: &[String], settled: &dyn Settled) -> Result<()>;
}

/// Knows which letters nobody has to do anything about any more.
#[async_trait]
pub trait Settled: Send + Sync {
    /// Whether this one is settled now.
    async fn is_settled(&self, letter: &str) -> Result<bool>;
}
