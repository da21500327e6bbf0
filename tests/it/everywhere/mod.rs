//! The worker on every queue: each row of its table, poison, and a flood, on the embedded queue, on
//! RabbitMQ and on Google's Pub/Sub emulator.
//!
//! `worker` shows the same rows in full under a clock wound by hand. Here time is real and short,
//! and the brokers' own limits on deliveries are as low as they can be set: nothing a worker does to
//! a healthy message may come near them.

mod embedded;
mod flood;
mod headers;
mod letters;
mod outages;
mod outcomes;
mod patience;
mod poison;
mod pubsub;
mod rabbit;
pub mod site;
mod stopping;
mod strangers;
pub mod webhooks;
