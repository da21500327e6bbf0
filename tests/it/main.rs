//! The integration tests: one binary, one module per area.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test says what went wrong by stopping there"
)]

mod queue;
mod store;
