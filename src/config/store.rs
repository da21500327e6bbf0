//! Options of the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::StoreUrl;
use crate::db::PostgresOptions;

/// Where runs are kept, and for how long.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreOptions {
    /// The store's place. Unset: SQLite in the user's state folder.
    pub url: StoreUrl,
    /// Age after which workers remove a run that has ended, like `90d`. Unset: kept until deleted
    /// by hand.
    #[serde(with = "humantime_serde")]
    pub retention: Option<Duration>,
    /// PostgreSQL.
    pub postgres: PostgresOptions,
}

impl StoreOptions {
    /// The first option that cannot work, with the reason.
    pub(super) fn fault(&self) -> Option<(String, &'static str)> {
        if self.retention.is_some_and(|age| age < Duration::from_secs(1)) {
            return Some(("retention".to_owned(), "expected a duration of at least 1s"));
        }
        self.postgres.fault().map(|(name, why)| (format!("postgres.{name}"), why))
    }
}
