//! Options of the workflows.

use serde::{Deserialize, Serialize};

use crate::workflows::writing::WritingOptions;

/// Options of the workflows that have any.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowsOptions {
    /// How texts are written.
    pub writing: WritingOptions,
}
