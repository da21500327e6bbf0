//! Issue "the durable core", proofs with real processes: killed at every record boundary, at random
//! instants, in the middle of a thousand events, taken over from by others, and fed with bad input.

mod boundaries;
pub mod fixture;
mod input;
mod random;
mod serve;
mod takeover;

pub use random::wanted;
