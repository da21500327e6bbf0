//! Messages in consumers' hands: who may still settle what, and until when.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use google_cloud_pubsub::{error::AckError, subscriber::handler::Handler};
use tokio::{sync::OwnedSemaphorePermit, task::JoinHandle, time::Instant};

use super::{Delivery, Message, Receipt, attributes::Origin};
use crate::base::Fault;

/// The stream a message came from.
#[derive(Default)]
pub(super) struct Source {
    lost: AtomicBool,
}

impl Source {
    /// The subscription went, and with it every claim on what came from it.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }
}

/// What holds a message. Dropping a handler gives the message back.
pub(super) enum Grip {
    Handler(Handler),
    /// An acknowledgement that is on its way.
    Acking(JoinHandle<Result<(), AckError>>),
}

/// One message that came and is not settled.
pub(super) struct Taken {
    pub message: Message,
    pub origin: Origin,
    /// Pub/Sub's own count of this copy's deliveries, from 1.
    pub attempt: u32,
    pub grip: Grip,
    pub source: Arc<Source>,
    /// Of the prefetch, while a consumer has it.
    pub slot: Option<OwnedSemaphorePermit>,
}

impl Taken {
    pub(super) fn deliveries(&self) -> u32 {
        self.origin.deliveries.saturating_add(self.attempt)
    }
}

pub(super) struct Entry {
    pub taken: Taken,
    pub since: Instant,
    pub until: Instant,
}

/// The deliveries of one handle on the queue.
pub(super) struct Held {
    /// Tells this handle's receipts from all others.
    tag: u64,
    visibility: Duration,
    table: Mutex<Table>,
    down: Mutex<Option<Fault>>,
}

#[derive(Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
}

impl Held {
    pub(super) fn new(visibility: Duration) -> Self {
        let (table, down) = (Mutex::default(), Mutex::default());
        Self { tag: fastrand::u64(..), visibility, table, down }
    }

    /// Puts a message into a consumer's hands.
    pub(super) fn hand_over(&self, taken: Taken) -> Delivery {
        let (message, enqueued_at) = (taken.message.clone(), taken.origin.sent);
        let (deliveries, now) = (taken.deliveries(), Instant::now());
        let mut table = self.table();
        table.next += 1;
        let key = table.next;
        table.entries.insert(key, Entry { taken, since: now, until: now + self.visibility });
        let receipt = Receipt::new(format!("{:016x}:{key}", self.tag));
        Delivery { message, receipt, deliveries, enqueued_at, held_for: self.visibility }
    }

    /// Takes a delivery out, so that nobody else settles it.
    pub(super) fn take(&self, receipt: &Receipt) -> Option<(u64, Entry)> {
        let key = self.key(receipt)?;
        let entry = self.table().entries.remove(&key)?;
        (!entry.taken.source.is_lost()).then_some((key, entry))
    }

    /// Puts one back that could not be settled: it may be tried again for as long as any delivery
    /// that nobody speaks of is kept.
    pub(super) fn put_back(&self, key: u64, mut entry: Entry) {
        entry.until = Instant::now() + self.visibility;
        self.table().entries.insert(key, entry);
    }

    /// Keeps a delivery until `by` from now; how long it has been held. `None`: it is not.
    pub(super) fn extend(&self, receipt: &Receipt, by: Duration) -> Option<Duration> {
        let key = self.key(receipt)?;
        let mut table = self.table();
        let entry = table.entries.get_mut(&key).filter(|entry| !entry.taken.source.is_lost())?;
        entry.until = Instant::now() + by;
        Some(entry.since.elapsed())
    }

    /// What nobody settled or extended in time.
    pub(super) fn expired(&self) -> Vec<Taken> {
        let now = Instant::now();
        let expired = |_: &u64, entry: &mut Entry| entry.until <= now;
        self.table().entries.extract_if(expired).map(|(_, entry)| entry.taken).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table().entries.is_empty()
    }

    /// Why the service is known to be out of reach.
    pub(super) fn down(&self) -> Option<Fault> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_down(&self, down: Option<Fault>) {
        *self.down.lock().unwrap_or_else(PoisonError::into_inner) = down;
    }

    fn key(&self, receipt: &Receipt) -> Option<u64> {
        let (tag, key) = receipt.as_str().split_once(':')?;
        (tag == format!("{:016x}", self.tag)).then(|| key.parse().ok())?
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
