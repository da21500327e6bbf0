//! The server's time, without asking for it.
//!
//! Every answer tells the server's time. Between answers it goes on by this machine's monotonic
//! clock; what the machine takes the time of day to be never matters. The estimate is late by as
//! long as an answer travels, and never early.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use firestore::gcloud_sdk::prost_types;
use tokio::time::Instant;

use verdict_graph::base::{Clock, Timestamp};

/// How long an estimate is good: clocks drift apart.
const FRESH: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct ServerClock {
    /// Told instead, for tests.
    given: Option<Clock>,
    seen: Mutex<Option<(i64, Instant)>>,
}

fn estimate((millis, at): (i64, Instant)) -> i64 {
    millis.saturating_add(i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX))
}

impl ServerClock {
    pub(super) fn new(given: Option<Clock>) -> Self {
        Self { given, seen: Mutex::default() }
    }

    /// An answer that just came in was given at this time. Of young answers the one that travelled
    /// least tells best.
    pub(super) fn observe(&self, time: Option<&prost_types::Timestamp>) {
        let Some(time) = time else { return };
        let millis = time.seconds * 1000 + i64::from(time.nanos) / 1_000_000;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let better = seen.is_none_or(|old| old.1.elapsed() > FRESH || estimate(old) < millis);
        if better {
            *seen = Some((millis, Instant::now()));
        }
    }

    /// The time, if an answer told it lately.
    pub(super) fn fresh(&self) -> Option<Timestamp> {
        if let Some(clock) = &self.given {
            return Some(clock.now());
        }
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.filter(|(_, at)| at.elapsed() < FRESH).map(|seen| Timestamp(estimate(seen)))
    }
}
