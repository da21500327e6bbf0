//! One failure, classified once where it entered.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::mask_urls;

/// A result whose error has been classified.
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// What may be done about a [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Trying again may help. Timeouts, refused connections, rate limits, 5xx.
    Transient,
    /// Took longer than it was given. Worth another try, and told apart because people ask.
    Timeout,
    /// A whole service (the store, the forge) is out of reach: nobody's attempt is counted.
    Outage,
    /// Trying again cannot help. Bad input, missing permission, broken invariant.
    Permanent,
}

/// A classified failure: its kind, a message that says what was attempted on what and what to do,
/// and the wait a server asked for. It is data: it is recorded, compared and sent between
/// processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What may be done about it.
    pub kind: FaultKind,
    /// For people; never holds secrets, prompts or diffs.
    pub message: String,
    /// The wait the other side asked for (`Retry-After`), in milliseconds when serialised.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "opt_millis")]
    pub retry_after: Option<Duration>,
}

impl Fault {
    /// A failure that another try may cure.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Transient, message)
    }

    /// A failure that no further try can cure.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Permanent, message)
    }

    /// Something took longer than it was given.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Timeout, message)
    }

    /// A whole service is out of reach.
    pub fn outage(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Outage, message)
    }

    fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let message = match mask_urls(&message) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => message,
        };
        Self { kind, message: bounded(message), retry_after: None }
    }

    /// The same fault, with the wait the other side asked for.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same fault, its message led by what was being done: `"{doing}: {message}"`.
    #[must_use]
    pub fn while_doing(mut self, doing: impl fmt::Display) -> Self {
        self.message = bounded(format!("{doing}: {}", self.message));
        self
    }

    /// Whether another try may help.
    pub fn is_transient(&self) -> bool {
        self.kind != FaultKind::Permanent
    }
}

/// The longest message that is kept, in bytes. Some parsers quote what they could not read.
const LONGEST: usize = 2_000;

fn bounded(mut message: String) -> String {
    if message.len() > LONGEST {
        message.truncate(message.floor_char_boundary(LONGEST));
        message.push('…');
    }
    message
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

mod opt_millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature serde asks for")]
    pub fn serialize<S: Serializer>(value: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(d) => s.serialize_u64(u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
            None => s.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(d)?.map(Duration::from_millis))
    }
}
