//! Databases: pools, the grouping writer and the schema, shared by the stores, the keyed side and
//! the embedded queue.
//!
//! A leaf: it knows no run, no message and no port. Its users bring a [`Lane`] each and get their
//! operations back in groups, inside one transaction with everybody else's.

mod error;
pub mod sqlite;

pub use error::{DbError, DbErrorKind};
pub use sqlite::{Lane, Rows, Sqlite, SqliteOptions, Tx};
