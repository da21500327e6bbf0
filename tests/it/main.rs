//! The integration tests, one binary: a folder or file per area.

mod review;
