//! What runs are known by.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::base::hash_hex;

/// A run's name: 32 hex digits, spread evenly. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Arc<str>);

impl RunId {
    /// The id of the run of `workflow` under `key`: the first 16 bytes of a SHA-256 over both.
    pub fn of(workflow: &str, key: &str) -> Self {
        Self(hash_hex(&[workflow.as_bytes(), key.as_bytes()]).into())
    }

    /// An id of its own, for a run without a key.
    pub fn random() -> Self {
        Self(format!("{:032x}", fastrand::u128(..)).into())
    }

    /// Behind every other in any order.
    pub fn last() -> Self {
        Self("f".repeat(32).into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is no run id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no run id (32 hex digits)")]
pub struct InvalidRunId(String);

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid =
            text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if valid { Ok(Self(text.into())) } else { Err(InvalidRunId(text.to_owned())) }
    }
}
