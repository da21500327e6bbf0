//! Which fault hits a request, and what it does to it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::faults::{Effect, Fault};
use crate::clock::after;

/// A fault that hit a request, with the times it depends on resolved.
#[derive(Clone, Debug)]
pub(crate) enum Hit {
    Answer { code: u16, headers: Vec<(String, String)>, body: Value, done: bool },
    Reset,
    Unanswered,
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
            Self::Unanswered => "unanswered",
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
            let begun = fault.starting_at.as_ref().is_none_or(|(m, p)| fits((m, p), method, path));
            if begun {
                fault.starting_at = None;
            }
            let whose = fault.installation.is_none_or(|id| installation == Some(id));
            if !begun || !whose || !fits((&fault.method, &fault.path), method, path) {
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
        Effect::Status { code, headers, body, done } => {
            Hit::Answer { code, headers: headers.into_iter().collect(), body, done }
        }
        Effect::Reset => Hit::Reset,
        Effect::Unanswered => Hit::Unanswered,
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
        done: false,
    }
}

/// Whether a request has this method (`*`: any) and a path of this pattern.
fn fits(wanted: (&String, &String), method: &str, path: &str) -> bool {
    (wanted.0 == "*" || wanted.0 == method) && matches(wanted.1, path)
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
    fn counts_from_a_request_on() {
        let mut faults = Faults::default();
        faults.add(Fault::reset().on("*", "/**").starting_at("GET", "/b").skip(1));
        let paths = ["/a", "/a", "/b", "/a", "/a"];
        let hits = paths.map(|path| faults.hit("GET", path, None, Timestamp::UNIX_EPOCH).is_some());
        assert_eq!(hits, [false, false, false, true, false]);
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
