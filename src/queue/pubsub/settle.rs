//! Settling: acknowledging, giving back, and the copy that keeps patience free.

use std::time::Duration;

use google_cloud_pubsub::subscriber::handler::Handler;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{
    QueueError, Receipt, Settled, Settlement,
    attributes::{Origin, outgoing},
    error::unacknowledged,
    held::{Entry, Grip, Held, Taken},
    link::{Link, To},
};
use crate::base::Fault;

/// The client extends what is held for this long at most.
pub(super) const LONGEST_LEASE: Duration = Duration::from_secs(12 * 3600);
/// From then on a delivery is replaced by a copy when it is extended.
const LONGEST_HOLD: Duration = Duration::from_secs(11 * 3600);

/// What a queue's handle and its pump share.
pub(super) struct Shared {
    pub link: Link,
    pub held: Held,
    /// Streams, each until everything that came from it is settled and the service was told.
    pub streams: TaskTracker,
}

/// Why something could not be settled, and the message, if it can be tried again.
type Unsettled = Box<(QueueError, Option<Taken>)>;

impl Shared {
    pub(super) async fn settle(
        &self,
        receipt: &Receipt,
        how: Settlement,
    ) -> Result<Settled, QueueError> {
        let Some((key, entry)) = self.held.take(receipt) else { return Ok(Settled::Stale) };
        if let Some(fault) = self.held.down() {
            self.held.put_back(key, entry);
            return Err(QueueError::Fault(fault));
        }
        let Entry { taken, since, until } = entry;
        let settled = match how {
            Settlement::Ack => self.acknowledge(taken).await,
            Settlement::Later(_) | Settlement::HandBack => self.give_back(taken).await,
        };
        match settled {
            Ok(settled) => {
                self.told().await;
                Ok(settled)
            }
            Err(unsettled) => {
                let (error, taken) = *unsettled;
                if let Some(taken) = taken {
                    self.held.put_back(key, Entry { taken, since, until });
                }
                Err(error)
            }
        }
    }

    /// Keeps a delivery in hand. The client extends it by itself; what nobody speaks of goes back.
    pub(super) async fn extend(
        &self,
        receipt: &Receipt,
        by: Duration,
    ) -> Result<Settled, QueueError> {
        let Some(held) = self.held.extend(receipt, by) else { return Ok(Settled::Stale) };
        if let Some(fault) = self.held.down() {
            return Err(QueueError::Fault(fault));
        }
        if held < LONGEST_HOLD {
            return Ok(Settled::Done);
        }
        let Some((key, entry)) = self.held.take(receipt) else { return Ok(Settled::Stale) };
        let Entry { taken, since, until } = entry;
        match self.replace(taken).await {
            Ok(_) => Ok(Settled::Stale),
            Err(unsettled) => {
                let (error, taken) = *unsettled;
                if let Some(taken) = taken {
                    self.held.put_back(key, Entry { taken, since, until });
                }
                Err(error)
            }
        }
    }

    /// Gives a message back: refused while that is harmless to it, else replaced by a copy.
    pub(super) async fn give_back(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let nearing = taken.attempt.saturating_mul(2) >= self.link.options.delivery_attempts;
        match taken.grip {
            Grip::Handler(handler) if !nearing => {
                handler.nack();
                Ok(Settled::Done)
            }
            // An acknowledgement on its way cannot be called back.
            Grip::Acking(_) => self.acknowledge(taken).await.map(|_| Settled::Stale),
            Grip::Handler(_) => self.replace(taken).await,
        }
    }

    async fn replace(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let origin = Origin { sent: taken.origin.sent, deliveries: taken.deliveries() };
        let Ok(copy) = outgoing(&taken.message, &origin) else {
            // It came from somewhere else, with no room for what is ours: dropping gives it back.
            return Ok(Settled::Done);
        };
        if let Err(error) = self.link.publish(copy, To::Work).await {
            return Err(Box::new((error, Some(taken))));
        }
        self.acknowledge(taken).await
    }

    async fn acknowledge(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let Taken { message, origin, attempt, grip, source, slot } = taken;
        let mut acking = match grip {
            Grip::Handler(Handler::ExactlyOnce(handler)) => tokio::spawn(handler.confirmed_ack()),
            Grip::Acking(acking) => acking,
            Grip::Handler(handler) => {
                handler.ack();
                return Ok(Settled::Done);
            }
        };
        match timeout(self.link.options.timeout, &mut acking).await {
            Ok(Ok(Ok(()))) => Ok(Settled::Done),
            Ok(Ok(Err(error))) => match unacknowledged(&error) {
                None => Ok(Settled::Stale),
                // The handler is used up: the message may come again.
                Some(error) => Err(Box::new((error, None))),
            },
            Ok(Err(_)) => Ok(Settled::Stale),
            Err(_) => {
                let error = Fault::outage("Pub/Sub: acknowledging: no answer in time");
                let grip = Grip::Acking(acking);
                let taken = Taken { message, origin, attempt, grip, source, slot };
                Err(Box::new((QueueError::Fault(error), Some(taken))))
            }
        }
    }

    /// Once the queue is closed there may be no later: waits until the service was told of the
    /// last settlement.
    async fn told(&self) {
        if self.streams.is_closed() && self.held.is_empty() {
            let _ = timeout(self.link.options.timeout, self.streams.wait()).await;
        }
    }
}
