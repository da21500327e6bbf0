//! The worker's settings.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How the worker works: section `worker` of the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Runs at a time.
    pub concurrency: usize,
    /// How long a run's lease lives unless renewed. A worker that dies holds its runs up this long.
    #[serde(with = "humantime_serde")]
    pub lease: Duration,
    /// How long to let runs in hand end, or come to their next record, when told to stop.
    #[serde(with = "humantime_serde")]
    pub grace: Duration,
    /// Executions that may fail in a way that another try could cure, before the run is given up.
    pub attempts: u32,
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
    /// Age after which a run that has ended is removed: the setting `store.retention`.
    #[serde(skip)]
    pub retention: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 8,
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(25),
            attempts: 5,
            version_wait: Duration::from_secs(3600),
            sweep: Duration::from_secs(5),
            sweep_margin: Duration::from_secs(5),
            reconcile: Duration::from_secs(60),
            backoff: [10, 60, 600].map(Duration::from_secs).to_vec(),
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
        if self.lease < Duration::from_millis(100) {
            return Some(("lease", "expected a duration of at least 100ms"));
        }
        if self.backoff.is_empty() {
            return Some(("backoff", "expected at least one duration"));
        }
        (self.attempts == 0).then_some(("attempts", "expected a whole number of at least 1"))
    }

    /// The wait before the execution after this many failed ones.
    pub fn backoff_after(&self, failed: u32) -> Duration {
        let place = usize::try_from(failed.saturating_sub(1)).unwrap_or(usize::MAX);
        let last = self.backoff.last().copied().unwrap_or(Duration::from_secs(10));
        self.backoff.get(place).copied().unwrap_or(last)
    }
}
