//! The integration tests: one binary, one module per area.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the helpers of tests are tests: a panic is how they say no"
)]

mod store;
