//! The waits between attempts to reach the service.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

const SHORTEST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

pub(super) struct Backoff {
    waits: ExponentialBackoff,
    until: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        let waits = ExponentialBuilder::default()
            .with_min_delay(SHORTEST)
            .with_max_delay(LONGEST)
            .with_jitter()
            .without_max_times();
        Self { waits: waits.build(), until: None }
    }
}

impl Backoff {
    /// An attempt failed: the next one waits.
    pub(super) fn wait(&mut self) {
        let wait = self.waits.next().unwrap_or(LONGEST);
        self.until = Some(Instant::now() + wait);
    }

    pub(super) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }
}
