//! Issue "the durable core", proofs with real processes: killed at every record boundary, at random
//! instants, in the middle of a thousand events, and fed with bad input.

mod boundaries;
pub mod fixture;
mod input;
mod random;
mod serve;

pub use random::wanted;
