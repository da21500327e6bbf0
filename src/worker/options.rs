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
    /// The waits between executions that fail; the last one repeats.
    #[serde(with = "durations")]
    pub backoff: Vec<Duration>,
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
            backoff: [10, 60, 600].map(Duration::from_secs).to_vec(),
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

mod durations {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &[Duration], s: S) -> Result<S::Ok, S::Error> {
        let words = value.iter().map(|wait| humantime::format_duration(*wait).to_string());
        words.collect::<Vec<_>>().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Duration>, D::Error> {
        let words = Vec::<String>::deserialize(d)?;
        let parsed =
            words.iter().map(|word| humantime::parse_duration(word).map_err(D::Error::custom));
        parsed.collect()
    }
}
