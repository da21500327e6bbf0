//! Limits: what an answer says about them, and the pause that all processes of one store keep.
//!
//! A secondary limit often comes without a wait, with thousands of primary requests left and a
//! reset that lies in the past. So the pause has a floor of a minute and doubles for as long as
//! the limit is met again. It is kept in the key-value store, by account: whoever shares the limit
//! shares the pause, and other installations go on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::client::Answer;
use crate::base::{Fault, Result, Timestamp, key_value::KeyValueStore};

/// The shortest pause after a limit that names none.
const MIN_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// How long it is remembered that a limit was met: met again within it, the pause doubles.
const MEMORY: Duration = Duration::from_secs(15 * 60);

/// Where pauses are kept.
const SPACE: &str = "github-pause";

/// What an answer says about limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limited {
    /// Wait this long: the server says so.
    For(Duration),
    /// Wait, it does not say how long.
    Unsaid,
}

/// Whether an answer refuses because of a limit, and what it says about the wait. `now`: in
/// seconds since 1970.
pub(super) fn limited(answer: &Answer, now: i64) -> Option<Limited> {
    if !matches!(answer.status, 403 | 429) {
        return None;
    }
    let number = |name: &str| answer.header(name)?.trim().parse::<i64>().ok();
    if let Some(seconds) = number("retry-after").and_then(|wait| u64::try_from(wait).ok()) {
        return Some(Limited::For(Duration::from_secs(seconds)));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        let left = number("x-ratelimit-reset").map(|reset| reset - now).filter(|left| *left > 0);
        let seconds = left.and_then(|left| u64::try_from(left).ok());
        return Some(seconds.map_or(Limited::Unsaid, |s| Limited::For(Duration::from_secs(s))));
    }
    let text = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    let named =
        text.contains("rate limit") || text.contains("abuse") || text.contains("too quickly");
    (answer.status == 429 || named).then_some(Limited::Unsaid)
}

/// The pauses of one store.
#[derive(Clone)]
pub(super) struct Pauses(Arc<dyn KeyValueStore>);

/// A pause: until when, and how long it was.
#[derive(serde::Serialize, serde::Deserialize)]
struct Pause {
    until: Timestamp,
    millis: u64,
}

impl Pauses {
    pub(super) fn new(store: Arc<dyn KeyValueStore>) -> Self {
        Self(store)
    }

    /// Refuses while `account` is paused.
    ///
    /// # Errors
    /// Transient, with what is left of the pause.
    pub(super) async fn check(&self, account: &str) -> Result<()> {
        let found = self.0.read(SPACE, account).await?;
        let now = found.now;
        let Some(pause) = found.live().and_then(|entry| decode(&entry.value)) else {
            return Ok(());
        };
        match pause.until.since(now) {
            left if left.is_zero() => Ok(()),
            left => Err(fault(left)),
        }
    }

    /// Pauses `account` for what the server asked, or longer than last time.
    ///
    /// # Errors
    /// Always: transient, with the pause; or as the store failed.
    pub(super) async fn pause(&self, account: &str, limited: Limited) -> Result<Fault> {
        let found = self.0.read(SPACE, account).await?;
        let now = found.now;
        let before = found.live().and_then(|entry| decode(&entry.value));
        let grown =
            before.as_ref().map_or(MIN_PAUSE, |pause| Duration::from_millis(pause.millis) * 2);
        let wait = match limited {
            Limited::For(wait) => wait.max(Duration::from_secs(1)),
            Limited::Unsaid => grown.clamp(MIN_PAUSE, MAX_PAUSE),
        };
        // Of two limits the longer one counts: an account's hour is not over with a burst.
        let wait = wait.max(before.map_or(Duration::ZERO, |pause| pause.until.since(now)));
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let pause = Pause { until: now.plus(wait), millis };
        let value = serde_json::to_vec(&pause).map(Bytes::from);
        let value = value.map_err(|error| Fault::permanent(error.to_string()))?;
        self.0.put(SPACE, account, value, wait + MEMORY).await?;
        metrics::counter!("verdict_github_limits_total").increment(1);
        tracing::warn!(account, wait_s = wait.as_secs_f64(), "GitHub limits requests; pausing");
        Ok(fault(wait))
    }
}

fn decode(value: &[u8]) -> Option<Pause> {
    serde_json::from_slice(value).ok()
}

fn fault(wait: Duration) -> Fault {
    Fault::transient(format!("GitHub limits requests; the next one is in {} s", wait.as_secs()))
        .after(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Answer { status, headers, body: Bytes::from(body.to_owned()) }
    }

    #[test]
    fn limits_are_told_from_refusals() {
        let secs = |s| Some(Limited::For(Duration::from_secs(s)));
        let zero = ("x-ratelimit-remaining", "0");
        let cases = [
            (answer(403, &[("retry-after", "31")], ""), secs(31)),
            (answer(429, &[], "{}"), Some(Limited::Unsaid)),
            (answer(403, &[zero, ("x-ratelimit-reset", "1600")], ""), secs(600)),
            (answer(403, &[zero, ("x-ratelimit-reset", "900")], ""), Some(Limited::Unsaid)),
            (
                answer(
                    403,
                    &[("x-ratelimit-remaining", "4000")],
                    "You have exceeded a secondary rate limit",
                ),
                Some(Limited::Unsaid),
            ),
            (answer(403, &[], "Resource not accessible by integration"), None),
            (answer(422, &[zero], "rate limit"), None),
        ];
        for (answer, expected) in cases {
            assert_eq!(limited(&answer, 1000), expected, "{answer:?}");
        }
    }
}
