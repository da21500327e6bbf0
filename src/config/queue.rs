//! Options of the queue.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::QueueUrl;
use crate::queue::embedded::Options as EmbeddedOptions;

/// Where messages wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueOptions {
    /// The queue's place. Unset: embedded, in the store's own file when that is SQLite.
    pub url: QueueUrl,
    /// How long the embedded queue leaves a message with a worker that does not say it is still
    /// at it. A message whose worker died comes back after this.
    #[serde(with = "humantime_serde")]
    pub visibility: Duration,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self { url: QueueUrl::default(), visibility: EmbeddedOptions::default().visibility }
    }
}

impl QueueOptions {
    /// The first option that cannot work, with the reason.
    pub(super) fn fault(&self) -> Option<(&'static str, &'static str)> {
        let short = self.visibility < Duration::from_millis(100);
        short.then_some(("visibility", "expected a duration of at least 100ms"))
    }
}
