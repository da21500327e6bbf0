//! Options of the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::StoreUrl;
use crate::{
    base::{ExposeSecret as _, Secret},
    checkpoint::KeyRing,
    db::PostgresOptions,
    runs::Runs,
};

/// Where runs are kept, and for how long.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreOptions {
    /// The store's place. Unset: SQLite in the user's state folder.
    pub url: StoreUrl,
    /// Age after which workers remove a run that has ended, like `90d`. Unset: kept until deleted
    /// by hand.
    #[serde(with = "humantime_serde")]
    pub retention: Option<Duration>,
    /// How long an event from outside is kept for runs that do not wait for it yet.
    #[serde(with = "humantime_serde")]
    pub event_retention: Duration,
    /// What runs hold, encrypted.
    pub encryption: EncryptionOptions,
    /// PostgreSQL.
    pub postgres: PostgresOptions,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            url: StoreUrl::default(),
            retention: None,
            event_retention: Runs::EVENT_RETENTION,
            encryption: EncryptionOptions::default(),
            postgres: PostgresOptions::default(),
        }
    }
}

/// Encryption of what runs hold.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EncryptionOptions {
    /// `NAME:64 HEX DIGITS`, several with commas or line ends between. The first one encrypts; all
    /// decrypt. Unset: nothing is encrypted.
    #[serde(skip_serializing)]
    pub keys: Option<Secret>,
}

impl EncryptionOptions {
    /// The keys, ready for use.
    ///
    /// # Errors
    /// With what was expected; never with a part of a key.
    pub fn ring(&self) -> Result<KeyRing, String> {
        match &self.keys {
            Some(keys) => KeyRing::parse(keys.expose_secret()),
            None => Ok(KeyRing::default()),
        }
    }
}

impl StoreOptions {
    /// The first option that cannot work, with the reason.
    pub(super) fn fault(&self) -> Option<(String, String)> {
        let short = |age: Duration| age < Duration::from_secs(1);
        for (name, is_short) in [
            ("retention", self.retention.is_some_and(short)),
            ("event_retention", short(self.event_retention)),
        ] {
            if is_short {
                return Some((name.to_owned(), "expected a duration of at least 1s".to_owned()));
            }
        }
        if let Err(why) = self.encryption.ring() {
            return Some(("encryption.keys".to_owned(), why));
        }
        self.postgres.fault().map(|(name, why)| (format!("postgres.{name}"), why.to_owned()))
    }
}
