//! People, organisations, bots, Apps with their installations, and the tokens that stand for them.

use std::{collections::BTreeMap, time::Duration};

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa::KeySize,
    signature::{KeyPair, RsaKeyPair},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{World, digest};
use crate::clock::after;

/// How long an installation token lives.
const TOKEN_LIFETIME: Duration = Duration::from_hours(1);

/// How much of a permission is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// May read.
    Read,
    /// May read and write.
    Write,
    /// May administer.
    Admin,
}

/// Permissions by name, as in `{"pull_requests": "write"}`.
pub type Permissions = BTreeMap<String, Level>;

/// A person, an organisation or an App's bot.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: &'static str,
}

/// Where an App's webhooks go.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookTarget {
    pub(crate) url: Option<String>,
    pub(crate) secret: Option<String>,
}

/// A GitHub App.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) id: u64,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) permissions: Permissions,
    pub(crate) events: Vec<String>,
    pub(crate) hook_id: u64,
    pub(crate) hook: HookTarget,
    /// PKCS#1, as GitHub hands it out.
    pub(crate) pem: String,
    /// The public half, DER.
    pub(crate) public_key: Vec<u8>,
    pub(crate) created_at: Timestamp,
}

impl App {
    /// The login of what the App writes.
    pub(crate) fn bot(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

/// An App on an account.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) app: u64,
    pub(crate) account: String,
    pub(crate) permissions: Permissions,
    /// The repositories chosen; nothing stands for all of the account.
    pub(crate) repositories: Option<Vec<u64>>,
    pub(crate) suspended: bool,
    pub(crate) created_at: Timestamp,
}

/// What a token stands for.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) owner: TokenOwner,
    /// Nothing: whatever its owner may.
    pub(crate) permissions: Option<Permissions>,
    /// Nothing: every repository of its owner.
    pub(crate) repositories: Option<Vec<u64>>,
    pub(crate) expires_at: Option<Timestamp>,
}

/// Whose a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenOwner {
    User(String),
    Installation(u64),
}

/// The parts of an App that its maker chooses.
pub(crate) struct NewApp<'a> {
    pub(crate) name: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) permissions: Permissions,
    pub(crate) events: Vec<String>,
    pub(crate) hook: HookTarget,
}

impl World {
    /// The user of a login, made where there is none.
    pub(crate) fn user(&mut self, login: &str, kind: &'static str) -> User {
        if let Some(user) = self.users.get(&login.to_lowercase()) {
            return user.clone();
        }
        let user = User { id: self.id(), login: login.to_owned(), kind };
        self.users.insert(login.to_lowercase(), user.clone());
        user
    }

    /// A token of a user, who is made where there is none.
    pub(crate) fn user_token(&mut self, login: &str, permissions: Option<Permissions>) -> String {
        self.user(login, "User");
        let prefix = if permissions.is_some() { "github_pat_" } else { "ghp_" };
        let token = format!("{prefix}{}", &digest(&format!("{login} {}", self.id()))[..36]);
        let owner = TokenOwner::User(login.to_owned());
        self.tokens.insert(
            token.clone(),
            Token { owner, permissions, repositories: None, expires_at: None },
        );
        token
    }

    /// A new App with a key of its own.
    pub(crate) fn create_app(&mut self, new: NewApp<'_>) -> u64 {
        let slug = new.name.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let key = generate_key();
        let (id, hook_id) = (self.id(), self.id());
        let app = App {
            id,
            slug,
            name: new.name.to_owned(),
            owner: new.owner.to_owned(),
            permissions: new.permissions,
            events: new.events,
            hook_id,
            hook: new.hook,
            pem: pem(&key),
            public_key: key.public_key().as_ref().to_vec(),
            created_at: self.now(),
        };
        self.user(&app.bot(), "Bot");
        self.apps.insert(id, app);
        id
    }

    /// Puts an App on an account, with the permissions it asks for now.
    pub(crate) fn install(
        &mut self,
        app: u64,
        account: &str,
        repositories: Option<Vec<u64>>,
    ) -> u64 {
        self.user(account, "Organization");
        let id = self.id();
        let permissions = self.apps[&app].permissions.clone();
        let created_at = self.now();
        let account = account.to_owned();
        self.installations.insert(
            id,
            Installation {
                id,
                app,
                account,
                permissions,
                repositories,
                suspended: false,
                created_at,
            },
        );
        id
    }

    /// A token of an installation.
    pub(crate) fn installation_token(
        &mut self,
        installation: u64,
        permissions: Permissions,
        repositories: Option<Vec<u64>>,
    ) -> (String, Timestamp) {
        let expires_at = after(self.now(), TOKEN_LIFETIME);
        // Since April 2026 they are much longer than forty characters.
        let seed = format!("{installation} {}", self.id());
        let token = format!("ghs_{}{}", digest(&seed), digest(&format!("{seed} more")));
        let owner = TokenOwner::Installation(installation);
        let stands_for = Token {
            owner,
            permissions: Some(permissions),
            repositories,
            expires_at: Some(expires_at),
        };
        self.tokens.insert(token.clone(), stands_for);
        (token, expires_at)
    }

    /// Whether an installation covers a repository.
    pub(crate) fn covers(&self, installation: &Installation, repository: u64) -> bool {
        let Some(found) = self.repositories.get(&repository) else { return false };
        found.owner.eq_ignore_ascii_case(&installation.account)
            && installation.repositories.as_ref().is_none_or(|chosen| chosen.contains(&repository))
    }

    /// The repositories that an installation covers.
    pub(crate) fn covered(&self, installation: &Installation) -> Vec<u64> {
        self.repositories.keys().copied().filter(|id| self.covers(installation, *id)).collect()
    }
}

fn generate_key() -> RsaKeyPair {
    RsaKeyPair::generate(KeySize::Rsa2048)
        .unwrap_or_else(|_| panic!("no RSA key can be made on this machine"))
}

/// The private key in the form that GitHub hands out: PKCS#1, which is the octet string inside the PKCS#8.
fn pem(key: &RsaKeyPair) -> String {
    let der: Pkcs8V1Der<'_> =
        key.as_der().unwrap_or_else(|_| panic!("an RSA key without its encoding"));
    // A sequence header (4 bytes), the version (3), the algorithm (15), and the octet string's header (4).
    let inner = STANDARD.encode(&der.as_ref()[26..]);
    let rows: Vec<_> = inner.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", rows.join("\n"))
}
