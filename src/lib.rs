//! verdict takes pull-request events off a queue and leaves one review on each head commit,
//! whatever crashes in between.
//!
//! The map. Who may import whom is a rule, and `tests/it/house.rs` keeps it:
//!
//! | module | is | may import |
//! |---|---|---|
//! | [`base`] | faults, clock, trace context, keyed port | nothing |
//! | [`forge`] | where changes come from: the port, local git | base |
//! | [`analysis`] | findings and the deterministic analysers | base |
//! | [`graph`] | the workflow engine and the store port | base |
//! | [`queue`] | the queue port, the embedded queue, what messages mean | db, base |

pub mod analysis;
pub mod base;
pub mod forge;
pub mod graph;
pub mod queue;
pub mod workflows;
