//! verdict's tests: one binary, one module per area.

mod examples;
mod graph;
mod queue;
