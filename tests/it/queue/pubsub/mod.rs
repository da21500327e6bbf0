//! What is particular to Google Pub/Sub, on the real emulator.

mod attributes;
pub mod bench;
mod bound;
mod given_up;
mod outages;
mod topology;
