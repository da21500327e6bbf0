//! The fake's clock: wall time plus what a test added.
//!
//! Tokens expire, limits reset and check runs turn stale by this clock, so a test winds it forward instead of waiting.

use std::time::{Duration, SystemTime};

use jiff::{Timestamp, Unit};

/// Wall time, moved forward by hand.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead: Duration,
}

impl Clock {
    /// The time now.
    #[expect(clippy::disallowed_methods, reason = "the fake's one source of wall-clock time")]
    pub(crate) fn now(&self) -> Timestamp {
        let now = SystemTime::now() + self.ahead;
        Timestamp::try_from(now).unwrap_or(Timestamp::MAX)
    }

    /// Moves the clock forward.
    pub(crate) fn advance(&mut self, by: Duration) {
        self.ahead += by;
    }
}

/// A time as GitHub writes it: whole seconds, UTC.
pub(crate) fn written(time: Timestamp) -> String {
    time.round(Unit::Second).unwrap_or(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `time` and a duration after it.
pub(crate) fn after(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}
