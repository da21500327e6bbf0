//! verdict's tests: one binary, one module per area.

mod config;
mod crash;
mod graph;
mod house;
mod queue;
mod review;
mod server;
mod store;
mod support;
mod telemetry;
mod worker;
