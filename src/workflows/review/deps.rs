//! What the nodes of a review need from outside.

use std::sync::Arc;

use super::{
    models::Models,
    reader::{ChangeReader, Limits, Readers},
    tools::Tools,
};
use crate::{
    base::Result,
    forge::{Forges, Target},
};

/// Everything the nodes of a review share. Cheap to clone.
#[derive(Clone)]
pub struct ReviewDeps {
    /// Where changes come from and reviews go.
    pub forges: Forges,
    /// How much is read.
    pub limits: Limits,
    /// What agents ask beside their analysis, where one is configured.
    pub models: Option<Models>,
    /// What is run on a change beside them.
    pub tools: Option<Tools>,
    readers: Readers,
}

impl ReviewDeps {
    /// What a review of changes from `forges` needs.
    ///
    /// # Errors
    /// None at present: rules are compiled when a text first needs them.
    pub fn new(forges: impl Into<Forges>, limits: Limits) -> Result<Self> {
        let readers = Readers::new(limits.clone());
        Ok(Self { forges: forges.into(), readers, limits, models: None, tools: None })
    }

    /// The same, asking these models.
    #[must_use]
    pub fn with_models(mut self, models: Option<Models>) -> Self {
        self.models = models;
        self
    }

    /// The same, running these tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Option<Tools>) -> Self {
        self.tools = tools;
        self
    }

    /// Names what is asked and run beside the analysis: the same names, the same review.
    pub(super) fn names(&self) -> Vec<String> {
        let models = self.models.as_ref().map(Models::name);
        models.into_iter().chain(self.tools.as_ref().map(Tools::name)).collect()
    }

    /// The reader of a change, the same for everybody who asks in this process.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn open(&self, target: &Target) -> Result<Arc<ChangeReader>> {
        self.readers.open(&self.forges, target).await
    }

    /// The reader of a change, if somebody has asked for it.
    pub fn opened(&self, target: &Target) -> Option<Arc<ChangeReader>> {
        self.readers.opened(target)
    }

    /// Frees what is remembered of a change. Whoever asks for it again reads it again.
    pub fn forget(&self, target: &Target) {
        self.readers.forget(target);
    }
}
