//! What the nodes of a delivery need from outside.

use std::sync::Arc;

use crate::model::Model;

/// Everything the agents share. Cheap to clone.
#[derive(Clone)]
pub struct DeliveryDeps {
    /// What the agents think with.
    pub model: Option<Arc<dyn Model>>,
}
