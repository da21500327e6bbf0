//! How often, and after how long, a failed node is tried again within one execution.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::base::{Fault, FaultKind};

/// Exponential backoff for transient faults. Permanent ones are never tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// Tries after the first.
    pub retries: usize,
    /// The wait before the first of them; it doubles each time.
    pub first: Duration,
    /// Whether to add up to as much again at random, so that many callers do not come back at once.
    pub jitter: bool,
    /// Whether a node that took longer than its timeout is tried again.
    pub timeouts: bool,
    /// The longest wait a server may ask for (`Retry-After`); when it asks for more, the node
    /// fails with that fault and the wait is left to whoever runs it.
    pub patience: Duration,
}

impl Default for RetryPolicy {
    /// Three retries after 1 s, 2 s and 4 s, with jitter; a server may ask for a minute.
    fn default() -> Self {
        Self {
            retries: 3,
            first: Duration::from_secs(1),
            jitter: true,
            timeouts: true,
            patience: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// No retry at all.
    pub fn none() -> Self {
        Self { retries: 0, ..Self::default() }
    }

    /// The waits, in order.
    pub fn waits(&self) -> Waits {
        let mut builder = ExponentialBuilder::default()
            .with_min_delay(self.first)
            .with_factor(2.0)
            .with_max_delay(Duration::from_secs(3600))
            .with_max_times(self.retries);
        if self.jitter {
            builder = builder.with_jitter();
        }
        Waits { policy: self.clone(), backoff: builder.build() }
    }
}

/// The waits that are left to one task.
pub struct Waits {
    policy: RetryPolicy,
    backoff: ExponentialBackoff,
}

impl Waits {
    /// How long to wait before trying again after this fault; `None` to give up.
    pub fn after(&mut self, fault: &Fault) -> Option<Duration> {
        let worth = match fault.kind {
            FaultKind::Permanent => false,
            FaultKind::Timeout => self.policy.timeouts,
            FaultKind::Transient | FaultKind::Outage => true,
        };
        let asked = fault.retry_after.unwrap_or_default();
        if !worth || asked > self.policy.patience {
            return None;
        }
        self.backoff.next().map(|wait| wait.max(asked))
    }
}
