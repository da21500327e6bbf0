//! RabbitMQ, and whatever else speaks AMQP 0.9.1 the way it does.
//!
//! Two connections, each made when it is first needed and again whenever it broke: one publishes,
//! one consumes, for a broker short of memory or disk stops those who publish. What is declared is
//! listed in [`topology`](self) once: the queue, one queue for each wait, and one for dead letters.
//!
//! What the protocol lacks is made up for. A message that is to come back later, or that is held
//! nearly as long as the broker allows, is published again, confirmed, and only then acknowledged:
//! it may be there twice for a moment, and is never missing. Such a copy carries its age and how
//! often it was delivered.
//!
//! What it never does: change or delete what exists at the broker, or look inside a message.
//! Acknowledgements are not confirmed by AMQP: one that is lost only leads to another delivery.

mod dead;
mod diagnose;
mod fault;
mod headers;
mod link;
mod options;
mod place;
mod publish;
mod queue;
mod session;
mod settle;
mod source;
mod topology;

pub use self::{
    options::{Options, QueueType},
    queue::Amqp,
};
