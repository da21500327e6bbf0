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
    /// The original payload and headers. A queue that cannot hold them whole keeps what fits.
    pub message: Message,
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
