//! Dead letters as a queue keeps them: for people who watch it, and to be gone through.
//!
//! The run store holds the truth about every dead letter; the queue's copy is there so that its
//! depth says how many are open. Going through them ([`Queue::visit_dead`]) takes none away but
//! those the visitor lets go.

use async_trait::async_trait;

use super::{Message, Queue, QueueError};

/// A message that could not be worked on, with the reason, for whoever watches the dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The letter's id. One that a broker put there by itself has its message's
    /// [digest](Message::digest).
    pub id: String,
    /// A word or two: why it is here.
    pub reason: String,
    /// Whether the broker put it there by itself, and nobody else knows of it.
    pub by_broker: bool,
    /// What else to tell a person who looks at the broker's queue: [`note`] and its value. Only
    /// written: letters that are gone through have none.
    pub notes: Vec<(&'static str, String)>,
    /// The original payload and headers. A queue that cannot hold them whole keeps what fits.
    pub message: Message,
}

impl DeadLetter {
    /// A letter as a broker kept it. `known` are its id and reason if it is one of ours; otherwise
    /// the broker put it there, because of `given_up`.
    #[cfg(any(feature = "amqp", feature = "pubsub"))]
    pub(super) fn kept(
        known: Option<(String, String)>,
        given_up: impl FnOnce() -> String,
        message: Message,
    ) -> Self {
        let by_broker = known.is_none();
        let (id, reason) = known.unwrap_or_else(|| (message.digest(), given_up()));
        Self { id, reason, by_broker, notes: Vec::new(), message }
    }
}

/// Headers of a dead letter at a broker, beside those of its message.
pub mod note {
    /// What went wrong, cut short: the store has all of it.
    pub const ERROR: &str = "x-verdict-error";
    /// The workflow, if known.
    pub const WORKFLOW: &str = "x-verdict-workflow";
    /// The run, if it had come to one.
    pub const RUN: &str = "x-verdict-run";
    /// The node that failed.
    pub const NODE: &str = "x-verdict-node";
    /// Executions that failed.
    pub const ATTEMPTS: &str = "x-verdict-attempts";
    /// When it first failed: RFC 3339.
    pub const FIRST_AT: &str = "x-verdict-first-at";
    /// When it failed last: RFC 3339.
    pub const LAST_AT: &str = "x-verdict-last-at";

    /// All of them.
    pub const ALL: [&str; 7] = [ERROR, WORKFLOW, RUN, NODE, ATTEMPTS, FIRST_AT, LAST_AT];
}

/// What becomes of a dead letter that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It is taken away.
    Remove,
    /// It stays, and no more are shown.
    Stop,
}

/// Somebody who goes through dead letters.
#[async_trait]
pub trait DeadVisitor: Send {
    /// Looks at one. An error ends the visit; what was decided before it holds.
    async fn visit(&mut self, letter: DeadLetter) -> Result<Fate, QueueError>;
}

/// The queue's dead letters, at most `limit`. Takes none of them.
///
/// # Errors
/// As [`Queue::visit_dead`].
pub async fn peek_dead(queue: &dyn Queue, limit: usize) -> Result<Vec<DeadLetter>, QueueError> {
    let mut peek = Peek { seen: Vec::new(), limit };
    if limit > 0 {
        queue.visit_dead(&mut peek).await?;
    }
    Ok(peek.seen)
}

struct Peek {
    seen: Vec<DeadLetter>,
    limit: usize,
}

#[async_trait]
impl DeadVisitor for Peek {
    async fn visit(&mut self, letter: DeadLetter) -> Result<Fate, QueueError> {
        self.seen.push(letter);
        Ok(if self.seen.len() < self.limit { Fate::Keep } else { Fate::Stop })
    }
}

/// Takes away letters by id.
pub(super) struct Removal<'a> {
    pub ids: &'a [String],
    pub removed: usize,
}

#[async_trait]
impl DeadVisitor for Removal<'_> {
    async fn visit(&mut self, letter: DeadLetter) -> Result<Fate, QueueError> {
        let found = self.ids.contains(&letter.id);
        self.removed += usize::from(found);
        Ok(if found { Fate::Remove } else { Fate::Keep })
    }
}
