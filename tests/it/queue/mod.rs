//! The queue port: one conformance suite for every queue, decoding, and processes that die.

#[cfg(feature = "amqp")]
mod amqp;
mod bench;
mod conformance;
mod decode;
mod embedded;
mod processes;
#[cfg(feature = "pubsub")]
mod pubsub;
