//! GitHub's manifest flow: a form that asks for an App with what verdict needs, and the exchange of
//! the code that comes back for the App and its key.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    GithubOptions,
    client::{Call, Client},
    permissions,
};
use crate::base::{Fault, Result, Secret, key_value::KeyValueStore};

/// The App to ask for.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Its name, which nobody else may have.
    pub name: String,
    /// The organisation it is to belong to; unset: the user.
    pub organization: Option<String>,
    /// Where GitHub sends events.
    pub webhook_url: String,
    /// Where the browser is sent back to.
    pub redirect_url: String,
}

/// An App that was made. GitHub shows its key and its secret this once.
#[derive(Deserialize)]
pub struct NewApp {
    /// Its id.
    pub id: u64,
    /// Its page, below which it is installed.
    pub html_url: String,
    /// Its private key, PEM.
    pub pem: Secret,
    /// What it signs webhooks with.
    pub webhook_secret: Option<Secret>,
}

impl Manifest {
    /// Where a browser posts the form. `state` comes back with the code.
    ///
    /// # Errors
    /// Permanent when `github.url` is no URL.
    pub fn form_url(&self, options: &GithubOptions, state: &str) -> Result<String> {
        let bad = |error: String| Fault::permanent(format!("github.url: {error}"));
        let mut url = Url::parse(&options.url).map_err(|error| bad(error.to_string()))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(web) = host.strip_prefix("api.") {
            url.set_host(Some(web)).map_err(|error| bad(error.to_string()))?;
        }
        match &self.organization {
            Some(name) => url.set_path(&format!("/organizations/{name}/settings/apps/new")),
            None => url.set_path("/settings/apps/new"),
        }
        url.query_pairs_mut().clear().append_pair("state", state);
        Ok(url.into())
    }

    /// What the form's field `manifest` holds.
    pub fn json(&self) -> Value {
        let (permissions, events) = permissions::asked_for();
        json!({
            "name": self.name,
            "url": self.webhook_url,
            "hook_attributes": { "url": self.webhook_url, "active": true },
            "redirect_url": self.redirect_url,
            "public": false,
            "default_permissions": permissions,
            "default_events": events,
        })
    }
}

/// Exchanges the code for the App. A code is good once, and for an hour.
///
/// # Errors
/// Permanent when the code is not good any more; otherwise when GitHub does not answer.
pub async fn exchange(
    options: &GithubOptions,
    store: Arc<dyn KeyValueStore>,
    code: &str,
) -> Result<NewApp> {
    if !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Fault::permanent("GitHub sent no code"));
    }
    let nobody = GithubOptions { url: options.url.clone(), ..GithubOptions::default() };
    let call = Call::post(format!("/app-manifests/{code}/conversions"), json!({}));
    Client::new(&nobody, store)?.send("", None, call).await?.json("the new App")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_on_the_site_of_the_api() {
        let at = |url: &str, organization: Option<&str>| {
            let options = GithubOptions { url: url.to_owned(), ..GithubOptions::default() };
            let manifest = Manifest {
                name: "verdict".to_owned(),
                organization: organization.map(str::to_owned),
                webhook_url: String::new(),
                redirect_url: String::new(),
            };
            manifest.form_url(&options, "s").unwrap()
        };
        assert_eq!(
            at("https://api.github.com", None),
            "https://github.com/settings/apps/new?state=s"
        );
        assert_eq!(
            at("https://ghe.example/api/v3", Some("octo")),
            "https://ghe.example/organizations/octo/settings/apps/new?state=s"
        );
    }
}
