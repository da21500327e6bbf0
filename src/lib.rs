//! verdict takes pull-request events off a queue and leaves one review on each head commit,
//! whatever crashes in between.
//!
//! The map. Who may import whom is a rule, and `tests/it/house.rs` keeps it:
//!
//! | module | is | may import |
//! |---|---|---|
//! | [`base`] | faults, clock, trace context, keyed port | nothing |
//! | [`graph`] | the workflow engine and the store port | base |
//! | [`db`] | database files and the grouping writer | base |
//! | [`queue`] | the queue port, the embedded queue, what messages mean | db, base |
//! | [`checkpoint`] | stores: where runs are kept, and the keyed side | graph, db, base |

pub mod base;
pub mod checkpoint;
pub mod db;
pub mod graph;
pub mod queue;
