//! Options of the queue.

use serde::{Deserialize, Serialize};

use super::QueueUrl;

/// Where messages wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueOptions {
    /// The queue's place. Unset: embedded, in the store's own file when that is SQLite.
    pub url: QueueUrl,
}
