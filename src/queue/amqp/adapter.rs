//! The queue itself: the port's calls, and what they share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    super::{
        DeadLetter, DeadVisitor, Delivery, Depth, Diagnosis, Message, Queue, QueueError, Receipt,
        Settled, Settlement,
    },
    Options,
    feed::{self, Call, Calls, Pump},
    headers::properties,
    place::Place,
    session::{Role, Session},
    settle::Hands,
    topology::Topology,
};
use crate::base::{Clock, Fault};

/// A message is said to stay with its consumer for this part of what the broker allows: consumers
/// extend well before, and an extension that comes close hands the message over.
const HELD_FOR_PART: u32 = 3;

/// A queue on a RabbitMQ broker. Dropping it is what a crash would be: the broker gives what is in
/// hand to others at once.
pub struct Amqp {
    inner: Arc<Inner>,
    calls: Calls,
    /// Makes receipts differ from those of every other handle.
    name: u64,
    given: AtomicU64,
    _pump: AbortOnDropHandle<()>,
}

/// What the calls and the consuming task share.
pub(super) struct Inner {
    pub place: Arc<Place>,
    pub options: Options,
    pub topology: Arc<Topology>,
    pub prefetch: u16,
    pub publisher: Session,
    pub consumer: Session,
    pub hands: Hands,
    pub closing: CancellationToken,
    /// Messages that are here, and that nobody has yet.
    fetched: AtomicU64,
}

impl Inner {
    /// When a call that begins now must have ended.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.options.timeout
    }

    pub(super) fn fetched(&self, count: usize) {
        self.fetched.store(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
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
        let place = Place::new(url, &options)?;
        let topology = Arc::new(Topology::new(&place.queue, &options));
        let session = |role| Session::new(place.clone(), topology.clone(), role, options.timeout);
        let (publisher, consumer) = (session(Role::Publish), session(Role::Consume));
        let inner = Arc::new(Inner {
            place,
            options,
            topology,
            prefetch: prefetch.max(1),
            publisher,
            consumer,
            hands: Hands::default(),
            closing: CancellationToken::new(),
            fetched: AtomicU64::new(0),
        });
        let (calls, inbox) = mpsc::unbounded_channel();
        let pump = Pump::new(inner.clone(), calls.clone(), inbox);
        let pump = AbortOnDropHandle::new(tokio::spawn(pump.run()));
        Ok(Self { inner, calls, name: fastrand::u64(..), given: AtomicU64::new(0), _pump: pump })
    }

    fn held_for(&self) -> Duration {
        self.inner.options.ack_timeout / HELD_FOR_PART
    }
}

#[async_trait]
impl Queue for Amqp {
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        let (size, limit) = (message.size(), self.inner.options.max_message);
        if size > limit {
            return Err(QueueError::TooLarge { size, limit });
        }
        let properties = properties(&message, Clock::system().now(), &[])?;
        let topology = &self.inner.topology;
        let queue = if delay.is_zero() { &topology.main } else { topology.tier(delay) };
        self.inner.put(queue, properties, &message.body).await
    }

    async fn receive(&self) -> Result<Delivery, QueueError> {
        let closed = || QueueError::Fault(Fault::outage("amqp: the queue has been closed"));
        loop {
            let (waiter, parcel) = oneshot::channel();
            self.calls.send(Call::Wait(waiter)).map_err(|_| closed())?;
            if let Some(held) = parcel.await.map_err(|_| closed())??.open() {
                let number = self.given.fetch_add(1, Ordering::Relaxed);
                let receipt = Receipt::new(format!("{:016x}:{number}", self.name));
                let delivery = held.delivery(receipt.clone(), self.held_for());
                self.inner.hands.put(receipt, held);
                return Ok(delivery);
            }
        }
    }

    async fn settle(&self, receipt: &Receipt, how: Settlement) -> Result<Settled, QueueError> {
        self.inner.settle(receipt, how).await
    }

    async fn extend(&self, receipt: &Receipt, by: Duration) -> Result<Settled, QueueError> {
        self.inner.extend(receipt, by).await
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.inner.publish_dead(letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        self.inner.visit_dead(visitor).await
    }

    async fn depth(&self) -> Result<Depth, QueueError> {
        let (inner, topology) = (&*self.inner, &self.inner.topology);
        let live = inner.consumer.get(inner.deadline()).await?;
        let mut delayed = 0;
        for (_, name) in &topology.tiers {
            delayed += feed::ready(inner, &live, name).await?;
        }
        let ready = feed::ready(inner, &live, &topology.main).await?;
        let dead = feed::ready(inner, &live, &topology.dead).await?;
        let ready = ready + inner.fetched.load(Ordering::Relaxed);
        Ok(Depth { ready: Some(ready), in_hand: None, delayed: Some(delayed), dead: Some(dead) })
    }

    async fn check(&self) -> Result<(), QueueError> {
        let inner = &*self.inner;
        let publisher = inner.publisher.once(inner.deadline()).await?;
        if let Some(fault) = publisher.blocked() {
            return Err(fault.into());
        }
        feed::ready(inner, &publisher, &inner.topology.main).await?;
        let consumer = inner.consumer.once(inner.deadline()).await?;
        feed::ready(inner, &consumer, &inner.topology.main).await?;
        Ok(())
    }

    async fn diagnose(&self) -> Vec<Diagnosis> {
        self.inner.diagnose().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        self.inner.closing.cancel();
        let (done, closed) = oneshot::channel();
        // A task that has ended has nothing to hand back.
        if self.calls.send(Call::Close(done)).is_ok() {
            let _ = closed.await;
        }
        Ok(())
    }
}
