//! Databases: pools, the grouping writers and the schemas, shared by the stores, the key-value
//! stores and the embedded queue.
//!
//! A leaf: it knows no run, no message and no port. Its users bring a lane each ([`sqlite::Lane`],
//! `postgres::Lane`) and get their operations back in groups.

mod error;
pub mod postgres;
pub mod sqlite;

pub use error::{DbError, DbErrorKind};
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use postgres::PostgresOptions;
pub use sqlite::{Lane, Rows, Sqlite, SqliteOptions, Tx, make_private_folder};
