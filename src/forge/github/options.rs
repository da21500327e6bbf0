//! Where GitHub is and who verdict is there.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::base::{ExposeSecret, Secret};

/// Options of GitHub.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct GithubOptions {
    /// The API's base URL; `https://HOST/api/v3` on Enterprise Server.
    pub url: String,
    /// The GitHub App's id.
    pub app_id: Option<u64>,
    /// The GitHub App's private key, a PEM file.
    pub private_key_path: Option<PathBuf>,
    /// A personal access token, instead of an App.
    #[serde(skip_serializing)]
    pub token: Option<Secret>,
    /// Where fetched commits are kept; may be removed at any time. Unset: in the state folder.
    pub cache_path: Option<PathBuf>,
    /// How often to look for deliveries that nobody took and open pull requests whose head has no
    /// review; zero for never. Only an App can.
    #[serde(with = "humantime_serde")]
    pub repair_interval: Duration,
    /// What GitHub signs webhooks with. Several, separated by commas, while one replaces another.
    #[serde(skip_serializing)]
    pub webhook_secret: Option<Secret>,
    /// How long a request may take, its answer included.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// How far apart writes of one account are. GitHub asks for a second.
    #[serde(with = "humantime_serde")]
    pub write_interval: Duration,
    /// How long after a lost answer a write may still land: so long is waited before looking for it.
    #[serde(with = "humantime_serde")]
    pub settle: Duration,
}

impl GithubOptions {
    /// The secrets of which one signs webhooks.
    pub fn webhook_secrets(&self) -> Vec<Secret> {
        let all = self.webhook_secret.iter().flat_map(|all| all.expose_secret().split(','));
        all.map(str::trim).filter(|one| !one.is_empty()).map(Secret::from).collect()
    }

    /// Whether somebody said who verdict is on GitHub, or which GitHub it is.
    pub fn is_configured(&self) -> bool {
        self.app_id.is_some() || self.token.is_some() || self.url != Self::default().url
    }
}

impl Default for GithubOptions {
    fn default() -> Self {
        Self {
            url: "https://api.github.com".to_owned(),
            app_id: None,
            private_key_path: None,
            token: None,
            cache_path: None,
            repair_interval: Duration::from_secs(15 * 60),
            webhook_secret: None,
            timeout: Duration::from_secs(60),
            write_interval: Duration::from_secs(1),
            settle: Duration::from_secs(3),
        }
    }
}
