//! A PostgreSQL database: a pool of connections, attempts, and groups of operations.
//!
//! What it promises:
//! - **Bounded.** No call takes longer than a connection and a statement may, however the server
//!   or the network behaves.
//! - **No state in a session.** What a connection is told is told in its first message or inside a
//!   transaction, so that a pooler may stand in between.
//! - **Repeated only when harmless.** What the server rolled back is tried again; what may have been
//!   committed when the connection broke, only if its author says that twice is as good as once.
//! - **Grouped.** A [`Lane`] runs operations that arrive together as one statement.

mod options;

pub use options::PostgresOptions;

#[cfg(feature = "postgres")]
mod call;
#[cfg(feature = "postgres")]
pub(super) mod error;
#[cfg(feature = "postgres")]
mod group;
#[cfg(feature = "postgres")]
mod open;
#[cfg(feature = "postgres")]
mod schema;

#[cfg(feature = "postgres")]
pub(crate) use call::work;
#[cfg(feature = "postgres")]
pub use {
    call::{Done, Repeat, Session, Sql},
    group::{Lane, Lanes},
    open::Postgres,
    schema::VERSION,
};
