//! What a run waits for, as data of its head: listed, filtered and shown without reading its log.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{state::redact, words::words};
use crate::base::{Fault, Timestamp};

words! {
    /// The kinds of [`Waiting`].
    WaitingFor, "reason to wait":
    /// An answer.
    Person = "person",
    /// A time: the head's `not_before`.
    Time = "time",
    /// Somebody else's limit: they said when to come again.
    Limit = "limit",
    /// A worker that knows the version of its workflow.
    Version = "version",
    /// The lease of a worker that stopped renewing it: to be taken over by another. No store keeps
    /// this one; it follows from status and lease, see [`Head::waits`](super::Head::waits).
    Lease = "lease",
    /// An event from outside.
    Event = "event",
}

/// What a run waits for that nobody works on, written with the append that gave it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waiting {
    /// Answers to these interrupts.
    Person {
        /// The oldest of them, at most [`MAX_QUESTIONS`].
        #[serde(default)]
        interrupts: Vec<Question>,
        /// How many there are beyond these.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
    },
    /// The head's `not_before`.
    Time {
        /// Why, if a node said so; after a failure the head's error tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The head's `not_before`, which is when somebody else's limit lets it go on; the head's error
    /// tells whose.
    Limit,
    /// A worker that knows the version of its workflow.
    Version {
        /// Since when none took it that does.
        since: Timestamp,
    },
    /// See [`WaitingFor::Lease`].
    Lease,
    /// Events from outside, until the head's `not_before`, if that is not a time that something else
    /// waits for.
    Event {
        /// The oldest waits for them, at most [`MAX_QUESTIONS`]: their interrupts, and as titles the
        /// keys.
        #[serde(default)]
        events: Vec<Question>,
        /// How many there are beyond these.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: usize,
    },
}

/// An open interrupt, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The interrupt's id.
    pub id: String,
    /// What is asked, in at most [`MAX_TITLE_CHARS`]; sensitive fields redacted.
    pub title: String,
}

impl Question {
    /// The question of a request, without the fields that are named `sensitive`.
    pub(super) fn new(id: &str, request: &RawValue, sensitive: &[&str]) -> Self {
        Self { id: id.to_owned(), title: title(request, sensitive) }
    }

    /// The wait for an event of that key.
    pub(super) fn event(id: &str, key: &str) -> Self {
        Self { id: id.to_owned(), title: brief(key) }
    }
}

/// The most questions in a head.
pub const MAX_QUESTIONS: usize = 8;
/// The longest title or reason in a head, in characters.
pub const MAX_TITLE_CHARS: usize = 200;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Waiting {
    /// Answers to these questions, the oldest first.
    pub(super) fn for_answers(questions: impl ExactSizeIterator<Item = Question>) -> Self {
        let more = questions.len().saturating_sub(MAX_QUESTIONS);
        Self::Person { interrupts: questions.take(MAX_QUESTIONS).collect(), more }
    }

    /// Events, the oldest wait first.
    pub(super) fn for_events(events: impl ExactSizeIterator<Item = Question>) -> Self {
        let more = events.len().saturating_sub(MAX_QUESTIONS);
        Self::Event { events: events.take(MAX_QUESTIONS).collect(), more }
    }

    /// A time, for this reason.
    pub(super) fn for_time(reason: Option<&str>) -> Self {
        Self::Time { reason: reason.map(brief) }
    }

    /// What a run waits for after a failure that another try may cure.
    pub(super) fn after(fault: &Fault) -> Self {
        match fault.retry_after {
            Some(_) => Self::Limit,
            None => Self::Time { reason: None },
        }
    }

    /// The kind.
    pub fn kind(&self) -> WaitingFor {
        match self {
            Self::Person { .. } => WaitingFor::Person,
            Self::Time { .. } => WaitingFor::Time,
            Self::Limit => WaitingFor::Limit,
            Self::Version { .. } => WaitingFor::Version,
            Self::Lease => WaitingFor::Lease,
            Self::Event { .. } => WaitingFor::Event,
        }
    }

    /// The whole of it as text, to be stored beside the kind.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What was stored. A text that is missing or cannot be read leaves the kind: no listing is
    /// refused for it.
    pub fn stored(kind: WaitingFor, text: Option<&str>) -> Self {
        let read = text.and_then(|text| serde_json::from_str::<Self>(text).ok());
        read.filter(|read| read.kind() == kind).unwrap_or_else(|| match kind {
            WaitingFor::Person => Self::Person { interrupts: Vec::new(), more: 0 },
            WaitingFor::Time => Self::Time { reason: None },
            WaitingFor::Limit => Self::Limit,
            WaitingFor::Version => Self::Version { since: Timestamp::default() },
            WaitingFor::Lease => Self::Lease,
            WaitingFor::Event => Self::Event { events: Vec::new(), more: 0 },
        })
    }

    /// The texts in it that come out of the run: what a layer that encrypts has to encrypt.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (titles, reason) = match self {
            Self::Person { interrupts: asked, .. } | Self::Event { events: asked, .. } => {
                (asked.as_mut_slice(), None)
            }
            Self::Time { reason } => (&mut [][..], reason.as_mut()),
            Self::Limit | Self::Version { .. } | Self::Lease => (&mut [][..], None),
        };
        titles.iter_mut().map(|question| &mut question.title).chain(reason)
    }
}

impl std::fmt::Display for Waiting {
    /// In one line, for people.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind())?;
        match self {
            Self::Person { interrupts, more } => {
                for (place, Question { id, title }) in interrupts.iter().enumerate() {
                    let between = if place == 0 { ": " } else { "; " };
                    write!(f, "{between}{id} {title}")?;
                }
                if *more > 0 { write!(f, "; {more} more") } else { Ok(()) }
            }
            Self::Event { events, more } => {
                for (place, Question { title, .. }) in events.iter().enumerate() {
                    let between = if place == 0 { ": " } else { "; " };
                    write!(f, "{between}{title}")?;
                }
                if *more > 0 { write!(f, "; {more} more") } else { Ok(()) }
            }
            Self::Time { reason: Some(reason) } => write!(f, ": {reason}"),
            Self::Version { since } => write!(f, ": since {since}"),
            Self::Time { reason: None } | Self::Limit | Self::Lease => Ok(()),
        }
    }
}

/// A request in short: the text it is or holds under a usual name, else its JSON.
fn title(request: &RawValue, sensitive: &[&str]) -> String {
    let request = redact(serde_json::from_str(request.get()).unwrap_or_default(), sensitive);
    let named = || {
        let names = ["title", "question", "message", "reason"];
        names.iter().find_map(|name| request.get(name).and_then(Value::as_str))
    };
    match request.as_str().or_else(named) {
        Some(text) => brief(text),
        None if request.is_null() => String::new(),
        None => brief(&request.to_string()),
    }
}

/// One line of it, at most [`MAX_TITLE_CHARS`] long.
fn brief(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(request: &str, sensitive: &[&str]) -> String {
        title(&RawValue::from_string(request.to_owned()).unwrap(), sensitive)
    }

    #[test]
    fn a_title_is_short_and_hides_what_is_sensitive() {
        assert_eq!(titled(r#""Publish?\nIt is late.""#, &[]), "Publish?");
        assert_eq!(titled(r#"{"draft": 1, "question": "Which?"}"#, &[]), "Which?");
        assert_eq!(titled(r#"{"question": "s3cret"}"#, &["question"]), "[redacted]");
        assert_eq!(titled(r#"{"draft": "s3cret"}"#, &["draft"]), r#"{"draft":"[redacted]"}"#);
        assert_eq!(titled("null", &[]), "");
        assert_eq!(titled(&format!("\"{}\"", "ü".repeat(300)), &[]).chars().count(), 200);
    }

    #[test]
    fn what_is_stored_reads_back_and_never_fails() {
        let question = Question { id: "2.0.ask".to_owned(), title: "Which?".to_owned() };
        for waiting in [
            Waiting::Person { interrupts: vec![question.clone()], more: 3 },
            Waiting::Event { events: vec![question], more: 0 },
            Waiting::Time { reason: Some("quota".to_owned()) },
            Waiting::Time { reason: None },
            Waiting::Limit,
            Waiting::Version { since: Timestamp(7) },
        ] {
            assert_eq!(Waiting::stored(waiting.kind(), Some(&waiting.to_text())), waiting);
            for text in [None, Some(""), Some("{}"), Some(r#"{"for":"lease"}"#)] {
                assert_eq!(Waiting::stored(waiting.kind(), text).kind(), waiting.kind());
            }
        }
    }

    #[test]
    fn the_numbers_in_databases_out_there_keep_their_meaning() {
        let words = WaitingFor::ALL.map(WaitingFor::as_str).join(" ");
        assert_eq!(words, "person time limit version lease event");
    }
}
