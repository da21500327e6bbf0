//! The queue itself: the port's calls, each handed to the part that knows.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{
    Consumer, DeadLetter, DeadVisitor, Depth, Diagnosis, Message, Options, Queue, QueueError,
    attributes::{Origin, outgoing},
    dispatcher::{Dispatcher, DispatcherHandle},
    error::bounded,
    link::{Link, To},
    names::Names,
    settle::Service,
    source::PubSubSource,
};
use crate::base::Clock;

/// A queue at Google Pub/Sub. Dropping it without closing it gives back what its consumers hold.
pub struct PubSub {
    service: Arc<Service>,
    dispatcher: DispatcherHandle,
}

impl PubSub {
    /// The queue that pulls from `subscription` in `project` and publishes to `topic`, or else to
    /// the topic that the subscription is on. Consumers of this handle hold no more than
    /// `prefetch` messages, those counted that are on their way to one. Nothing is asked of the
    /// service yet. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// For a name that cannot be one; it names the setting.
    pub fn open(
        project: &str,
        subscription: &str,
        topic: Option<&str>,
        options: Options,
        prefetch: usize,
    ) -> Result<Self, QueueError> {
        let names = Names::new(project, subscription, topic, &options)?;
        let prefetch = prefetch.max(1);
        let service = Arc::new(Service::new(Link::new(names, options), prefetch));
        let source = PubSubSource::new(service.clone(), prefetch);
        let dispatcher = Dispatcher::start(service.clone(), source);
        Ok(Self { service, dispatcher })
    }
}

#[async_trait]
impl Queue for PubSub {
    /// Pub/Sub has no delay: the message is there at once, and whoever takes it too early puts it
    /// off.
    async fn publish(&self, message: Message, _delay: Duration) -> Result<(), QueueError> {
        let origin = Origin { sent: Clock::system().now(), deliveries: 0 };
        self.service.link.publish(outgoing(&message, &origin)?, To::Work).await
    }

    fn consumer(&self) -> Consumer {
        self.dispatcher.consumer()
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.service.link.publish_dead(&letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        self.service.link.visit_dead(visitor).await
    }

    /// Pub/Sub tells no numbers to those who use it; Cloud Monitoring has them.
    async fn depth(&self) -> Result<Depth, QueueError> {
        Ok(Depth::default())
    }

    async fn check(&self) -> Result<(), QueueError> {
        let link = &self.service.link;
        bounded(link.options.timeout, "checking", link.verified()).await?;
        self.service.set_outage(None);
        Ok(())
    }

    async fn diagnose(&self) -> Vec<Diagnosis> {
        self.service.link.diagnose().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        self.dispatcher.close().await;
        Ok(())
    }
}
