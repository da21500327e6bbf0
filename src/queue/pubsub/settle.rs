//! What becomes of a delivery: acknowledged, refused, or replaced by a copy.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use google_cloud_pubsub::{error::AckError, subscriber::handler::Handler};
use tokio::{task::JoinHandle, time::timeout};
use tokio_util::task::TaskTracker;

use super::{
    Settled, Settlement,
    attributes::{Origin, outgoing},
    error::unacknowledged,
    in_flight::{self, Broker, InFlight},
    link::{Link, To},
};
use crate::base::Fault;

/// The client extends what is held for this long at most.
pub(super) const MAX_LEASE: Duration = Duration::from_secs(12 * 3600);
/// From then on a delivery is replaced by a copy when it is extended.
const MAX_HOLD: Duration = Duration::from_secs(11 * 3600);

pub(super) type Taken = in_flight::Taken<AckHandle>;
type Unsettled = in_flight::Unsettled<AckHandle>;

/// What settles one message, and the stream it came from.
pub(super) struct AckHandle {
    pub ack: Ack,
    pub stream: Arc<StreamState>,
}

/// An acknowledgement. Dropping a handler gives the message back.
pub(super) enum Ack {
    Unsent(Handler),
    /// On its way, and to be confirmed.
    Sent(JoinHandle<Result<(), AckError>>),
}

/// A stream, as the messages that came from it see it.
#[derive(Default)]
pub(super) struct StreamState {
    lost: AtomicBool,
}

impl StreamState {
    /// The subscription went, and with it every claim on what came from it.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
    }
}

impl in_flight::AckHandle for AckHandle {
    fn is_lost(&self) -> bool {
        self.stream.lost.load(Ordering::Acquire)
    }
}

/// The service, and the deliveries of this handle on the queue.
pub(super) struct Service {
    pub link: Link,
    pub in_flight: InFlight<AckHandle>,
    /// Streams, each until everything that came from it is settled and the service was told.
    pub streams: TaskTracker,
    outage: Mutex<Option<Fault>>,
}

#[async_trait]
impl Broker for Service {
    type Ack = AckHandle;

    fn in_flight(&self) -> &InFlight<AckHandle> {
        &self.in_flight
    }

    fn max_hold(&self) -> Duration {
        MAX_HOLD
    }

    fn outage(&self) -> Option<Fault> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn settle_taken(&self, taken: Taken, how: Settlement) -> Result<Settled, Unsettled> {
        let settled = match how {
            Settlement::Ack => self.acknowledge(taken).await?,
            Settlement::Later(_) | Settlement::HandBack => self.give_back(taken).await?,
        };
        self.flush_last().await;
        Ok(settled)
    }

    async fn replace(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let origin = Origin {
            sent: taken.enqueued_at,
            deliveries: taken.earlier_deliveries().saturating_add(1),
        };
        let Ok(copy) = outgoing(&taken.message, &origin) else {
            // It came from somewhere else, with no room for what is ours: dropping gives it back.
            return Ok(Settled::Done);
        };
        if let Err(error) = self.link.publish(copy, To::Work).await {
            return Err(Unsettled::retry(error, taken));
        }
        self.acknowledge(taken).await
    }
}

impl Service {
    pub(super) fn new(link: Link, prefetch: usize) -> Self {
        let in_flight = InFlight::new(link.options.ack_deadline, prefetch);
        Self { link, in_flight, streams: TaskTracker::new(), outage: Mutex::default() }
    }

    /// Notes why the service is out of reach, or that it is not.
    pub(super) fn set_outage(&self, outage: Option<Fault>) {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }

    /// Gives a message back: refused while that is harmless to it, else replaced by a copy.
    pub(super) async fn give_back(&self, taken: Taken) -> Result<Settled, Unsettled> {
        let attempts = taken.counted.saturating_add(1);
        let near_limit = attempts.saturating_mul(2) >= self.link.options.delivery_attempts;
        match taken.ack.ack {
            Ack::Unsent(handler) if !near_limit => {
                handler.nack();
                Ok(Settled::Done)
            }
            // An acknowledgement on its way cannot be called back.
            Ack::Sent(_) => self.acknowledge(taken).await.map(|_| Settled::Stale),
            Ack::Unsent(_) => self.replace(taken).await,
        }
    }

    async fn acknowledge(&self, mut taken: Taken) -> Result<Settled, Unsettled> {
        let mut acking = match taken.ack.ack {
            Ack::Unsent(Handler::ExactlyOnce(handler)) => tokio::spawn(handler.confirmed_ack()),
            Ack::Sent(acking) => acking,
            Ack::Unsent(handler) => {
                handler.ack();
                return Ok(Settled::Done);
            }
        };
        match timeout(self.link.options.timeout, &mut acking).await {
            Ok(Ok(Ok(()))) => Ok(Settled::Done),
            Ok(Ok(Err(error))) => match unacknowledged(&error) {
                None => Ok(Settled::Stale),
                // The handler is used up: the message may come again.
                Some(error) => Err(error.into()),
            },
            Ok(Err(_)) => Ok(Settled::Stale),
            Err(_) => {
                let error = Fault::outage("Pub/Sub: acknowledging: no answer in time");
                taken.ack.ack = Ack::Sent(acking);
                Err(Unsettled::retry(error, taken))
            }
        }
    }

    /// Once the queue is closed there may be no later: waits until the service was told of the
    /// last settlement.
    async fn flush_last(&self) {
        if self.streams.is_closed() && self.in_flight.is_empty() {
            let _ = timeout(self.link.options.timeout, self.streams.wait()).await;
        }
    }
}
