//! All integration tests in one binary, one module per area.

mod config;
mod house;
mod server;
mod telemetry;
