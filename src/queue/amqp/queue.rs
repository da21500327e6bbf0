//! The queue itself: the port's calls, each handed to the part that knows.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    super::{
        Consumer, DeadLetter, DeadVisitor, Depth, Diagnosis, Message, Queue, QueueError,
        dispatcher::{Dispatcher, DispatcherHandle},
    },
    Options,
    headers::properties,
    link::Link,
    settle::Rabbit,
    source::AmqpSource,
};
use crate::base::Clock;

/// A queue on a RabbitMQ broker. Dropping it is what a crash would be: the broker gives what is in
/// flight to others at once.
pub struct Amqp {
    broker: Arc<Rabbit>,
    dispatcher: DispatcherHandle,
}

impl Amqp {
    /// The queue at `url`: `amqp[s]://USER:PASSWORD@HOST:PORT/VHOST?queue=NAME`. At most `prefetch`
    /// messages are with this process at a time. Connects when it is first needed, so the broker
    /// may come up later. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// Permanent, naming the setting: a URL that cannot be read, or a file of `queue.amqp.*` that is
    /// missing or is none of its kind.
    pub fn open(url: &str, options: Options, prefetch: u16) -> Result<Self, QueueError> {
        let broker = Arc::new(Rabbit::new(Link::new(url, options, prefetch)?));
        let dispatcher = Dispatcher::start(broker.clone(), AmqpSource::new(broker.clone()));
        Ok(Self { broker, dispatcher })
    }
}

#[async_trait]
impl Queue for Amqp {
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        let link = &self.broker.link;
        let (size, limit) = (message.size(), link.options.max_message);
        if size > limit {
            return Err(QueueError::TooLarge { size, limit });
        }
        let properties = properties(&message, Clock::system().now(), &[])?;
        let topology = &link.topology;
        let queue = if delay.is_zero() { &topology.main } else { topology.tier(delay) };
        link.put(queue, properties, &message.body).await
    }

    fn consumer(&self) -> Consumer {
        self.dispatcher.consumer()
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.broker.link.publish_dead(letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        self.broker.link.visit_dead(visitor).await
    }

    async fn depth(&self) -> Result<Depth, QueueError> {
        let link = &self.broker.link;
        let live = link.consumer.get(link.deadline()).await?;
        let mut delayed = 0;
        for (_, name) in &link.topology.tiers {
            delayed += link.ready(&live, name).await?;
        }
        let ready = link.ready(&live, &link.topology.main).await?;
        let dead = link.ready(&live, &link.topology.dead).await?;
        let ready = ready + self.dispatcher.buffered();
        Ok(Depth { ready: Some(ready), in_hand: None, delayed: Some(delayed), dead: Some(dead) })
    }

    async fn check(&self) -> Result<(), QueueError> {
        let link = &self.broker.link;
        let publisher = link.publisher.once(link.deadline()).await?;
        if let Some(fault) = publisher.blocked() {
            return Err(fault.into());
        }
        link.ready(&publisher, &link.topology.main).await?;
        let consumer = link.consumer.once(link.deadline()).await?;
        link.ready(&consumer, &link.topology.main).await?;
        Ok(())
    }

    async fn diagnose(&self) -> Vec<Diagnosis> {
        self.broker.link.diagnose().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        self.dispatcher.close().await;
        Ok(())
    }
}
