//! RabbitMQ, and whatever else speaks AMQP 0.9.1.

mod options;

pub use options::{Options, QueueType};
