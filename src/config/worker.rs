//! Options of the worker.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a worker takes work and lets go of it. Durations are written like `30s` or `1h`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerOptions {
    /// Runs in hand at once, 1 to 1024.
    pub concurrency: usize,
    /// How long a claim on a run lasts without renewal. At least 100 ms.
    #[serde(with = "humantime_serde")]
    pub lease: Duration,
    /// Time between the first SIGTERM or SIGINT and letting go of whatever is still running.
    #[serde(with = "humantime_serde")]
    pub grace: Duration,
    /// Executions of one run before it becomes a dead letter. At least 1.
    pub attempts: u32,
    /// How long a run of a version this worker does not know waits for a worker that does.
    #[serde(with = "humantime_serde")]
    pub version_wait: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            concurrency: 8,
            lease: Duration::from_secs(30),
            grace: Duration::from_secs(25),
            attempts: 5,
            version_wait: Duration::from_secs(3600),
        }
    }
}

impl WorkerOptions {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        if !(1..=1024).contains(&self.concurrency) {
            return Some(("concurrency", "expected a whole number from 1 to 1024"));
        }
        if self.lease < Duration::from_millis(100) {
            return Some(("lease", "expected a duration of at least 100ms"));
        }
        (self.attempts == 0).then_some(("attempts", "expected a whole number of at least 1"))
    }
}
