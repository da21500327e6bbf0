//! The store's schema, brought up to date by itself: for a role that may change it, before others
//! that may not.

use super::{App, AppError, Files};
use crate::{
    config::{Settings, StoreUrl},
    db::sqlite,
};

/// What became of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before, if it was an older one; 0 when there was nothing yet.
    pub from: Option<i64>,
    /// The version now.
    pub to: i64,
}

impl App {
    /// Brings the store's schema up to date, whatever the settings say about doing so at start, and
    /// opens nothing else. `None` when the store has no schema.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn migrate(settings: &Settings) -> Result<Option<Migrated>, AppError> {
        let mut files = Files::default();
        let migrated = match &settings.store.url {
            StoreUrl::Sqlite(path) => {
                let file = files.open("store.url", path).await?;
                Some(Migrated { from: file.migrated_from(), to: sqlite::VERSION })
            }
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => {
                let mut settings = settings.clone();
                settings.store.postgres.migrate = true;
                let server = super::postgres(url.expose(), &settings).await?;
                files.servers.push(server.clone());
                let to = i64::from(crate::db::postgres::VERSION);
                Some(Migrated { from: server.migrated_from().map(i64::from), to })
            }
            _ => None,
        };
        files.close().await;
        Ok(migrated)
    }
}
