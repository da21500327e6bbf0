//! The waits between attempts to reach a broker.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// When the next attempt may be made. A new one starts over, for use after a success.
pub(super) struct Backoff {
    delays: ExponentialBackoff,
    until: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        let delays = ExponentialBuilder::default().with_min_delay(MIN_DELAY);
        let delays = delays.with_max_delay(MAX_DELAY).without_max_times().with_jitter();
        Self { delays: delays.build(), until: None }
    }
}

impl Backoff {
    /// An attempt failed: the next one waits.
    pub(super) fn failed(&mut self) {
        let delay = self.delays.next().unwrap_or(MAX_DELAY);
        self.until = Some(Instant::now() + delay);
    }

    /// When the next attempt may be made; `None`: at once.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until.filter(|until| *until > Instant::now())
    }
}
