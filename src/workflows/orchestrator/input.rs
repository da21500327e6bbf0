//! What the orchestrator is asked for.

use serde::{Deserialize, Serialize};

use crate::workflows::non_blank;

/// A job's input: `{"prompt": TEXT, "tenant_id"?, "project_id"?, "task_id"?, "max_retries"?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrchestratorInput {
    /// The task, in the words of whoever wants it done.
    #[serde(deserialize_with = "non_blank")]
    pub prompt: String,
    /// Whose task it is.
    #[serde(default)]
    pub tenant_id: String,
    /// The project it belongs to.
    #[serde(default)]
    pub project_id: String,
    /// Its name there.
    #[serde(default)]
    pub task_id: String,
    /// How often in a row an agent may fail.
    #[serde(default = "three")]
    pub max_retries: u32,
}

fn three() -> u32 {
    3
}
