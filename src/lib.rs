//! verdict takes pull-request events off a queue and leaves one review on each head commit,
//! whatever crashes in between.
//!
//! The map. Who may import whom is a rule, and `tests/it/house.rs` keeps it:
//!
//! | module | is | may import |
//! |---|---|---|
//! | [`base`] | faults, clock, trace context, keyed port | nothing |
//! | [`graph`] | the workflow engine and the store port | base |
//! | [`telemetry`] | logs on standard error | base |
//! | [`server`] | the HTTP side: health probes | base |
//! | [`config`] | settings, loaded and checked once | the components' options |

pub mod base;
pub mod config;
pub mod graph;
pub mod server;
pub mod telemetry;
