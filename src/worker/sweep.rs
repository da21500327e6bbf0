//! Runs that no message brings: it was lost, their worker died, or their time has come. And runs
//! nobody asks for any more: retention.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit},
    time::Instant,
};
use tracing::{Instrument as _, field::Empty};

use super::{Options, Worker, metrics, probe::jittered, settle::Origin};
use crate::{
    base::key_value::KeyValueStore,
    graph::{Head, RunStatus, StoreError, store::RunFilter},
    queue::Decoded,
    runs::{Outcome, Request},
};

/// Runs that are removed in one step, and steps in one go: removing must not hold up what is
/// written meanwhile, nor a worker that is to stop.
const RUNS_PER_STEP: usize = 100;
const MAX_STEPS: usize = 100;
/// How often to remove what has outlived its retention: the shortest and the longest interval.
const EXPIRY_INTERVAL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// Runs in hand that are looked through for processes that have died, the newest first.
const MAX_NEIGHBOURS_RUNS: usize = 1000;

/// How often what has expired is removed from the key-value store, and of events: nobody can see it
/// any more.
const KEY_VALUE_SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// The key-value store beside the runs, if there is one, and when it is swept next.
#[derive(Default)]
pub(super) struct KeyValues {
    store: OnceLock<Arc<dyn KeyValueStore>>,
    next: Mutex<Option<Instant>>,
}

impl KeyValues {
    pub(super) fn set(&self, store: Arc<dyn KeyValueStore>) {
        let _ = self.store.set(store);
    }

    pub(super) fn get(&self) -> Option<Arc<dyn KeyValueStore>> {
        self.store.get().cloned()
    }

    /// The removal of what has expired, when it is time for one.
    pub(super) fn due(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let store = self.store.get()?.clone();
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.is_some_and(|next| Instant::now() < next) {
            return None;
        }
        *next = Some(Instant::now() + jittered(KEY_VALUE_SWEEP_INTERVAL));
        Some(async move {
            match store.sweep().await {
                Ok(0) => {}
                Ok(values) => tracing::debug!(values, "removed expired key-value entries"),
                Err(fault) => {
                    tracing::warn!(error = %fault, "removing expired key-value entries failed")
                }
            }
        })
    }
}

impl Worker {
    /// Runs to take up, at most so many.
    pub(super) async fn due(&self, limit: usize) -> Vec<Head> {
        let slots = &self.shared.drive.slots;
        // Also behind those in line: a long line must not hide others.
        match self.find_due(limit + slots.in_line()).await {
            // Those in line here are taken up as soon as they may.
            Ok(heads) => heads.into_iter().filter(|head| !slots.is_in_line(&head.id)).collect(),
            Err(error) => {
                tracing::warn!(%error, "looking for runs that are due failed");
                self.pause(&error.to_string());
                Vec::new()
            }
        }
    }

    /// Those whose process has died on this machine go first: nobody need wait for their leases.
    async fn find_due(&self, limit: usize) -> Result<Vec<Head>, StoreError> {
        let Options { sweep_margin, frugal, .. } = self.shared.options;
        let runs = &self.shared.runs;
        let first = !self.shared.swept.swap(true, Ordering::Relaxed);
        let mut heads = Vec::new();
        if first || !frugal {
            let filter = RunFilter {
                statuses: vec![RunStatus::Running],
                limit: MAX_NEIGHBOURS_RUNS,
                ..RunFilter::default()
            };
            heads = runs.store().list(&filter).await?;
            heads.retain(|head| runs.holder_died(head));
            heads.truncate(limit);
        }
        let due = runs.store().due(sweep_margin, limit).await?;
        for head in due {
            if heads.len() < limit && heads.iter().all(|known| known.id != head.id) {
                heads.push(head);
            }
        }
        Ok(heads)
    }

    /// Works on one of them as if a wake-up had come for it.
    pub(super) async fn take_up(&self, head: Head, slot: OwnedSemaphorePermit) {
        let span = tracing::info_span!("sweep", run = Empty, workflow = Empty);
        self.take_up_in_span(head, slot).instrument(span).await;
    }

    /// Removes runs that have ended and not changed for `age`, by the store's clock. `last` is held
    /// meanwhile: one process does it once at a time. Of several processes each removes what the
    /// others have not.
    pub(super) async fn expire(self, age: Duration, mut last: OwnedMutexGuard<Option<Instant>>) {
        // So often that nothing stays much longer than it should.
        let every = jittered((age / 10).clamp(EXPIRY_INTERVAL.0, EXPIRY_INTERVAL.1));
        if last.is_some_and(|last| last.elapsed() < every) {
            return;
        }
        let mut gone = 0;
        for _ in 0..MAX_STEPS {
            if self.shared.drive.control.drain.is_cancelled() {
                break;
            }
            let step = self.shared.runs.store().expire(age, RUNS_PER_STEP).await;
            let step = step.inspect_err(|error| tracing::warn!(%error, "removing old runs failed"));
            let removed = step.unwrap_or_default();
            metrics::expired(removed);
            gone += removed;
            if removed < RUNS_PER_STEP as u64 {
                // There are no more for now.
                *last = Some(Instant::now());
                break;
            }
        }
        if gone > 0 {
            tracing::info!(
                runs = gone,
                retention_s = age.as_secs(),
                "removed runs that outlived their retention"
            );
        }
    }

    /// Removes events whose time is over, and the notes of who waited for them.
    pub(super) async fn sweep_events(self) {
        match self.shared.runs.store().sweep_events().await {
            Ok(0) => {}
            Ok(events) => tracing::debug!(events, "removed events and waits that are over"),
            Err(error) => tracing::warn!(%error, "removing events that are over failed"),
        }
    }

    async fn take_up_in_span(&self, head: Head, slot: OwnedSemaphorePermit) {
        tracing::info!(run = %head.id, status = %head.status, "the sweep takes up a run");
        let message = Decoded::wake_message(head.id.as_str());
        let work = |drive| {
            let request = Request::Run(Box::new(head.clone()));
            async move { self.shared.runs.work(request, None, &drive).await }
        };
        let (result, _slots) = self.alone_if_needed(slot, work).await;
        if matches!(
            result.outcome,
            Outcome::LeaseHeld { .. } | Outcome::Early { .. } | Outcome::Queued
        ) {
            // Another worker was faster.
            return;
        }
        let enqueued_at = self.shared.runs.now();
        self.settle(result, &Origin { message: &message, deliveries: 1, enqueued_at }).await;
    }
}
