//! verdict's tests: one binary, one module per area.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod chaos;
mod cli;
mod config;
mod crash;
mod deploy;
mod everywhere;
mod examples;
mod fuzz;
mod github;
mod graph;
mod house;
mod model;
mod queue;
mod redaction;
mod review;
mod server;
mod services;
mod store;
mod support;
mod telemetry;
mod worker;
mod workflows;
