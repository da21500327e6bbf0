//! Google Pub/Sub.
//!
//! Messages are published to a topic and pulled from one subscription of it; dead letters go to a
//! topic and wait in a subscription of their own. All four are made when they are missing
//! ([`Options::create`]) and verified when they are there; nothing that exists is changed.
//!
//! What Pub/Sub is like, and so this queue:
//!
//! - **No delay.** A message published with a delay is there at once. "Later" and "back at once"
//!   both refuse the message, and the subscription's retry policy says when it comes again.
//! - **Every refusal counts** as a delivery attempt, so `Delivery::deliveries` counts those that
//!   were asked to wait too. Long before Pub/Sub would give the message up, a copy takes its
//!   place, which comes at once and carries the count.
//! - **An acknowledgement is not confirmed**, unless the subscription has exactly-once delivery.
//!   It is sent within a tenth of a second; one that gets lost lets the message come again.
//! - **No order, no depth.** Numbers are in Cloud Monitoring.

mod attributes;
mod clients;
mod dead;
mod diagnose;
mod error;
mod link;
mod names;
mod options;
mod queue;
mod settle;
mod source;
mod stream;
mod topology;
mod verify;

pub use self::{options::Options, queue::PubSub};

use super::{
    Consumer, DeadLetter, DeadVisitor, Depth, Diagnosis, Fate, Message, Queue, QueueError, Settled,
    Settlement, backoff, dispatcher, in_flight, note,
};
