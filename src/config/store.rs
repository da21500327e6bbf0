//! Options of the store.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::StoreUrl;

/// Where runs are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreOptions {
    /// The store's place. Unset: SQLite in the user's state folder.
    pub url: StoreUrl,
    /// Age after which a finished run may be deleted, like `90d`. Unset: kept until deleted by hand.
    #[serde(with = "humantime_serde")]
    pub retention: Option<Duration>,
}
