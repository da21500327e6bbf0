//! What a writing run is asked for.

use serde::{Deserialize, Serialize};

use crate::workflows::non_blank;

/// A job's input: `{"request": TEXT}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritingInput {
    /// What is to be written, in the words of whoever wants it.
    #[serde(deserialize_with = "non_blank")]
    pub request: String,
}
