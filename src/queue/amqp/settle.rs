//! Deliveries in hand, and what becomes of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use lapin::{
    Acker, Channel,
    options::{BasicAckOptions, BasicNackOptions},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    super::{Delivery, Message, QueueError, Receipt, Settled, Settlement},
    QueueType,
    adapter::Inner,
    headers::{own, properties},
};
use crate::base::{Fault, Timestamp};

/// A message that cannot be put off properly is kept back at most so long before it goes back: long
/// enough not to come again at once.
const KEPT_BACK: Duration = Duration::from_secs(5);

/// One message of the broker's that is with us.
pub(super) struct Held {
    pub acker: Acker,
    /// Open as long as something on it is held: closed, the broker would take all of it back.
    pub channel: Channel,
    pub message: Message,
    /// Deliveries before this one that nobody settled: carried by the copy, and counted by the
    /// broker.
    pub carried: u32,
    pub counted: u32,
    pub enqueued_at: Timestamp,
    pub arrived: Instant,
    /// Its queue was deleted, or taken from us: only a copy would keep it.
    pub orphan: bool,
}

impl Held {
    pub(super) fn delivery(&self, receipt: Receipt, held_for: Duration) -> Delivery {
        Delivery {
            message: self.message.clone(),
            receipt,
            deliveries: self.earlier().saturating_add(1),
            enqueued_at: self.enqueued_at,
            held_for,
        }
    }

    fn earlier(&self) -> u32 {
        self.carried.saturating_add(self.counted)
    }
}

/// What consumers hold, by receipt.
#[derive(Default)]
pub(super) struct Hands(Mutex<HashMap<Receipt, Arc<Held>>>);

impl Hands {
    fn lock(&self) -> MutexGuard<'_, HashMap<Receipt, Arc<Held>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, receipt: Receipt, held: Arc<Held>) {
        self.lock().insert(receipt, held);
    }

    fn look(&self, receipt: &Receipt) -> Option<Arc<Held>> {
        self.lock().get(receipt).cloned()
    }

    /// Takes it out: whoever gets it, and nobody else, settles it.
    fn take(&self, receipt: &Receipt) -> Option<Arc<Held>> {
        self.lock().remove(receipt)
    }

    /// Drops what the broker has taken back with a channel that is gone.
    pub(super) fn forget_lost(&self) {
        self.lock().retain(|_, held| held.acker.usable());
    }

    /// Marks what came on a channel as on no queue any more.
    pub(super) fn orphan(&self, channel: &Channel) {
        for held in self.lock().values_mut().filter(|held| held.channel.id() == channel.id()) {
            *held = Arc::new(held.orphaned());
        }
    }
}

impl Held {
    pub(super) fn orphaned(&self) -> Self {
        Self {
            acker: self.acker.clone(),
            channel: self.channel.clone(),
            message: self.message.clone(),
            orphan: true,
            ..*self
        }
    }
}

impl Inner {
    pub(super) async fn settle(
        &self,
        receipt: &Receipt,
        how: Settlement,
    ) -> Result<Settled, QueueError> {
        let Some(held) = self.hands.take(receipt) else { return Ok(Settled::Stale) };
        if !held.acker.usable() {
            return Ok(Settled::Stale);
        }
        match how {
            Settlement::Ack => self.ack(&held).await,
            Settlement::Later(wait) if !wait.is_zero() => {
                let copied = self.copy(&held, self.topology.tier(wait)).await;
                self.replaced(&held, copied, wait).await
            }
            Settlement::Later(_) | Settlement::HandBack => self.hand_back(&held).await,
        }
    }

    pub(super) async fn extend(
        &self,
        receipt: &Receipt,
        by: Duration,
    ) -> Result<Settled, QueueError> {
        let Some(held) = self.hands.look(receipt) else { return Ok(Settled::Stale) };
        if !held.acker.usable() {
            self.hands.take(receipt);
            return Ok(Settled::Stale);
        }
        if held.arrived.elapsed().saturating_add(by) < self.options.ack_timeout {
            return Ok(Settled::Done);
        }
        let Some(held) = self.hands.take(receipt) else { return Ok(Settled::Stale) };
        if let Err(error) = self.copy(&held, self.topology.longest()).await {
            self.hands.put(receipt.clone(), held);
            return Err(error);
        }
        tracing::info!(
            "a message held nearly as long as the broker allows was put on the queue again"
        );
        self.ack(&held).await?;
        Ok(Settled::Stale)
    }

    /// Gives a message back to the broker, ahead of others where it can. Each time brings it nearer
    /// to the broker's limit, so half-way there a copy takes its place.
    pub(super) async fn hand_back(&self, held: &Arc<Held>) -> Result<Settled, QueueError> {
        let quorum = self.options.queue_type == QueueType::Quorum;
        if held.orphan || quorum && held.counted >= self.options.delivery_limit / 2 {
            let copied = self.copy(held, &self.topology.main).await;
            return self.replaced(held, copied, KEPT_BACK).await;
        }
        self.nack(held).await
    }

    /// Acknowledges what a copy has replaced. Without one the message itself goes back, after a
    /// while: it must not come round in circles as fast as it can.
    async fn replaced(
        &self,
        held: &Arc<Held>,
        copied: Result<(), QueueError>,
        wait: Duration,
    ) -> Result<Settled, QueueError> {
        match copied {
            Ok(()) => {
                // Unacknowledged it comes again, which is no reason to say nothing was done.
                self.ack(held).await?;
                Ok(Settled::Done)
            }
            Err(error) => {
                let (held, closing) = (held.clone(), self.closing.clone());
                tokio::spawn(async move {
                    closing.run_until_cancelled(sleep(wait.min(KEPT_BACK))).await;
                    let _ = held.acker.nack(requeue()).await;
                });
                Err(error)
            }
        }
    }

    async fn copy(&self, held: &Held, queue: &str) -> Result<(), QueueError> {
        let earlier = held.earlier().to_string();
        let properties =
            properties(&held.message, held.enqueued_at, &[(own::DELIVERIES, &earlier)])?;
        self.put(queue, properties, &held.message.body).await
    }

    async fn ack(&self, held: &Held) -> Result<Settled, QueueError> {
        self.answered(held.acker.ack(BasicAckOptions::default())).await
    }

    async fn nack(&self, held: &Held) -> Result<Settled, QueueError> {
        self.answered(held.acker.nack(requeue())).await
    }

    /// A channel that is gone has given the message back: nothing of it is ours any more.
    async fn answered(
        &self,
        asked: impl Future<Output = lapin::Result<bool>>,
    ) -> Result<Settled, QueueError> {
        match timeout(self.options.timeout, asked).await {
            Ok(Ok(true)) => Ok(Settled::Done),
            Ok(Ok(false) | Err(_)) => Ok(Settled::Stale),
            Err(_) => {
                if let Some(live) = self.consumer.existing().await {
                    live.give_up();
                }
                Err(Fault::timeout("amqp: settling a message took too long").into())
            }
        }
    }
}

fn requeue() -> BasicNackOptions {
    BasicNackOptions { requeue: true, ..Default::default() }
}
