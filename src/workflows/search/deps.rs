//! What the nodes of a search need from outside.

use std::sync::Arc;

use crate::{base::Clock, forge::RepositorySearch, model::Model};

/// Everything the nodes share. Cheap to clone.
#[derive(Clone)]
pub struct SearchDeps {
    /// Where repositories are searched.
    pub repositories: Arc<dyn RepositorySearch>,
    /// What translates and scores.
    pub model: Option<Arc<dyn Model>>,
    /// What nodes are timed, errors stamped and ages reckoned by.
    pub clock: Clock,
}
