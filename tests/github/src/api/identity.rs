//! Who asks: nobody, a person by a token, an App by a JWT it signed, or an installation by its token.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::Value;

use super::message::{Reply, Request, decode};
use crate::world::{
    World,
    actors::{Level, Permissions, TokenOwner},
    repositories::Role,
};

/// A JWT may live for ten minutes.
const JWT_LIFETIME_SECONDS: i64 = 600;
/// How far the clock of an App may differ.
const CLOCK_DRIFT_SECONDS: i64 = 60;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Anonymous,
    User { login: String, permissions: Option<Permissions> },
    App(u64),
    Installation { id: u64, app: u64, permissions: Permissions, repositories: Option<Vec<u64>> },
}

impl Identity {
    /// As the log writes it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::User { login, .. } => format!("user {login}"),
            Self::App(id) => format!("app {id}"),
            Self::Installation { id, .. } => format!("installation {id}"),
        }
    }

    /// Who shares a rate limit.
    pub(crate) fn limit_key(&self) -> String {
        self.name()
    }

    /// The login that what is written is by.
    pub(crate) fn login(&self, world: &World) -> String {
        match self {
            Self::Anonymous => String::new(),
            Self::User { login, .. } => login.clone(),
            Self::App(id) | Self::Installation { app: id, .. } => world.apps[id].bot(),
        }
    }

    /// The App that writes.
    pub(crate) fn app(&self) -> Option<u64> {
        match self {
            Self::Installation { app, .. } => Some(*app),
            _ => None,
        }
    }

    /// The installation, where one asks.
    pub(crate) fn installation(&self) -> Option<u64> {
        match self {
            Self::Installation { id, .. } => Some(*id),
            _ => None,
        }
    }

    /// Whether a repository exists for whoever asks.
    pub(crate) fn sees(&self, world: &World, repository: u64) -> bool {
        if world.repositories.get(&repository).is_some_and(|found| !found.private) {
            return true;
        }
        match self {
            Self::Anonymous => false,
            Self::App(app) => {
                world.installations.values().any(|i| i.app == *app && world.covers(i, repository))
            }
            Self::User { login, .. } => world.role(repository, login).is_some(),
            Self::Installation { .. } => self.covers(world, repository),
        }
    }

    /// Whether an installation's token is for a repository.
    pub(crate) fn covers(&self, world: &World, repository: u64) -> bool {
        let Self::Installation { id, repositories, .. } = self else { return false };
        let narrowed = repositories.as_ref().is_none_or(|chosen| chosen.contains(&repository));
        let installed =
            world.installations.get(id).is_some_and(|found| world.covers(found, repository));
        narrowed && installed
    }

    /// Whether a permission is held in a repository.
    pub(crate) fn holds(
        &self,
        world: &World,
        repository: Option<u64>,
        name: &str,
        level: Level,
    ) -> bool {
        let public = repository
            .and_then(|id| world.repositories.get(&id))
            .is_some_and(|found| !found.private);
        let open = level == Level::Read && (public || name == "metadata");
        match self {
            Self::Anonymous => open && public,
            Self::App(_) => false,
            Self::Installation { permissions, .. } => {
                let covered = repository.is_none_or(|id| self.covers(world, id));
                (covered && permissions.get(name).is_some_and(|held| *held >= level)) || open
            }
            Self::User { login, permissions } => {
                let granted = permissions
                    .as_ref()
                    .is_none_or(|held| held.get(name).is_some_and(|held| *held >= level));
                let role = repository.map(|id| world.role(id, login));
                // Whoever reads may comment and review; the handlers ask for more where more is needed.
                let may =
                    role.is_none_or(|role| role.is_some_and(|role| role >= needed(name, level)));
                (granted || open) && may
            }
        }
    }
}

fn needed(name: &str, level: Level) -> Role {
    match (name, level) {
        (_, Level::Admin) | ("administration", _) => Role::Admin,
        ("contents" | "checks", Level::Write) => Role::Write,
        _ => Role::Read,
    }
}

/// Reads `Authorization`.
///
/// # Errors
/// 401 for a token that is not known, has expired or is badly signed.
pub(crate) fn identify(world: &World, request: &Request) -> Result<Identity, Reply> {
    let Some(header) = request.header("authorization") else { return Ok(Identity::Anonymous) };
    let (scheme, credentials) = header.split_once(' ').unwrap_or(("", header));
    let token = match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => credentials.trim().to_owned(),
        "basic" => password(credentials).ok_or_else(bad_credentials)?,
        _ => return Err(bad_credentials()),
    };
    if token.split('.').count() == 3 {
        app_of(world, &token).map(Identity::App)
    } else {
        of_token(world, &token)
    }
}

fn bad_credentials() -> Reply {
    Reply::refuse(401, "Bad credentials")
}

/// The password of `user:password`, or the user where there is no password.
fn password(credentials: &str) -> Option<String> {
    let pair = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some(decode(if password.is_empty() || password == "x-oauth-basic" { user } else { password }))
}

fn of_token(world: &World, token: &str) -> Result<Identity, Reply> {
    let found = world.tokens.get(token).ok_or_else(bad_credentials)?;
    if found.expires_at.is_some_and(|at| at <= world.now()) {
        return Err(bad_credentials());
    }
    match &found.owner {
        TokenOwner::User(login) => {
            Ok(Identity::User { login: login.clone(), permissions: found.permissions.clone() })
        }
        TokenOwner::Installation(id) => {
            let installation = world.installations.get(id).ok_or_else(bad_credentials)?;
            if installation.suspended {
                return Err(Reply::refuse(403, "This installation has been suspended"));
            }
            Ok(Identity::Installation {
                id: *id,
                app: installation.app,
                permissions: found.permissions.clone().unwrap_or_default(),
                repositories: found.repositories.clone(),
            })
        }
    }
}

/// The App that signed a JWT.
fn app_of(world: &World, token: &str) -> Result<u64, Reply> {
    let undecodable = || Reply::refuse(401, "A JSON web token could not be decoded");
    let (signed, signature) = token.rsplit_once('.').ok_or_else(undecodable)?;
    let (header, claims) = signed.split_once('.').ok_or_else(undecodable)?;
    let (header, claims) =
        (part(header).ok_or_else(undecodable)?, part(claims).ok_or_else(undecodable)?);
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| undecodable())?;
    if header["alg"] != "RS256" {
        return Err(undecodable());
    }
    let issuer = match &claims["iss"] {
        Value::Number(id) => id.to_string(),
        Value::String(id) => id.clone(),
        _ => return Err(Reply::refuse(401, "Missing 'issuer' claim ('iss') in assertion")),
    };
    let named = |id: &u64| id.to_string() == issuer || format!("Iv23li{id:014}") == issuer;
    let app = world
        .apps
        .values()
        .find(|app| named(&app.id))
        .ok_or_else(|| Reply::refuse(404, "Integration not found"))?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| undecodable())?;
    check_times(&claims, world.now().as_second())?;
    Ok(app.id)
}

fn part(text: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

fn check_times(claims: &Value, now: i64) -> Result<(), Reply> {
    let refuse = |claim: &str, what: &str| {
        Err(Reply::refuse(401, &format!("'{claim}' claim ('{what}') is not valid")))
    };
    let (Some(issued), Some(expires)) = (claims["iat"].as_i64(), claims["exp"].as_i64()) else {
        return refuse("Expiration time", "exp");
    };
    if expires <= now {
        return Err(Reply::refuse(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ));
    }
    if expires > now + JWT_LIFETIME_SECONDS + CLOCK_DRIFT_SECONDS {
        return Err(Reply::refuse(401, "'Expiration time' claim ('exp') is too far in the future"));
    }
    if issued > now + CLOCK_DRIFT_SECONDS {
        return refuse("Issued at", "iat");
    }
    Ok(())
}
