//! verdict's tests: one binary, one module per area.

mod examples;
mod fuzz;
mod graph;
mod queue;
