//! Google Pub/Sub.

mod options;

pub use options::Options;
