//! Options of language models.

use serde::{Deserialize, Serialize};

/// Which models are asked. Their keys come from the providers' usual variables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Models as `adapter::name`, the first one first, the others when it fails.
    pub chain: Vec<String>,
    /// Base URL in place of the provider's own.
    pub url: Option<String>,
}
