//! One run's writer: everything this process appends to the run goes through here, in order, and
//! renews the lease on its way.

use std::{collections::HashSet, sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep},
};

use super::{
    external::{self, RunWaits},
    record::Record,
    store::{
        Append, Head, HeadChange, Hold, Lease, Letter, RunId, RunStatus, Store, StoreError,
        StoredRecord,
    },
};
use crate::base::{Fault, Timestamp};

/// What ends a run's writing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JournalError {
    /// Another worker took the run over, or it was stopped.
    Fenced,
    /// The store did not answer for as long as the lease may have lived.
    Lost(Fault),
}

/// What became of a flush.
pub(super) enum Flushed {
    /// All is durable.
    Done,
    /// Others wrote to the run (answers to interrupts); nothing was written yet.
    Moved(Vec<StoredRecord>),
}

pub(super) struct Journal {
    store: Arc<dyn Store>,
    permits: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
    lease: Lease,
    ttl: Duration,
    version: u64,
    head: HeadChange,
    active_before: Duration,
    began: Instant,
    written: Instant,
    records: Vec<StoredRecord>,
    asks: Vec<String>,
    /// Cut the log after this many records and stop: a crash, for tests.
    crash_after: Option<u64>,
}

impl Journal {
    pub(super) fn new(
        store: Arc<dyn Store>,
        permits: Arc<Semaphore>,
        (lease, ttl): (Lease, Duration),
        head: &Head,
        crash_after: Option<u64>,
    ) -> Self {
        let now = Instant::now();
        Self {
            store,
            permits,
            permit: None,
            lease,
            ttl,
            version: head.version,
            head: HeadChange {
                status: RunStatus::Running,
                not_before: None,
                waiting: None,
                executions: head.executions,
                active: head.active,
                error: head.error.clone(),
            },
            active_before: head.active,
            began: now,
            written: now,
            records: Vec::new(),
            asks: Vec::new(),
            crash_after,
        }
    }

    pub(super) fn active(&self) -> Duration {
        self.active_before + self.began.elapsed()
    }

    pub(super) fn run(&self) -> &RunId {
        &self.lease.run
    }

    /// Whether the store wants values compressed.
    pub(super) fn compresses(&self) -> bool {
        self.store.compresses()
    }

    pub(super) fn executions(&self) -> u32 {
        self.head.executions
    }

    /// Whether a test's crash has happened: nothing is written any more.
    pub(super) fn crashed(&self) -> bool {
        self.crash_after.is_some_and(|limit| self.version >= limit)
    }

    /// When the lease wants renewing.
    pub(super) fn renew_at(&self) -> Instant {
        self.written + self.ttl / 3
    }

    /// Writes a record down for the next flush. Few runs at a time may hold records that are
    /// written down and not yet stored: that bounds memory however many runs are in flight.
    pub(super) async fn record<U: Serialize>(&mut self, record: &Record<U>) -> Result<(), Fault> {
        if self.permit.is_none() {
            self.permit = self.permits.clone().acquire_owned().await.ok();
        }
        self.records.push(record.encode(self.store.compresses())?);
        Ok(())
    }

    pub(super) fn ask(&mut self, id: String) {
        self.asks.push(id);
    }

    /// Notes waits of the run for events, and answers those that can be answered now. All that was
    /// recorded must be durable.
    pub(super) async fn await_events(
        &mut self,
        waits: &HashSet<String>,
        now: Timestamp,
    ) -> Result<(), JournalError> {
        let (store, run) = (self.store.clone(), self.lease.run.clone());
        let known = RunWaits::load(&*store, &run).await.map_err(JournalError::Lost)?;
        for open in known.open.iter().filter(|open| waits.contains(&open.id)) {
            if Instant::now() >= self.renew_at() {
                self.renew().await?;
            }
            let wait = external::wait(&*store, now, (&run, &known, open)).await;
            wait.map_err(JournalError::Lost)?;
        }
        Ok(())
    }

    /// Makes what was recorded durable, and goes on.
    pub(super) async fn flush(&mut self) -> Result<Flushed, JournalError> {
        if self.records.is_empty() {
            return Ok(Flushed::Done);
        }
        let head = self.head.clone();
        self.write(head, Hold::Keep(self.ttl), None).await
    }

    /// Makes what was recorded durable, with a new head, a letter, and perhaps without the lease.
    pub(super) async fn settle(
        &mut self,
        change: impl FnOnce(&mut HeadChange),
        hold: bool,
        letter: Option<Letter>,
    ) -> Result<Flushed, JournalError> {
        let mut head = self.head.clone();
        change(&mut head);
        let hold = if hold { Hold::Keep(self.ttl) } else { Hold::Release };
        self.write(head, hold, letter).await
    }

    /// Gives the run up as it is, for any worker at once.
    pub(super) async fn release(&mut self) -> Result<(), JournalError> {
        self.records.clear();
        self.asks.clear();
        loop {
            let change = |head: &mut HeadChange| {
                head.status = RunStatus::Queued;
                head.not_before = Some(Timestamp::default());
            };
            if let Flushed::Done = self.settle(change, false, None).await? {
                return Ok(());
            }
        }
    }

    pub(super) async fn renew(&mut self) -> Result<(), JournalError> {
        match self.store.renew(&self.lease, self.ttl).await {
            Ok(()) => {
                self.written = Instant::now();
                Ok(())
            }
            Err(StoreError::Unavailable(why)) if self.written.elapsed() < self.ttl => {
                tracing::warn!(run = %self.lease.run, error = %why, "renewing the lease failed");
                // Try again soon, but not at once.
                self.written = self.written.max(Instant::now() - self.ttl / 3 + self.ttl / 20);
                Ok(())
            }
            Err(StoreError::Unavailable(why)) => Err(JournalError::Lost(Fault::outage(why))),
            Err(_) => Err(JournalError::Fenced),
        }
    }

    async fn write(
        &mut self,
        mut head: HeadChange,
        hold: Hold,
        letter: Option<Letter>,
    ) -> Result<Flushed, JournalError> {
        head.active = self.active();
        let mut append = Append {
            lease: self.lease.clone(),
            expected: self.version,
            batch: fastrand::u128(..),
            records: std::mem::take(&mut self.records),
            asks: std::mem::take(&mut self.asks),
            head: head.clone(),
            letter: letter.map(Box::new),
            hold,
        };
        if let Some(limit) = self.crash_after {
            cut(&mut append, limit);
        }
        let count = append.records.len() as u64;
        match self.persist(&append).await {
            Ok(()) => {
                self.version += count;
                self.head = head;
                self.permit = None;
                Ok(Flushed::Done)
            }
            Err(StoreError::Conflict { .. }) => {
                self.records = append.records;
                self.asks = append.asks;
                self.catch_up().await.map(Flushed::Moved)
            }
            Err(StoreError::Unavailable(why) | StoreError::Sealed(why)) => {
                Err(JournalError::Lost(Fault::outage(why)))
            }
            Err(StoreError::Broken(why)) => Err(JournalError::Lost(Fault::permanent(why))),
            Err(StoreError::Fenced | StoreError::Missing(_)) => Err(JournalError::Fenced),
        }
    }

    /// Appends, again and again with the same batch id while the store does not answer and the
    /// lease may still live.
    async fn persist(&mut self, append: &Append) -> Result<(), StoreError> {
        let mut waits = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(5))
            .with_jitter()
            .without_max_times()
            .build();
        loop {
            match self.store.append(append.clone()).await {
                Ok(_) => {
                    self.written = Instant::now();
                    return Ok(());
                }
                Err(StoreError::Unavailable(why)) if self.written.elapsed() < self.ttl => {
                    tracing::warn!(run = %self.lease.run, error = %why, "the store did not answer; again");
                    sleep(waits.next().unwrap_or(Duration::from_secs(5))).await;
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// Loads what others appended.
    async fn catch_up(&mut self) -> Result<Vec<StoredRecord>, JournalError> {
        match self.store.load(&self.lease.run, self.version).await {
            Ok(Some((_, records))) => {
                self.version += records.len() as u64;
                Ok(records)
            }
            Ok(None) => Err(JournalError::Fenced),
            Err(error) => Err(JournalError::Lost(error.into())),
        }
    }
}

/// Only as many records as fit below the limit, and nothing else, as if the process had died.
fn cut(append: &mut Append, limit: u64) {
    let room = usize::try_from(limit.saturating_sub(append.expected)).unwrap_or(usize::MAX);
    if append.records.len() >= room {
        append.records.truncate(room);
        append.letter = None;
        append.hold = Hold::Keep(Duration::ZERO);
        append.head.status = RunStatus::Running;
    }
}
