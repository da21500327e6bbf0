//! Who verdict is on GitHub: an App that mints tokens, a user's token, or nobody.

use std::{collections::HashMap, sync::Arc, time::Duration};

use octocrab::{auth::AppAuth, models::AppId};
use serde_json::json;
use tokio::sync::Mutex;

use super::{
    GithubOptions,
    client::{Call, Client},
    model::{Installation, InstallationToken},
};
use crate::base::{Fault, Result, Secret};

/// A token is renewed this long before it expires.
const RENEW_BEFORE: Duration = Duration::from_secs(5 * 60);

/// The repository that is accessed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) owner: String,
    pub(super) repo: String,
}

/// In whose name requests are sent.
pub(super) enum Identity {
    /// Public repositories, read only.
    Nobody,
    /// A user's token.
    User(Secret),
    /// An App, with the tokens it has minted, by repository.
    App { auth: Box<AppAuth>, minted: Mutex<HashMap<Access, Arc<InstallationToken>>> },
}

impl Identity {
    /// As the options say; an App before a token.
    ///
    /// # Errors
    /// Permanent when the App's key cannot be read.
    pub(super) fn of(options: &GithubOptions) -> Result<Self> {
        let (Some(id), Some(path)) = (options.app_id, &options.private_key_path) else {
            return Ok(options.token.clone().map_or(Self::Nobody, Self::User));
        };
        let bad = |why: String| {
            Fault::permanent(format!("github.private_key_path `{}`: {why}", path.display()))
        };
        let pem = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let key = octocrab::auth::EncodingKey::from_rsa_pem(&pem)
            .map_err(|error| bad(format!("no RSA private key in PEM format: {error}")))?;
        let auth = Box::new(AppAuth { app_id: AppId(id), key });
        Ok(Self::App { auth, minted: Mutex::default() })
    }

    /// The token that accesses the repository; none for nobody.
    pub(super) async fn token(&self, client: &Client, access: &Access) -> Result<Option<Secret>> {
        let (auth, minted) = match self {
            Self::Nobody => return Ok(None),
            Self::User(token) => return Ok(Some(token.clone())),
            Self::App { auth, minted } => (auth, minted),
        };
        // Held while minting: whoever asks meanwhile waits for the one token.
        let mut minted = minted.lock().await;
        let soon = jiff::Timestamp::now() + RENEW_BEFORE;
        if let Some(token) = minted.get(access).filter(|token| token.expires_at > soon) {
            return Ok(Some(token.token.clone()));
        }
        let token = Arc::new(mint(client, auth, access).await?);
        minted.insert(access.clone(), token.clone());
        Ok(Some(token.token.clone()))
    }
}

/// A token for this repository alone.
async fn mint(client: &Client, auth: &AppAuth, access: &Access) -> Result<InstallationToken> {
    let Access { owner, repo } = access;
    let bearer = || {
        let jwt = auth.generate_bearer_token();
        jwt.map(|jwt| Some(format!("Bearer {jwt}")))
            .map_err(|error| Fault::permanent(format!("the App's key cannot sign: {error}")))
    };
    let path = format!("/repos/{owner}/{repo}/installation");
    let found = client.send(owner, bearer()?, Call::get(&path)).await?;
    let installation: Installation = found.json(&path)?;
    let path = format!("/app/installations/{}/access_tokens", installation.id);
    let body = json!({ "repositories": [repo] });
    client.send(owner, bearer()?, Call::post(&path, body)).await?.json(&path)
}

/// The header that git sends for a token.
pub(super) fn basic(token: &str) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    format!("Basic {}", BASE64_STANDARD.encode(format!("x-access-token:{token}")))
}
