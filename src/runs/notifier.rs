//! What runs need of a queue.

use async_trait::async_trait;

use crate::{
    base::{Result, TraceContext},
    graph::{RunId, store::Letter},
};

/// Tells workers of runs, and operators of dead letters. Whatever it tells stands in the store
/// before: doing it again, and losing it, are harmless.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// Tells the workers that a run is due.
    async fn wake(&self, run: &RunId, trace: Option<&TraceContext>) -> Result<()>;

    /// Sends a dead letter's message to the workers again, marked as the letter's replay.
    async fn resend(&self, letter: &Letter) -> Result<()>;

    /// Shows a dead letter to whoever watches the queue.
    async fn publish(&self, letter: &Letter) -> Result<()>;

    /// Shows these letters no longer.
    async fn remove(&self, letters: &[String]) -> Result<()>;
}
