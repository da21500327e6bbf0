//! The queue port: one conformance suite for every queue, decoding, and processes that die.

mod bench;
mod conformance;
mod decode;
mod embedded;
mod processes;
