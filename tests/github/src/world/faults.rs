//! Faults on demand: which requests fail, how, and how often.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::after;

/// What a fault does to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Effect {
    /// An error is answered; nothing is done.
    Status { code: u16, headers: BTreeMap<String, String>, body: Value },
    /// The connection is reset; nothing is done.
    Reset,
    /// The request is done; half of the answer's body arrives.
    Truncate,
    /// The request is done; the answer comes late.
    Slow { milliseconds: u64 },
    /// The request is done; the connection is reset instead of an answer.
    LostAnswer,
    /// The request is done after the answer timed out. Without a time it waits until it is released.
    LateWrite { milliseconds: Option<u64>, silent: bool },
    /// A rate limit is answered; its reset is so many seconds from then.
    RateLimit { code: u16, retry_after: Option<u64>, remaining: u64, reset_in: i64 },
}

/// A fault: it hits requests whose method and path it names.
///
/// ```
/// # use std::time::Duration;
/// use fake_github::Fault;
/// Fault::lost_answer().on("POST", "/repos/*/*/pulls/*/reviews");
/// Fault::status(502).on("*", "/repos/**").skip(2).times(3);
/// Fault::secondary_limit(None).on("POST", "/**").lasting(Duration::from_secs(72));
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    #[serde(default = "anything")]
    method: String,
    #[serde(default = "anywhere")]
    path: String,
    #[serde(default)]
    installation: Option<u64>,
    #[serde(default)]
    skip: u64,
    #[serde(default = "once")]
    times: Option<u64>,
    #[serde(default)]
    lasting_seconds: Option<u64>,
    effect: Effect,
}

fn anything() -> String {
    "*".to_owned()
}

fn anywhere() -> String {
    "/**".to_owned()
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
fn once() -> Option<u64> {
    Some(1)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Fault {
    fn new(effect: Effect) -> Self {
        let (method, path) = (anything(), anywhere());
        Self {
            method,
            path,
            installation: None,
            skip: 0,
            times: once(),
            lasting_seconds: None,
            effect,
        }
    }

    /// An error with GitHub's usual body.
    pub fn status(code: u16) -> Self {
        let message = if code >= 500 { "Server Error" } else { "Refused by a fault" };
        Self::new(Effect::Status {
            code,
            headers: BTreeMap::new(),
            body: json!({"message": message}),
        })
    }

    /// An error with a body of one's own.
    pub fn answer(code: u16, body: Value) -> Self {
        Self::new(Effect::Status { code, headers: BTreeMap::new(), body })
    }

    /// The connection is reset before anything is done.
    pub fn reset() -> Self {
        Self::new(Effect::Reset)
    }

    /// Half of the answer's body arrives, then the connection ends.
    pub fn truncated() -> Self {
        Self::new(Effect::Truncate)
    }

    /// The answer comes after a while.
    pub fn slow(by: Duration) -> Self {
        Self::new(Effect::Slow { milliseconds: milliseconds(by) })
    }

    /// The write is done and its answer lost.
    pub fn lost_answer() -> Self {
        Self::new(Effect::LostAnswer)
    }

    /// 504 at once; the write is done when [`FakeGitHub::land_late_writes`](crate::FakeGitHub::land_late_writes) is called.
    pub fn late_write() -> Self {
        Self::new(Effect::LateWrite { milliseconds: None, silent: false })
    }

    /// 504 at once; the write is done after a while.
    pub fn late_write_after(by: Duration) -> Self {
        Self::new(Effect::LateWrite { milliseconds: Some(milliseconds(by)), silent: false })
    }

    /// A late write is never answered, not even with 504: the client has to give up.
    #[must_use]
    pub fn silent(mut self) -> Self {
        if let Effect::LateWrite { silent, .. } = &mut self.effect {
            *silent = true;
        }
        self
    }

    /// A secondary limit: thousands of requests left and a reset that lies in the past.
    pub fn secondary_limit(retry_after: Option<Duration>) -> Self {
        let retry_after = retry_after.map(|time| time.as_secs());
        Self::new(Effect::RateLimit { code: 403, retry_after, remaining: 4321, reset_in: -600 })
    }

    /// The primary limit, used up for a while.
    pub fn primary_limit(reset_in: Duration) -> Self {
        let reset_in = i64::try_from(reset_in.as_secs()).unwrap_or(i64::MAX);
        Self::new(Effect::RateLimit { code: 403, retry_after: None, remaining: 0, reset_in })
    }

    /// Answers a rate limit with 429 in place of 403.
    #[must_use]
    pub fn too_many_requests(mut self) -> Self {
        if let Effect::RateLimit { code, .. } = &mut self.effect {
            *code = 429;
        }
        self
    }

    /// Only requests with this method (`*`: any) and path: `*` is one segment, `**` at the end all that follow.
    #[must_use]
    pub fn on(mut self, method: &str, path: &str) -> Self {
        (self.method, self.path) = (method.to_owned(), path.to_owned());
        self
    }

    /// Only requests of this installation.
    #[must_use]
    pub fn of_installation(mut self, id: u64) -> Self {
        self.installation = Some(id);
        self
    }

    /// Lets so many matching requests through first.
    #[must_use]
    pub fn skip(mut self, requests: u64) -> Self {
        self.skip = requests;
        self
    }

    /// Hits so many matching requests; once unless set.
    #[must_use]
    pub fn times(mut self, requests: u64) -> Self {
        self.times = Some(requests);
        self
    }

    /// Hits every matching request until it is removed.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }

    /// Hits every matching request for so long, from the first it hits, by the fake's clock.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        (self.times, self.lasting_seconds) = (None, Some(time.as_secs()));
        self
    }

    /// An answer's header more, of a status.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Effect::Status { headers, .. } = &mut self.effect {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        self
    }
}

/// A fault that hit a request, with the times it depends on resolved.
#[derive(Clone, Debug)]
pub(crate) enum Hit {
    Answer { code: u16, headers: Vec<(String, String)>, body: Value },
    Reset,
    Truncate,
    Slow(Duration),
    LostAnswer,
    LateWrite { after: Option<Duration>, silent: bool },
}

impl Hit {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "status",
            Self::Reset => "reset",
            Self::Truncate => "truncate",
            Self::Slow(_) => "slow",
            Self::LostAnswer => "lost_answer",
            Self::LateWrite { .. } => "late_write",
        }
    }
}

/// The faults in force, in the order they were added: the first that hits decides.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    list: Vec<(Fault, u64, Option<Timestamp>)>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.list.push((fault, 0, None));
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
    }

    /// Faults that have not yet hit as often as they are to.
    pub(crate) fn left(&self) -> usize {
        self.list.len()
    }

    /// What hits a request, if anything does.
    pub(crate) fn hit(
        &mut self,
        method: &str,
        path: &str,
        installation: Option<u64>,
        now: Timestamp,
    ) -> Option<Hit> {
        self.list.retain(|(fault, _, since)| {
            let lasts = fault.lasting_seconds.zip(*since);
            lasts.is_none_or(|(seconds, since)| after(since, Duration::from_secs(seconds)) > now)
        });
        for at in 0..self.list.len() {
            let (fault, seen, since) = &mut self.list[at];
            let whose = fault.installation.is_none_or(|id| installation == Some(id));
            if !whose
                || !(fault.method == "*" || fault.method == method)
                || !matches(&fault.path, path)
            {
                continue;
            }
            *seen += 1;
            if *seen <= fault.skip {
                continue;
            }
            since.get_or_insert(now);
            let last = fault.times.is_some_and(|times| *seen >= fault.skip + times);
            let hit = resolve(&fault.effect, now);
            if last {
                self.list.remove(at);
            }
            return Some(hit);
        }
        None
    }
}

fn resolve(effect: &Effect, now: Timestamp) -> Hit {
    match effect.clone() {
        Effect::Status { code, headers, body } => {
            Hit::Answer { code, headers: headers.into_iter().collect(), body }
        }
        Effect::Reset => Hit::Reset,
        Effect::Truncate => Hit::Truncate,
        Effect::Slow { milliseconds } => Hit::Slow(Duration::from_millis(milliseconds)),
        Effect::LostAnswer => Hit::LostAnswer,
        Effect::LateWrite { milliseconds, silent } => {
            Hit::LateWrite { after: milliseconds.map(Duration::from_millis), silent }
        }
        Effect::RateLimit { code, retry_after, remaining, reset_in } => {
            limited(code, retry_after, remaining, now.as_second() + reset_in)
        }
    }
}

fn limited(code: u16, retry_after: Option<u64>, remaining: u64, reset: i64) -> Hit {
    let message = if remaining == 0 {
        "API rate limit exceeded."
    } else {
        "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later."
    };
    let mut headers = vec![
        ("x-ratelimit-limit".to_owned(), "5000".to_owned()),
        ("x-ratelimit-remaining".to_owned(), remaining.to_string()),
        ("x-ratelimit-used".to_owned(), 5000_u64.saturating_sub(remaining).to_string()),
        ("x-ratelimit-reset".to_owned(), reset.to_string()),
        ("x-ratelimit-resource".to_owned(), "core".to_owned()),
    ];
    headers.extend(retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string())));
    let documentation =
        "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api";
    Hit::Answer {
        code,
        headers,
        body: json!({"message": message, "documentation_url": documentation}),
    }
}

/// Whether a path fits a pattern of segments.
fn matches(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for wanted in pattern.split('/') {
        if wanted == "**" {
            return true;
        }
        match segments.next() {
            Some(segment) if wanted == "*" || wanted == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_segment_by_segment() {
        assert!(matches("/repos/*/*/pulls/*/reviews", "/repos/a/b/pulls/1/reviews"));
        assert!(!matches("/repos/*/*/pulls/*/reviews", "/repos/a/b/pulls/1/reviews/2"));
        assert!(matches("/repos/**", "/repos/a/b") && matches("/**", "/x"));
    }

    #[test]
    fn skips_then_hits_then_ends() {
        let mut faults = Faults::default();
        faults.add(Fault::reset().on("POST", "/a").skip(1).times(2));
        let mut hits = |method| faults.hit(method, "/a", None, Timestamp::UNIX_EPOCH).is_some();
        assert_eq!(
            ["POST", "GET", "POST", "POST", "POST"].map(&mut hits),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn a_lasting_fault_ends_by_the_clock() {
        let mut faults = Faults::default();
        faults.add(Fault::secondary_limit(None).lasting(Duration::from_secs(72)));
        let at = |second| Timestamp::from_second(second).unwrap();
        let hits = [100, 171, 172].map(|second| faults.hit("GET", "/", None, at(second)).is_some());
        assert_eq!(hits, [true, true, false]);
    }
}
