//! Options of GitHub.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::Secret;

/// Where GitHub is and who verdict is there.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct GithubOptions {
    /// The API's base URL.
    pub url: String,
    /// The GitHub App's id.
    pub app_id: Option<u64>,
    /// The GitHub App's private key, a PEM file.
    pub private_key_path: Option<PathBuf>,
    /// A personal access token, instead of an App.
    #[serde(skip_serializing)]
    pub token: Option<Secret>,
    /// What GitHub signs webhooks with.
    #[serde(skip_serializing)]
    pub webhook_secret: Option<Secret>,
}

impl Default for GithubOptions {
    fn default() -> Self {
        Self {
            url: "https://api.github.com".to_owned(),
            app_id: None,
            private_key_path: None,
            token: None,
            webhook_secret: None,
        }
    }
}
