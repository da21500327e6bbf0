//! verdict's tests: one binary, one module per area.

mod graph;
mod queue;
mod review;
