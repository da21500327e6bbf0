//! The settings of a PostgreSQL database: section `store.postgres`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use verdict_graph::base::Secret;

/// How a PostgreSQL database is used.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresOptions {
    /// The most connections this process opens.
    pub max_connections: u32,
    /// How long to wait for a connection, a new one included.
    #[serde(with = "humantime_serde")]
    pub acquire_timeout: Duration,
    /// How long a statement, or a whole transaction, may take.
    #[serde(with = "humantime_serde")]
    pub statement_timeout: Duration,
    /// Whether statements stay prepared on their connection. Off for a pooler that hands each
    /// transaction to another connection (pgbouncer before 1.21, in transaction mode).
    pub prepared_statements: bool,
    /// Whether the schema is brought up to date at start. Off for a role that may not change it:
    /// then `verdict migrate`, with a role that may, comes first.
    pub migrate: bool,
    /// The password, instead of the one in `store.url`.
    #[serde(skip_serializing)]
    pub password: Option<Secret>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 8,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            prepared_statements: true,
            migrate: true,
            password: None,
        }
    }
}

impl PostgresOptions {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if self.max_connections == 0 {
            return Some(("max_connections", "expected a whole number of at least 1"));
        }
        let short = |time: Duration| time < Duration::from_millis(1);
        let why = "expected a duration longer than zero";
        if short(self.acquire_timeout) {
            return Some(("acquire_timeout", why));
        }
        short(self.statement_timeout).then_some(("statement_timeout", why))
    }
}
