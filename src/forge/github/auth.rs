//! Who verdict is on GitHub: an App that mints tokens, a user's token, or nobody.

use std::{collections::HashMap, sync::Arc, time::Duration};

use octocrab::{auth::AppAuth, models::AppId};
use serde_json::json;
use tokio::sync::{Mutex, OnceCell};

use super::{
    GithubOptions,
    client::{Call, Client, classified},
    model::{Account, AppInfo, AppInstallation, Installation, InstallationToken},
};
use crate::base::{ExposeSecret, Fault, Result, Secret};

/// A token is renewed this long before it expires.
const RENEW_BEFORE: Duration = Duration::from_secs(5 * 60);

/// The repository that is accessed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub(super) owner: String,
    pub(super) repo: String,
}

/// In whose name requests are sent.
pub(super) struct Identity {
    who: Who,
    /// The account's name, once it was asked for.
    login: OnceCell<String>,
}

enum Who {
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
        let named = |who| Self { who, login: OnceCell::new() };
        let (Some(id), Some(path)) = (options.app_id, &options.private_key_path) else {
            return Ok(named(options.token.clone().map_or(Who::Nobody, Who::User)));
        };
        let bad = |why: String| {
            Fault::permanent(format!("github.private_key_path `{}`: {why}", path.display()))
        };
        let pem = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let key = octocrab::auth::EncodingKey::from_rsa_pem(&pem)
            .map_err(|error| bad(format!("no RSA private key in PEM format: {error}")))?;
        let auth = Box::new(AppAuth { app_id: AppId(id), key });
        Ok(named(Who::App { auth, minted: Mutex::default() }))
    }

    /// The App's id; none for anybody else.
    pub(super) fn app_id(&self) -> Option<u64> {
        match &self.who {
            Who::App { auth, .. } => Some(auth.app_id.0),
            Who::Nobody | Who::User(_) => None,
        }
    }

    /// The Authorization header of the App itself.
    ///
    /// # Errors
    /// Permanent for who is no App.
    pub(super) fn app_bearer(&self) -> Result<Option<String>> {
        match &self.who {
            Who::App { auth, .. } => bearer(auth),
            _ => Err(Fault::permanent(
                "this needs an App: set github.app_id and github.private_key_path",
            )),
        }
    }

    /// The Authorization header for all repositories of an installation.
    pub(super) async fn installation_bearer(
        &self,
        client: &Client,
        installation: &AppInstallation,
    ) -> Result<Option<String>> {
        let path = format!("/app/installations/{}/access_tokens", installation.id);
        let call = Call::post(&path, json!({}));
        let minted = client.send(&installation.account.login, self.app_bearer()?, call).await?;
        let token: InstallationToken = minted.json(&path)?;
        Ok(Some(format!("Bearer {}", token.token.expose_secret())))
    }

    /// The token that accesses the repository; none for nobody.
    ///
    /// # Errors
    /// Permanent when the App is not installed there.
    pub(super) async fn token(&self, client: &Client, access: &Access) -> Result<Option<Secret>> {
        match &self.who {
            Who::Nobody => Ok(None),
            Who::User(token) => Ok(Some(token.clone())),
            Who::App { .. } => {
                let Access { owner, repo } = access;
                let nowhere =
                    || Fault::permanent(format!("the App is not installed on {owner}/{repo}"));
                self.minted(client, access).await?.map(Some).ok_or_else(nowhere)
            }
        }
    }

    /// Forgets an App's token that GitHub does not take any more. `false` for any other's.
    pub(super) async fn forget(&self, access: &Access, token: &Secret) -> bool {
        let Who::App { minted, .. } = &self.who else { return false };
        let mut minted = minted.lock().await;
        let is_it =
            |known: &Arc<InstallationToken>| known.token.expose_secret() == token.expose_secret();
        if minted.get(access).is_some_and(is_it) {
            minted.remove(access);
        }
        true
    }

    /// Whether it may act on the repository: an App only where it is installed.
    pub(super) async fn is_installed(&self, client: &Client, access: &Access) -> Result<bool> {
        Ok(self.app_id().is_none() || self.minted(client, access).await?.is_some())
    }

    /// The account that it acts as; empty for nobody.
    pub(super) async fn login(&self, client: &Client) -> Result<String> {
        let ask = async || match &self.who {
            Who::Nobody => Ok(String::new()),
            Who::User(token) => {
                let bearer = Some(format!("Bearer {}", token.expose_secret()));
                let user: Account =
                    client.send("", bearer, Call::get("/user")).await?.json("/user")?;
                Ok(user.login)
            }
            Who::App { auth, .. } => {
                let app = client.send("", bearer(auth)?, Call::get("/app")).await?;
                Ok(format!("{}[bot]", app.json::<AppInfo>("/app")?.slug))
            }
        };
        self.login.get_or_try_init(ask).await.cloned()
    }

    /// An App's token for the repository; `None` where it is not installed, and for who is no App.
    async fn minted(&self, client: &Client, access: &Access) -> Result<Option<Secret>> {
        let Who::App { auth, minted } = &self.who else { return Ok(None) };
        // Held while minting: whoever asks meanwhile waits for the one token.
        let mut minted = minted.lock().await;
        let soon = jiff::Timestamp::now() + RENEW_BEFORE;
        if let Some(token) = minted.get(access).filter(|token| token.expires_at > soon) {
            return Ok(Some(token.token.clone()));
        }
        let Some(token) = mint(client, auth, access).await?.map(Arc::new) else { return Ok(None) };
        minted.insert(access.clone(), token.clone());
        Ok(Some(token.token.clone()))
    }
}

/// A token for this repository alone; `None` where the App is not installed.
async fn mint(
    client: &Client,
    auth: &AppAuth,
    access: &Access,
) -> Result<Option<InstallationToken>> {
    let Access { owner, repo } = access;
    let path = format!("/repos/{owner}/{repo}/installation");
    let found = client.exchanged(owner, bearer(auth)?, &Call::get(&path)).await?;
    if found.status == 404 {
        return Ok(None);
    }
    let installation: Installation = classified(&path, found)?.json(&path)?;
    let path = format!("/app/installations/{}/access_tokens", installation.id);
    let body = json!({ "repositories": [repo] });
    client.send(owner, bearer(auth)?, Call::post(&path, body)).await?.json(&path).map(Some)
}

/// The Authorization header of the App itself.
fn bearer(auth: &AppAuth) -> Result<Option<String>> {
    let jwt = auth.generate_bearer_token();
    jwt.map(|jwt| Some(format!("Bearer {jwt}")))
        .map_err(|error| Fault::permanent(format!("the App's key cannot sign: {error}")))
}

/// The header that git sends for a token.
pub(super) fn basic(token: &str) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    format!("Basic {}", BASE64_STANDARD.encode(format!("x-access-token:{token}")))
}
