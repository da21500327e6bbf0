//! The worker's settings.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::runs::SlotLimits;

/// How the worker works: section `worker` of the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Runs at a time.
    pub concurrency: usize,
    /// Runs of one repository at a time; unset: half of `concurrency`.
    pub per_repository: Option<usize>,
    /// How long to wait after a push for more: a burst of pushes gets one review.
    #[serde(with = "humantime_serde")]
    pub quiet: Duration,
    /// How long a run's lease lives unless renewed. A worker that dies holds its runs up this long.
    #[serde(with = "humantime_serde")]
    pub lease: Duration,
    /// How long to let runs in hand end, or come to their next record, when told to stop.
    #[serde(with = "humantime_serde")]
    pub grace: Duration,
    /// Executions that may fail in a way that another try could cure, before the run is given up.
    pub attempts: u32,
    /// Processes that may die in a row while they work on a run. The next one works on nothing else
    /// meanwhile; if it dies, too, the run is given up.
    pub lost_claims: u32,
    /// How long a run of a version this worker does not know waits for one that does.
    #[serde(with = "humantime_serde")]
    pub version_wait: Duration,
    /// How often to look for runs nobody looks after.
    #[serde(with = "humantime_serde")]
    pub sweep: Duration,
    /// How long such a run may be overdue before the sweep takes it: its message goes first.
    #[serde(with = "humantime_serde")]
    pub sweep_margin: Duration,
    /// How often to go through the queue's dead letters, to take in what a broker gave up by
    /// itself and to remove what was settled.
    #[serde(with = "humantime_serde")]
    pub reconcile: Duration,
    /// The waits between executions that fail; the last one repeats.
    #[serde(with = "crate::base::durations")]
    pub backoff: Vec<Duration>,
    /// Whether each document that is read or written costs something. Then the sweep does not look for
    /// neighbours that have died before the leases of their runs end, and probes write nothing.
    #[serde(skip)]
    pub frugal: bool,
    /// Age after which a run that has ended is removed: the setting `store.retention`.
    #[serde(skip)]
    pub retention: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 8,
            per_repository: None,
            quiet: Duration::from_secs(5),
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(25),
            attempts: 5,
            lost_claims: 3,
            version_wait: Duration::from_secs(3600),
            sweep: Duration::from_secs(5),
            sweep_margin: Duration::from_secs(5),
            reconcile: Duration::from_secs(60),
            backoff: [10, 60, 600].map(Duration::from_secs).to_vec(),
            frugal: false,
            retention: None,
        }
    }
}

impl Options {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if !(1..=1024).contains(&self.concurrency) {
            return Some(("concurrency", "expected a whole number from 1 to 1024"));
        }
        if self.per_repository == Some(0) {
            return Some(("per_repository", "expected a whole number of at least 1"));
        }
        if self.lease < Duration::from_millis(100) {
            return Some(("lease", "expected a duration of at least 100ms"));
        }
        if self.backoff.is_empty() {
            return Some(("backoff", "expected at least one duration"));
        }
        if self.lost_claims == 0 {
            return Some(("lost_claims", "expected a whole number of at least 1"));
        }
        (self.attempts == 0).then_some(("attempts", "expected a whole number of at least 1"))
    }

    /// How many runs about subjects are executed at a time. One place of several is kept free for what
    /// is answered at once.
    pub fn slots(&self) -> SlotLimits {
        let half = self.concurrency.div_ceil(2);
        SlotLimits {
            total: self.concurrency.saturating_sub(1).max(1),
            per_group: self.per_repository.unwrap_or(half),
        }
    }

    /// The wait before the execution after this many failed ones.
    pub fn backoff_after(&self, failed: u32) -> Duration {
        let place = usize::try_from(failed.saturating_sub(1)).unwrap_or(usize::MAX);
        let last = self.backoff.last().copied().unwrap_or(Duration::from_secs(10));
        self.backoff.get(place).copied().unwrap_or(last)
    }
}
