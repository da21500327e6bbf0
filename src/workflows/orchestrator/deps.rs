//! What the nodes of the orchestrator need from outside.

use std::sync::Arc;

use super::agents::AgentRegistry;
use crate::{base::Clock, model::Model};

/// Everything the nodes share. Cheap to clone.
#[derive(Clone)]
pub struct OrchestratorDeps {
    /// What analyses tasks.
    pub model: Option<Arc<dyn Model>>,
    /// Who works on them.
    pub agents: AgentRegistry,
    /// What outputs and answers are stamped by.
    pub clock: Clock,
}
