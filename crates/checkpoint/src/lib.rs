//! Stores: where runs are kept, behind the engine's store port, and each a key-value store, too.
//!
//! | store | is for | survives |
//! |---|---|---|
//! | [`Memory`] | tests, `memory:`, one-off runs | nothing |
//! | [`SqliteStore`] | one machine, any number of processes | a power cut |
//! | `PostgresStore` (feature `postgres`) | any number of machines on one server | what the server survives |
//! | `FirestoreStore` (feature `firestore`) | any number of machines | the loss of a machine, or of a zone |
//!
//! [`Sealed`] is a layer before any of them: what runs hold is encrypted on its way in. So are the
//! values of the key-value store, by [`SealedKeyValues`]. [`Timed`] is another, which measures each operation.
//!
//! What the port promises is decided in one place (`rules`, plain functions over heads), so that
//! the stores cannot drift apart; what is left to each is to make it one atomic step. The suite in
//! `tests/it/store` runs against all of them.

mod codec;
pub mod db;
#[cfg(feature = "firestore")]
mod firestore;
#[cfg(any(feature = "firestore", feature = "postgres"))]
mod pack;
#[cfg(feature = "postgres")]
mod postgres;
mod sealed;
mod sqlite;
mod timed;
mod waves;

#[cfg(feature = "firestore")]
pub use self::firestore::{FirestoreStore, Options as FirestoreOptions, Usage as FirestoreUsage};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use sealed::{KeyRing, Sealed, SealedKeyValues};
pub use sqlite::SqliteStore;
pub use timed::{Timed, describe_metrics};
pub use verdict_graph::Memory;
