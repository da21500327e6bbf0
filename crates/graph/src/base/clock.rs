//! Wall-clock time as the stores see it, and a hand-wound clock for tests of leases.

use std::{
    fmt,
    str::FromStr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970-01-01T00:00:00Z. Stored as that number, shown as RFC 3339.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment plus `by`, stopping at the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This moment less `by`.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was, zero when it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    /// Reads RFC 3339.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond()))
    }
}

/// How far the time of the day was ahead of [`running`], at most, in milliseconds.
static AHEAD: AtomicI64 = AtomicI64::new(i64::MIN);

/// Milliseconds since this process first asked: a clock that nobody sets.
fn running() -> i64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "paused time is not the time of the day")]
    let began = BEGAN.get_or_init(Instant::now);
    i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX)
}

/// Where the time comes from. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's own clock, which never goes back in this process: set back, it goes on from where
    /// it was. Nothing that was to end in a moment ends hours later for that.
    pub fn system() -> Self {
        Self(None)
    }

    /// Sees to it that this clock is not behind a moment that has been written down: the machine's
    /// may have been set back since, in another process. Answers how far it was behind.
    pub fn catch_up(&self, written: Timestamp) -> Duration {
        let behind = written.since(self.now());
        if self.0.is_none() {
            AHEAD.fetch_max(written.0.saturating_sub(running()), Ordering::AcqRel);
        }
        behind
    }

    /// A clock that stands still at `start` until its [`ManualClock`] is wound.
    pub fn manual(start: Timestamp) -> (Self, ManualClock) {
        let at = Arc::new(AtomicI64::new(start.0));
        (Self(Some(at.clone())), ManualClock(at))
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(at) => Timestamp(at.load(Ordering::Acquire)),
            None => {
                #[expect(clippy::disallowed_methods, reason = "this is the one source")]
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let wall = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
                let running = running();
                let ahead = wall.saturating_sub(running);
                let ahead = AHEAD.fetch_max(ahead, Ordering::AcqRel).max(ahead);
                Timestamp(running.saturating_add(ahead))
            }
        }
    }
}

/// The hand that winds a manual [`Clock`].
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(0), Ordering::AcqRel);
    }
}
