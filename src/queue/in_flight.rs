//! Messages that consumers hold, for queues whose broker knows a delivery by its connection only.
//!
//! It decides who may settle what: each message leaves the table once, and comes back into it only
//! when settling it failed and can be tried again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{
    Delivery, Message, QueueError, Settled, Settlement,
    delivery::{Receipt, Settle, weak},
    dispatcher::Holder,
};
use crate::base::{Fault, Timestamp};

/// A message that could not be settled goes back after this: long enough not to come round in circles.
const RETURN_DELAY: Duration = Duration::from_secs(5);

/// What the broker needs to settle one message.
pub(super) trait AckHandle: Send + 'static {
    /// Whether the broker has taken the message back: nothing that is done with it counts.
    fn is_lost(&self) -> bool;
}

/// One message that came from a broker and is not settled.
pub(super) struct Taken<A> {
    pub message: Message,
    pub enqueued_at: Timestamp,
    /// Deliveries before this one that nobody settled: those of the copies before this copy, and
    /// those of this copy that the broker counted.
    pub carried: u32,
    pub counted: u32,
    pub arrived_at: Instant,
    pub ack: A,
}

impl<A> Taken<A> {
    pub(super) fn earlier_deliveries(&self) -> u32 {
        self.carried.saturating_add(self.counted)
    }
}

/// Why a message could not be settled, and the message itself if that can be tried again.
pub(super) struct Unsettled<A> {
    pub error: QueueError,
    pub taken: Option<Box<Taken<A>>>,
}

impl<A> Unsettled<A> {
    pub(super) fn retry(error: impl Into<QueueError>, taken: Taken<A>) -> Self {
        Self { error: error.into(), taken: Some(Box::new(taken)) }
    }
}

impl<A> From<QueueError> for Unsettled<A> {
    fn from(error: QueueError) -> Self {
        Self { error, taken: None }
    }
}

/// What one broker does with the messages that came from it.
#[async_trait]
pub(super) trait Broker: Send + Sync + 'static {
    type Ack: AckHandle;

    fn in_flight(&self) -> &InFlight<Self::Ack>;

    /// How long a message may be held before a copy must take its place.
    fn max_hold(&self) -> Duration;

    /// Why the broker is known to be out of reach.
    fn outage(&self) -> Option<Fault> {
        None
    }

    async fn settle_taken(
        &self,
        taken: Taken<Self::Ack>,
        how: Settlement,
    ) -> Result<Settled, Unsettled<Self::Ack>>;

    /// Publishes a copy, confirmed, and acknowledges the original.
    async fn replace(&self, taken: Taken<Self::Ack>) -> Result<Settled, Unsettled<Self::Ack>>;
}

#[async_trait]
impl<B: Broker> Settle for B {
    async fn settle(&self, receipt: Receipt, how: Settlement) -> Result<Settled, QueueError> {
        let Some((taken, slot)) = self.in_flight().take(receipt) else {
            return Ok(Settled::Stale);
        };
        let settled = match self.outage() {
            Some(fault) => Err(Unsettled::retry(fault, taken)),
            None => self.settle_taken(taken, how).await,
        };
        self.in_flight().end(receipt, slot, settled, RETURN_DELAY)
    }

    async fn extend(&self, receipt: Receipt, by: Duration) -> Result<Settled, QueueError> {
        let Some(age) = self.in_flight().extend(receipt, by) else { return Ok(Settled::Stale) };
        if let Some(fault) = self.outage() {
            return Err(fault.into());
        }
        if age.saturating_add(by) < self.max_hold() {
            return Ok(Settled::Done);
        }
        let Some((taken, slot)) = self.in_flight().take(receipt) else {
            return Ok(Settled::Stale);
        };
        let replaced = self.replace(taken).await;
        self.in_flight().end(receipt, slot, replaced, by)?;
        tracing::info!(
            "a message held nearly as long as the broker allows was put on the queue again"
        );
        Ok(Settled::Stale)
    }
}

impl<B: Broker> Holder for Arc<B> {
    type Taken = Taken<B::Ack>;

    fn hand_over(&self, taken: Taken<B::Ack>) -> Result<Delivery, Taken<B::Ack>> {
        let in_flight = self.in_flight();
        let Ok(slot) = in_flight.slots.clone().try_acquire_owned() else { return Err(taken) };
        let (message, enqueued_at) = (taken.message.clone(), taken.enqueued_at);
        let deliveries = taken.earlier_deliveries().saturating_add(1);
        let receipt = in_flight.insert(taken, slot);
        let (held_for, queue) = (in_flight.held_for, weak(self));
        Ok(Delivery { message, deliveries, enqueued_at, held_for, receipt, queue })
    }

    fn take_back(&self, delivery: Delivery) -> Option<Taken<B::Ack>> {
        self.in_flight().take(delivery.receipt).map(|(taken, _)| taken)
    }

    fn is_lost(taken: &Taken<B::Ack>) -> bool {
        taken.ack.is_lost()
    }

    fn expired(&self) -> Vec<Taken<B::Ack>> {
        let (now, mut table) = (Instant::now(), self.in_flight().table());
        let expired = table.entries.extract_if(|_, entry| entry.until <= now);
        let taken = expired.map(|(_, entry)| entry.taken);
        taken.filter(|taken| !taken.ack.is_lost()).collect()
    }
}

/// The deliveries of one handle on a queue.
pub(super) struct InFlight<A> {
    held_for: Duration,
    limit: usize,
    slots: Arc<Semaphore>,
    table: Mutex<Table<A>>,
}

struct Table<A> {
    last: i64,
    entries: HashMap<i64, Entry<A>>,
}

struct Entry<A> {
    taken: Taken<A>,
    until: Instant,
    /// Kept until the message is settled, not only until that begins.
    slot: OwnedSemaphorePermit,
}

impl<A: AckHandle> InFlight<A> {
    /// For deliveries that stay `held_for` with their consumers unless extended, at most `limit` at
    /// a time.
    pub(super) fn new(held_for: Duration, limit: usize) -> Self {
        let table = Mutex::new(Table { last: 0, entries: HashMap::new() });
        Self { held_for, limit, slots: Arc::new(Semaphore::new(limit)), table }
    }

    /// Takes a message out, so that nobody else settles it.
    fn take(&self, receipt: Receipt) -> Option<(Taken<A>, OwnedSemaphorePermit)> {
        let Entry { taken, slot, .. } = self.table().entries.remove(&receipt.id)?;
        (!taken.ack.is_lost()).then_some((taken, slot))
    }

    /// The answer to the holder, who may try again for as long as `keep`.
    fn end(
        &self,
        receipt: Receipt,
        slot: OwnedSemaphorePermit,
        settled: Result<Settled, Unsettled<A>>,
        keep: Duration,
    ) -> Result<Settled, QueueError> {
        settled.map_err(|Unsettled { error, taken }| {
            if let Some(taken) = taken {
                let until = Instant::now() + keep;
                self.table().entries.insert(receipt.id, Entry { taken: *taken, until, slot });
            }
            error
        })
    }

    fn insert(&self, taken: Taken<A>, slot: OwnedSemaphorePermit) -> Receipt {
        let until = Instant::now() + self.held_for;
        let mut table = self.table();
        table.last += 1;
        let id = table.last;
        table.entries.insert(id, Entry { taken, until, slot });
        Receipt { id, token: 0 }
    }

    /// Keeps a message until `by` from now; how long ago it arrived. `None`: it is not here.
    fn extend(&self, receipt: Receipt, by: Duration) -> Option<Duration> {
        let mut table = self.table();
        let entry = table.entries.get_mut(&receipt.id)?;
        entry.until = Instant::now() + by;
        (!entry.taken.ack.is_lost()).then(|| entry.taken.arrived_at.elapsed())
    }

    /// Whether consumers hold nothing that they can still settle.
    pub(super) fn is_empty(&self) -> bool {
        self.table().entries.is_empty()
    }

    /// The same, and nothing is being settled.
    pub(super) fn is_idle(&self) -> bool {
        self.slots.available_permits() == self.limit
    }

    pub(super) fn is_full(&self) -> bool {
        self.slots.available_permits() == 0
    }

    /// Waits until consumers may hold one more.
    pub(super) async fn room(&self) {
        drop(self.slots.acquire().await);
    }

    /// Changes what consumers hold.
    pub(super) fn for_each(&self, mut change: impl FnMut(&mut A)) {
        self.table().entries.values_mut().for_each(|entry| change(&mut entry.taken.ack));
    }

    fn table(&self) -> MutexGuard<'_, Table<A>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
