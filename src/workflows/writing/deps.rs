//! What the nodes of a writing run need from outside.

use std::sync::Arc;

use super::options::WritingOptions;
use crate::model::Model;

/// Everything the nodes share. Cheap to clone.
#[derive(Clone)]
pub struct WritingDeps {
    /// What analyses and writes.
    pub model: Option<Arc<dyn Model>>,
    /// How many roles there may be.
    pub options: WritingOptions,
}
