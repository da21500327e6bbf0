//! What becomes of a delivery: acknowledged, handed back, or replaced by a copy.

use std::time::Duration;

use async_trait::async_trait;
use lapin::{
    Acker, Channel,
    options::{BasicAckOptions, BasicNackOptions},
};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    super::{
        QueueError, Settled, Settlement,
        in_flight::{self, Broker, InFlight},
    },
    QueueType,
    headers::{own, properties},
    link::Link,
};
use crate::base::Fault;

/// A delivery stays with its consumer for this part of the time that the broker allows, unless
/// extended. An extension close to the broker's limit replaces the message by a copy.
const HELD_FOR_PART: u32 = 3;

pub(super) type Taken = in_flight::Taken<AckHandle>;
type Unsettled = in_flight::Unsettled<AckHandle>;

/// What settles one message.
pub(super) struct AckHandle {
    pub acker: Acker,
    /// Open as long as something that came on it is not settled: closed, the broker would take all
    /// of it back.
    pub channel: Channel,
    /// Its queue was deleted, or taken from us: only a copy would keep it.
    pub orphan: bool,
}

impl in_flight::AckHandle for AckHandle {
    fn is_lost(&self) -> bool {
        !self.acker.usable()
    }
}

/// The broker, and the deliveries of this handle on the queue.
pub(super) struct Rabbit {
    pub link: Link,
    pub in_flight: InFlight<AckHandle>,
}

#[async_trait]
impl Broker for Rabbit {
    type Ack = AckHandle;

    fn in_flight(&self) -> &InFlight<AckHandle> {
        &self.in_flight
    }

    fn max_hold(&self) -> Duration {
        self.link.options.ack_timeout
    }

    async fn settle_taken(&self, taken: Taken, how: Settlement) -> Result<Settled, Unsettled> {
        match how {
            Settlement::Ack => Ok(self.ack(&taken).await?),
            Settlement::Later(wait) if !wait.is_zero() => {
                self.copy_instead(taken, self.link.topology.tier(wait)).await
            }
            Settlement::Later(_) | Settlement::HandBack => self.hand_back(taken).await,
        }
    }

    async fn replace(&self, taken: Taken) -> Result<Settled, Unsettled> {
        self.copy_instead(taken, self.link.topology.longest()).await
    }
}

impl Rabbit {
    pub(super) fn new(link: Link) -> Self {
        let held_for = link.options.ack_timeout / HELD_FOR_PART;
        // The broker keeps to the prefetch by itself.
        Self { link, in_flight: InFlight::new(held_for, Semaphore::MAX_PERMITS) }
    }

    /// Gives a message back to the broker, ahead of others where it can. Each time brings it nearer
    /// to the broker's limit, so half-way there a copy takes its place.
    pub(super) async fn hand_back(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let options = &self.link.options;
        let quorum = options.queue_type == QueueType::Quorum;
        if taken.ack.orphan || quorum && taken.counted >= options.delivery_limit / 2 {
            return self.copy_instead(taken, &self.link.topology.main).await;
        }
        Ok(self.nack(&taken).await?)
    }

    /// Publishes a copy and acknowledges the original.
    async fn copy_instead(&self, taken: Taken, queue: &str) -> Result<Settled, Unsettled> {
        if let Err(error) = self.copy(&taken, queue).await {
            return Err(Unsettled::retry(error, taken));
        }
        // Unacknowledged it comes again, which is no reason to say nothing was done.
        self.ack(&taken).await?;
        Ok(Settled::Done)
    }

    async fn copy(&self, taken: &Taken, queue: &str) -> Result<(), QueueError> {
        let earlier = taken.earlier_deliveries().to_string();
        let properties =
            properties(&taken.message, taken.enqueued_at, &[(own::DELIVERIES, &earlier)])?;
        self.link.put(queue, properties, &taken.message.body).await
    }

    async fn ack(&self, taken: &Taken) -> Result<Settled, QueueError> {
        self.answered(taken.ack.acker.ack(BasicAckOptions::default())).await
    }

    pub(super) async fn nack(&self, taken: &Taken) -> Result<Settled, QueueError> {
        let requeue = BasicNackOptions { requeue: true, ..Default::default() };
        self.answered(taken.ack.acker.nack(requeue)).await
    }

    /// A channel that is gone has given the message back: nothing of it is ours any more.
    async fn answered(
        &self,
        call: impl Future<Output = lapin::Result<bool>>,
    ) -> Result<Settled, QueueError> {
        match timeout(self.link.options.timeout, call).await {
            Ok(Ok(true)) => Ok(Settled::Done),
            Ok(Ok(false) | Err(_)) => Ok(Settled::Stale),
            Err(_) => {
                if let Some(live) = self.link.consumer.existing().await {
                    live.give_up();
                }
                Err(Fault::timeout("amqp: settling a message took too long").into())
            }
        }
    }
}
