//! Stores: where runs are kept, behind the engine's store port, and beside each its keyed side.
//!
//! | store | is for | survives |
//! |---|---|---|
//! | [`Memory`] | tests, `memory:`, one-off runs | nothing |
//! | [`SqliteStore`] | one machine, any number of processes | a power cut |
//! | `FirestoreStore` (feature `firestore`) | many machines | the loss of a machine, or of a zone |
//!
//! What the port promises is decided in one place (`rules`, plain functions over heads), so that
//! the stores cannot drift apart; what is left to each is to make it one atomic step. The suite in
//! `tests/it/store` runs against all of them.

mod budget;
#[cfg(feature = "firestore")]
mod firestore;
mod memory;
mod rules;
mod sqlite;

#[cfg(feature = "firestore")]
pub use self::firestore::{FirestoreStore, Options as FirestoreOptions, Usage as FirestoreUsage};
pub use memory::Memory;
pub use sqlite::SqliteStore;
