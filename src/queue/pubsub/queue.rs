//! The queue itself: the port's calls, each handed to the part that knows.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    DeadLetter, DeadVisitor, Delivery, Depth, Diagnosis, Message, Options, Queue, QueueError,
    Receipt, Settled, Settlement,
    attributes::{Origin, outgoing},
    error::bounded,
    held::Held,
    link::{Link, To},
    names::Names,
    pump::{Call, Calls, Pump},
    settle::Shared,
};
use crate::base::{Clock, Fault};

/// A queue at Google Pub/Sub. Dropping it without closing it gives back what its consumers hold.
pub struct PubSub {
    shared: Arc<Shared>,
    calls: Calls,
    _pump: AbortOnDropHandle<()>,
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
        let held = Held::new(options.ack_deadline);
        let (link, streams) = (Link::new(names, options), TaskTracker::new());
        let shared = Arc::new(Shared { link, held, streams });
        let (calls, inbox) = mpsc::unbounded_channel();
        let pump = Pump::new(shared.clone(), prefetch.max(1), &calls, inbox);
        Ok(Self { shared, calls, _pump: AbortOnDropHandle::new(tokio::spawn(pump.run())) })
    }
}

#[async_trait]
impl Queue for PubSub {
    /// Pub/Sub has no delay: the message is there at once, and whoever takes it too early puts it
    /// off.
    async fn publish(&self, message: Message, _delay: Duration) -> Result<(), QueueError> {
        let origin = Origin { sent: Clock::system().now(), deliveries: 0 };
        self.shared.link.publish(outgoing(&message, &origin)?, To::Work).await
    }

    async fn receive(&self) -> Result<Delivery, QueueError> {
        let ended = || QueueError::Fault(Fault::outage("Pub/Sub: the queue has been closed"));
        loop {
            let (waiter, parcel) = oneshot::channel();
            self.calls.send(Call::Wait(waiter)).map_err(|_| ended())?;
            if let Some(taken) = parcel.await.map_err(|_| ended())??.open() {
                return Ok(self.shared.held.hand_over(taken));
            }
        }
    }

    async fn settle(&self, receipt: &Receipt, how: Settlement) -> Result<Settled, QueueError> {
        self.shared.settle(receipt, how).await
    }

    async fn extend(&self, receipt: &Receipt, by: Duration) -> Result<Settled, QueueError> {
        self.shared.extend(receipt, by).await
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.shared.link.publish_dead(&letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        self.shared.link.visit_dead(visitor).await
    }

    /// Pub/Sub tells no numbers to those who use it; Cloud Monitoring has them.
    async fn depth(&self) -> Result<Depth, QueueError> {
        Ok(Depth::default())
    }

    async fn check(&self) -> Result<(), QueueError> {
        let link = &self.shared.link;
        bounded(link.options.timeout, "checking", link.verified()).await?;
        self.shared.held.set_down(None);
        Ok(())
    }

    async fn diagnose(&self) -> Vec<Diagnosis> {
        self.shared.link.diagnose().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        let (done, closed) = oneshot::channel();
        // A pump that has ended has nothing to give back.
        if self.calls.send(Call::Close(done)).is_ok() {
            let _ = closed.await;
        }
        Ok(())
    }
}
