//! A message that one consumer holds, and what the consumer does with it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;

use super::{Message, QueueError};
use crate::base::Timestamp;

/// One message that one consumer holds. Clones are the same delivery: one of them settles it.
///
/// Dropping it settles nothing: the message is delivered again when its visibility has run out.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What was published.
    pub message: Message,
    /// 1, plus the earlier deliveries that nobody settled, as far as the queue can tell: a message
    /// that keeps killing its worker shows here, one that was asked to wait does not.
    pub deliveries: u32,
    /// When it was published.
    pub enqueued_at: Timestamp,
    /// How long it stays with this consumer unless extended. Extend well before.
    pub held_for: Duration,
    pub(super) receipt: Receipt,
    pub(super) queue: Weak<dyn Settle>,
}

impl Delivery {
    /// Settles it: acknowledges it, postpones it, or hands it back.
    ///
    /// # Errors
    /// What the queue answered; the message is delivered again, if it was not settled nonetheless.
    pub async fn settle(&self, how: Settlement) -> Result<Settled, QueueError> {
        match self.queue.upgrade() {
            Some(queue) => queue.settle(self.receipt, how).await,
            None => Ok(Settled::Stale),
        }
    }

    /// Keeps it with this consumer until `by` from now. Where a broker bounds how long a message may
    /// be held, an extension near that bound puts a confirmed copy on the queue, acknowledges the
    /// original and answers [`Settled::Stale`].
    ///
    /// # Errors
    /// What the queue answered; the delivery is held as long as before.
    pub async fn extend(&self, by: Duration) -> Result<Settled, QueueError> {
        match self.queue.upgrade() {
            Some(queue) => queue.extend(self.receipt, by).await,
            None => Ok(Settled::Stale),
        }
    }
}

/// What becomes of a delivered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Done with; it is gone.
    Ack,
    /// Deliver it again, not before this has passed. A broker may round it to what it offers.
    Later(Duration),
    /// Deliver it again as soon as anybody asks, ahead of what arrived after it where the queue
    /// keeps an order.
    HandBack,
}

impl Settlement {
    /// Its word, for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Later(_) => "later",
            Self::HandBack => "hand_back",
        }
    }
}

/// Whether the consumer still held the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It did, and what was asked is durably so.
    Done,
    /// The delivery was settled before, its visibility ran out and somebody else has the message
    /// now, or its queue was dropped. Nothing was changed. The holder's work may go on: its run's
    /// lease decides.
    Stale,
}

/// Names one delivery of one handle on a queue. Only the queue that made it reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Receipt {
    pub id: i64,
    /// Tells deliveries of one message apart, where `id` names the message.
    pub token: i64,
}

/// The queue as its deliveries see it. They do not keep it open.
#[async_trait]
pub(super) trait Settle: Send + Sync + 'static {
    async fn settle(&self, receipt: Receipt, how: Settlement) -> Result<Settled, QueueError>;

    async fn extend(&self, receipt: Receipt, by: Duration) -> Result<Settled, QueueError>;
}

/// What a delivery keeps of its queue.
pub(super) fn weak<Q: Settle>(queue: &Arc<Q>) -> Weak<dyn Settle> {
    let queue: Weak<Q> = Arc::downgrade(queue);
    queue
}
