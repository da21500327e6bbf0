//! Section `workflows.writing` of the settings.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Writing;
use crate::workflows::Workflow;

/// The most roles there may be: each is a call of a model.
const MAX_ROLES: usize = 16;

/// How a text is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct WritingOptions {
    /// The fewest roles. When the model finds fewer, the default roles write.
    pub min_roles: usize,
    /// The most roles.
    pub max_roles: usize,
    /// How long one writer may take.
    #[serde(with = "humantime_serde")]
    pub agent_timeout: Duration,
    /// Active time of a whole run.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
}

impl Default for WritingOptions {
    fn default() -> Self {
        Self {
            min_roles: 2,
            max_roles: 4,
            agent_timeout: Duration::from_secs(30),
            timeout: Writing::TIMEOUT,
        }
    }
}

impl WritingOptions {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.max_roles == 0 || self.max_roles > MAX_ROLES {
            return Some(("max_roles", "expected a whole number from 1 to 16"));
        }
        let reversed = self.min_roles > self.max_roles;
        reversed.then_some(("min_roles", "expected at most workflows.writing.max_roles"))
    }
}
