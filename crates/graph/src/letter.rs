//! Dead letters, as the store keeps them: the truth about messages that were given up.

use std::{collections::BTreeMap, fmt, str::FromStr};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::store::RunId;
use crate::base::Timestamp;

/// An enum of plain words: each is spelled one way in settings, listings, metrics and stores.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $what:literal: $($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them. Databases keep their places: only ever add at the end.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word used everywhere.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|one| one.as_str() == text).ok_or_else(|| {
                    let words = Self::ALL.map(Self::as_str).join(", ");
                    format!("`{text}` is no {}; expected one of {words}", $what)
                })
            }
        }
    };
}

words! {
    /// Why a message was given up.
    LetterReason, "reason":
    /// It could not be read.
    Undecodable = "undecodable",
    /// It names a workflow this deployment has not got.
    UnknownWorkflow = "unknown_workflow",
    /// No worker knew its run's version within the wait.
    UnsupportedVersion = "unsupported_version",
    /// A failure that trying again cannot cure.
    Permanent = "permanent",
    /// Transient failures, too many.
    AttemptsExhausted = "attempts_exhausted",
    /// The broker gave it up by itself.
    BrokerLimit = "broker_limit",
}

words! {
    /// What became of a dead letter.
    LetterState, "state of a letter":
    /// Waits for an operator.
    Open = "open",
    /// Sent again.
    Replayed = "replayed",
    /// Put away.
    Discarded = "discarded",
}

/// A dead letter: the truth about a message that was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    /// hash(run, failure number) or hash(message).
    pub id: String,
    /// Why.
    pub reason: LetterReason,
    /// What became of it.
    pub state: LetterState,
    /// Its run, if it had come to one.
    pub run: Option<RunId>,
    /// Its workflow, if known.
    pub workflow: Option<String>,
    /// The node that failed.
    pub node: Option<String>,
    /// What went wrong, for people.
    pub error: String,
    /// Executions that failed.
    pub executions: u32,
    /// When it first failed.
    pub first_at: Timestamp,
    /// When it failed last.
    pub last_at: Timestamp,
    /// The message's headers, as they came.
    pub headers: BTreeMap<String, String>,
    /// The message's body, as it came.
    pub payload: Bytes,
    /// Whether the queue's own dead-letter place has confirmed it.
    pub confirmed: bool,
}

/// Which letters.
#[derive(Debug, Clone, Default)]
pub struct LetterFilter {
    /// In this state.
    pub state: Option<LetterState>,
    /// Confirmed or not.
    pub confirmed: Option<bool>,
    /// At most so many, the newest `last_at` first; 0 is all.
    pub limit: usize,
}
