//! Options of the workflows.

use serde::{Deserialize, Serialize};

use crate::workflows::{review::ReviewOptions, writing::WritingOptions};

/// Options of the workflows that have any.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowsOptions {
    /// What is run on changes.
    pub review: ReviewOptions,
    /// How texts are written.
    pub writing: WritingOptions,
}
