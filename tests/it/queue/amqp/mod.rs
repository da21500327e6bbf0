//! RabbitMQ: the suite's bench, and what is particular to that queue.

pub mod bench;
mod faults;
mod headers;
mod letters;
mod logs;
mod topology;
mod waits;

use std::{sync::Arc, time::Duration};

use lapin::{Channel, Connection, ConnectionProperties};
use verdict::queue::{
    Delivery, Message, Queue,
    amqp::{Amqp, Options},
};

use super::bench::within;
use crate::support::Broker;

/// Waits short enough for tests.
pub fn options() -> Options {
    let delays = [100, 400].map(Duration::from_millis).to_vec();
    Options { delays, max_message: 1 << 20, ..Options::default() }
}

/// A queue on the broker, with these options.
pub fn open(broker: &Broker, options: Options) -> Arc<dyn Queue> {
    Arc::new(Amqp::open(&broker.url(), options, 64).unwrap())
}

/// Somebody else's connection and channel.
async fn foreign(broker: &Broker) -> (Connection, Channel) {
    let connection =
        Connection::connect(&broker.url(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    (connection, channel)
}

async fn publish(queue: &dyn Queue, body: &str) {
    queue.publish(Message::new(body.to_owned()), Duration::ZERO).await.unwrap();
}

async fn take(queue: &dyn Queue) -> Delivery {
    within(queue.consumer().next()).await.unwrap()
}
