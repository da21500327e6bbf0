//! The worker: takes messages off the queue, has their runs driven, and settles both.
//!
//! For every message: take it, call [`Runs`], settle. What becomes of message and run, whatever the
//! outcome, is one table ([`disposition`]). A message is acknowledged only after the run's outcome is
//! durable; a message that is lost only delays its run, because a sweep takes up runs that no message
//! brings.
//!
//! It never works on more runs at once than its concurrency allows, never publishes a result itself
//! (nodes do), and never drops what it cannot do: that becomes a dead letter.

mod dead_letters;
pub mod disposition;
mod metrics;
mod options;
mod probe;
mod settle;
mod sweep;
mod work;

use std::{
    sync::{Arc, OnceLock, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore, broadcast, watch},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use self::{
    dead_letters::Reconciled,
    probe::{RETRY_WAIT, jittered},
};
pub use self::{
    metrics::describe as describe_metrics,
    options::Options,
    probe::{HostCheck, Probe},
    settle::Counts,
};
use crate::{
    base::key_value::KeyValueStore,
    graph::{Control, EventEnvelope, RunId},
    queue::{Delivery, Queue},
    runs::{Drive, Runs, Slots},
};

/// Events that listeners may be behind before they lose some.
const MAX_EVENTS_BEHIND: usize = 4096;

/// Whether the worker takes messages, and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Taking,
    /// Something it needs is out of reach.
    Paused(String),
    /// It was told to stop.
    Stopping,
}

/// A worker. Cheap to clone: the clones are one worker.
#[derive(Clone)]
pub struct Worker {
    shared: Arc<Shared>,
}

struct Shared {
    runs: Runs,
    queue: Arc<dyn Queue>,
    options: Options,
    drive: Drive,
    /// One for each run in hand.
    slots: Arc<Semaphore>,
    status: watch::Sender<Status>,
    counts: Counts,
    /// Held by the sweep of the dead letters: one at a time. When the queue's were last reconciled.
    sweeping: Arc<Mutex<Option<Reconciled>>>,
    /// Whether a replayed message came since then: its letter's copy may still be there.
    replayed: AtomicBool,
    /// Held by the removal of old runs. When there were no more last.
    expiring: Arc<Mutex<Option<Instant>>>,
    key_values: sweep::KeyValues,
    /// Whether there was a sweep.
    swept: AtomicBool,
    host: OnceLock<HostCheck>,
    /// When it was paused last, and how long it then waited at least.
    paused: std::sync::Mutex<Option<(Instant, Duration)>>,
}

impl Worker {
    /// For the messages of this queue.
    pub fn new(runs: Runs, queue: Arc<dyn Queue>, options: Options) -> Self {
        let events = broadcast::Sender::new(MAX_EVENTS_BEHIND);
        let shared = Shared {
            runs: runs.with_lease(options.lease),
            queue,
            drive: Drive {
                max_lost_claims: Some(options.lost_claims),
                slots: Slots::new(options.slots()),
                quiet: options.quiet,
                ..Drive::new(Control::default(), events)
            },
            slots: Arc::new(Semaphore::new(options.concurrency.max(1))),
            status: watch::Sender::new(Status::Taking),
            counts: Counts::default(),
            sweeping: Arc::default(),
            replayed: AtomicBool::new(false),
            expiring: Arc::default(),
            key_values: sweep::KeyValues::default(),
            swept: AtomicBool::new(false),
            host: OnceLock::new(),
            paused: std::sync::Mutex::default(),
            options,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The same, whose sweep also removes what has expired in this key-value store. Of several given
    /// one after the other, the first counts.
    #[must_use]
    pub fn with_key_values(self, store: Arc<dyn KeyValueStore>) -> Self {
        self.shared.key_values.set(store);
        self
    }

    /// The same, which takes nothing while this says that the machine lacks what work needs. Of
    /// several given one after the other, the first counts.
    #[must_use]
    pub fn with_host(self, host: HostCheck) -> Self {
        let _ = self.shared.host.set(host);
        self
    }

    /// The events of the runs it executes, from now on.
    pub fn events(&self) -> broadcast::Receiver<EventEnvelope> {
        self.shared.drive.events.subscribe()
    }

    /// Whether it takes messages, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.shared.status.subscribe()
    }

    /// What it has settled so far, by outcome.
    pub fn counts(&self) -> &Counts {
        &self.shared.counts
    }

    /// Works until `stop`: then takes nothing more, lets runs in hand end or come to their next
    /// record for as long as the grace period, and hands the rest back.
    pub async fn run(&self, stop: CancellationToken) {
        let slots = self.shared.slots.clone();
        let mut working = JoinSet::new();
        let mut sweep = interval(jittered(self.shared.options.sweep));
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut consumer = None;
        loop {
            while working.try_join_next().is_some() {}
            let slot = match slots.clone().try_acquire_owned() {
                Ok(slot) if *self.shared.status.borrow() == Status::Taking => slot,
                free => {
                    // Nothing is to arrive while there is nobody to work on it.
                    consumer = None;
                    let Some(slot) = self.slot(free.ok(), &slots, &stop).await else { break };
                    slot
                }
            };
            if let Some(run) = self.shared.drive.slots.next() {
                self.start_next(run, slot, &mut working);
                continue;
            }
            let full = self.shared.drive.slots.is_full();
            let consumer = consumer.get_or_insert_with(|| self.shared.queue.consumer());
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                _ = sweep.tick() => self.start_sweep(slot, &slots, &mut working).await,
                () = self.shared.drive.slots.freed() => {}
                received = consumer.next(), if !full => match received {
                    Ok(delivery) => self.start(delivery, slot, &mut working),
                    Err(error) => {
                        tracing::warn!(%error, "receiving failed");
                        self.pause(&error.to_string());
                    }
                }
            }
        }
        drop(consumer);
        self.shut_down(working).await;
    }

    /// Waits for a free slot, and until everything answers. `None` when told to stop.
    async fn slot(
        &self,
        free: Option<OwnedSemaphorePermit>,
        slots: &Arc<Semaphore>,
        stop: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        let slot = match free {
            Some(slot) => slot,
            None => stop.run_until_cancelled(slots.clone().acquire_owned()).await?.ok()?,
        };
        self.reachable(stop).await.then_some(slot)
    }

    fn start(&self, delivery: Delivery, slot: OwnedSemaphorePermit, working: &mut JoinSet<()>) {
        let worker = self.clone();
        working.spawn(async move {
            worker.handle(delivery, slot).await;
        });
    }

    /// Takes up a run that waited in line.
    fn start_next(&self, run: RunId, slot: OwnedSemaphorePermit, working: &mut JoinSet<()>) {
        let worker = self.clone();
        working.spawn(async move {
            match worker.shared.runs.store().head(&run).await {
                Ok(Some(head)) => worker.take_up(head, slot).await,
                Ok(None) => {}
                // It is in the store: a sweep finds it when the store answers.
                Err(error) => worker.pause(&error.to_string()),
            }
        });
    }

    async fn start_sweep(
        &self,
        slot: OwnedSemaphorePermit,
        slots: &Arc<Semaphore>,
        working: &mut JoinSet<()>,
    ) {
        let mut free = vec![slot];
        while let Ok(slot) = slots.clone().try_acquire_owned() {
            free.push(slot);
        }
        for (head, slot) in self.due(free.len()).await.into_iter().zip(free) {
            let worker = self.clone();
            working.spawn(async move {
                worker.take_up(head, slot).await;
            });
        }
        if let Ok(alone) = self.shared.sweeping.clone().try_lock_owned() {
            working.spawn(self.clone().sweep_dead_letters(alone));
        }
        if let Some(age) = self.shared.options.retention
            && let Ok(alone) = self.shared.expiring.clone().try_lock_owned()
        {
            working.spawn(self.clone().expire(age, alone));
        }
        if let Some(expiry) = self.shared.key_values.due() {
            working.spawn(expiry);
            working.spawn(self.clone().sweep_events());
        }
    }

    async fn shut_down(&self, mut working: JoinSet<()>) {
        self.shared.status.send_replace(Status::Stopping);
        self.shared.drive.control.drain.cancel();
        let all = async { while working.join_next().await.is_some() {} };
        if timeout(self.shared.options.grace, all).await.is_err() {
            tracing::warn!(runs = working.len(), "grace is over: what is left is cut short");
            self.shared.drive.control.cancel.cancel();
            while working.join_next().await.is_some() {}
        }
    }

    fn pause(&self, why: &str) {
        self.shared.status.send_if_modified(|status| {
            let taking = *status == Status::Taking;
            if taking {
                *status = Status::Paused(why.to_owned());
                metrics::paused(true);
            }
            taking
        });
    }

    /// Waits, when paused, until the store and the queue answer. `false` when told to stop.
    async fn reachable(&self, stop: &CancellationToken) -> bool {
        if *self.shared.status.borrow() == Status::Taking {
            return true;
        }
        let (mut wait, longest) = RETRY_WAIT;
        let began = Instant::now();
        let probe = Probe::new(self.shared.runs.clone(), self.shared.queue.clone())
            .with_host(self.shared.host.get().cloned())
            .with_writes(self.shared.key_values.get().filter(|_| !self.shared.options.frugal));
        while let Err(why) = probe.check().await {
            tracing::warn!(error = %why, "paused");
            self.shared.status.send_replace(Status::Paused(why));
            if stop.run_until_cancelled(sleep(jittered(wait))).await.is_none() {
                return false;
            }
            wait = (wait * 2).min(longest);
        }
        // It answers; still, give what failed a moment, so that two do not spin, and a longer one
        // if it failed again as soon as there was work.
        let moment = self.moment_after(began);
        if stop.run_until_cancelled(sleep(jittered(moment))).await.is_none() {
            return false;
        }
        tracing::info!(paused_s = began.elapsed().as_secs_f64(), "taking messages again");
        metrics::paused(false);
        self.shared.status.send_replace(Status::Taking);
        true
    }

    /// How long to stay paused although all answers: twice as long as after the pause before, when
    /// that has only just ended.
    fn moment_after(&self, began: Instant) -> Duration {
        let (shortest, longest) = RETRY_WAIT;
        let mut last = self.shared.paused.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = match *last {
            Some((ended, moment)) if began < ended + moment * 2 => (moment * 2).min(longest),
            _ => shortest,
        };
        *last = Some((Instant::now() + moment, moment));
        moment
    }
}
