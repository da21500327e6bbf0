//! Faults on demand: which requests fail, how, and how often. What one does to a request is in `hits`.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a fault does to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Effect {
    /// An error is answered; nothing is done, unless it is said that all is.
    Status {
        code: u16,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        #[serde(default)]
        body: Value,
        #[serde(default)]
        done: bool,
    },
    /// The connection is reset; nothing is done.
    Reset,
    /// Nothing is done and nothing answered.
    Unanswered,
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
    pub(super) method: String,
    #[serde(default = "anywhere")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) installation: Option<u64>,
    /// Method and path of the request from which on it counts.
    #[serde(default)]
    pub(super) starting_at: Option<(String, String)>,
    #[serde(default)]
    pub(super) skip: u64,
    #[serde(default = "once")]
    pub(super) times: Option<u64>,
    #[serde(default)]
    pub(super) lasting_seconds: Option<u64>,
    pub(super) effect: Effect,
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
            starting_at: None,
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
            done: false,
        })
    }

    /// An error with a body of one's own.
    pub fn answer(code: u16, body: Value) -> Self {
        Self::new(Effect::Status { code, headers: BTreeMap::new(), body, done: false })
    }

    /// The connection is reset before anything is done.
    pub fn reset() -> Self {
        Self::new(Effect::Reset)
    }

    /// Nothing is done, and nothing answered: the client has to give up.
    pub fn unanswered() -> Self {
        Self::new(Effect::Unanswered)
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

    /// 504 at once; the write is done when [`FakeGitHub::release_late_writes`](crate::FakeGitHub::release_late_writes) is called.
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

    /// The request is done all the same, before the error is answered: a 502 after the commit.
    #[must_use]
    pub fn after_the_write(mut self) -> Self {
        if let Effect::Status { done, .. } = &mut self.effect {
            *done = true;
        }
        self
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

    /// Only from the first request with this method and path on, itself among them.
    #[must_use]
    pub fn starting_at(mut self, method: &str, path: &str) -> Self {
        self.starting_at = Some((method.to_owned(), path.to_owned()));
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
