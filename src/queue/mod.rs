//! The queue port: where work arrives, and what every queue promises.
//!
//! A producer [publishes](Queue::publish) a [`Message`]; one consumer at a time holds it as a
//! [`Delivery`] and [settles](Queue::settle) it. What every queue promises, and `tests/it/queue`
//! checks on each:
//!
//! - **Durable before it answers.** A published message survives the death of every process.
//! - **At least once.** A delivery that nobody settles comes back when its visibility has run out.
//!   Consumers must bear a second delivery; the run store makes that harmless.
//! - **Nobody settles another's delivery.** A receipt whose message was given to somebody else
//!   answers [`Settled::Stale`] and changes nothing.
//! - **Patience is free.** [`Settlement::Later`] and [`Settlement::HandBack`] never bring a message
//!   nearer to a dead-letter queue. A queue here never gives up on a message by itself; a broker's
//!   own limit is set high, as a backstop.
//!
//! A queue never looks inside a message. What a body means is [`decode()`]'s business, which is
//! pure; what is done about it is the worker's.

pub mod amqp;
pub mod embedded;
pub mod pubsub;

mod dead;
mod decode;
mod error;
mod message;

use std::{fmt, time::Duration};

use async_trait::async_trait;

pub use self::{
    dead::{DeadLetter, DeadVisitor, Fate, peek_dead},
    decode::{BODY_LIMIT, Decoded, JOB_TYPE, Job, NESTING_LIMIT, Undecodable, Webhook, decode},
    error::QueueError,
    message::{Message, header},
};
use crate::base::Timestamp;

/// One message in one consumer's hands.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What was published.
    pub message: Message,
    /// Names this delivery when it is settled or extended.
    pub receipt: Receipt,
    /// 1, plus the earlier deliveries that nobody settled, as far as the queue can tell: a message
    /// that keeps killing its worker shows here, one that was asked to wait does not.
    pub deliveries: u32,
    /// When it was published.
    pub enqueued_at: Timestamp,
    /// How long it stays with this consumer unless extended. Extend well before.
    pub held_for: Duration,
}

/// Names one delivery. Only the queue that made it reads it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt(String);

impl Receipt {
    /// A receipt that says whatever its queue needs to find the delivery again.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What the queue wrote into it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What becomes of a delivered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Done with; it is gone.
    Ack,
    /// Deliver it again, not before this has passed. A broker may round it to what it offers.
    Later(Duration),
    /// Deliver it again as soon as anybody asks, ahead of what arrived after it where the queue
    /// keeps an order.
    HandBack,
}

/// Whether a receipt was still worth something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It was, and what was asked is durably so.
    Done,
    /// The delivery was settled before, or its visibility ran out and somebody else has the
    /// message now. Nothing was changed. The holder's work may go on: its run's lease decides.
    Stale,
}

/// How much is where. `None`: this queue cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Messages a consumer could take now.
    pub ready: Option<u64>,
    /// Messages consumers hold.
    pub in_hand: Option<u64>,
    /// Messages whose time has not come.
    pub delayed: Option<u64>,
    /// Dead letters.
    pub dead: Option<u64>,
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("ready", self.ready),
            ("in hand", self.in_hand),
            ("delayed", self.delayed),
            ("dead", self.dead),
        ];
        for (n, (name, count)) in parts.into_iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            match count {
                Some(count) => write!(f, "{comma}{count} {name}")?,
                None => write!(f, "{comma}? {name}")?,
            }
        }
        Ok(())
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// What: `reach`, `topology`, …
    pub what: &'static str,
    /// How it is, or what is wrong and what to do.
    pub found: Result<String, String>,
}

/// A durable queue with dead letters. Shared by any number of producers and consumers.
///
/// Every call answers within bounded time, except [`receive`](Self::receive), which waits. An error is
/// classified ([`QueueError::fault`]); after a transient one the same call may be made again.
#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Puts a message on the queue, to be delivered after `delay`. Durable when it answers; after
    /// an error it may be there nonetheless.
    ///
    /// # Errors
    /// [`QueueError::TooLarge`] for a message that can never be taken.
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError>;

    /// Waits for a message and takes it. A wait that is dropped loses nothing: what it was about
    /// to answer is delivered again, at the latest when its visibility has run out.
    async fn receive(&self) -> Result<Delivery, QueueError>;

    /// Settles a delivery.
    async fn settle(&self, receipt: &Receipt, how: Settlement) -> Result<Settled, QueueError>;

    /// Keeps a delivery in hand until `by` from now. A queue that has no such thing answers
    /// [`Settled::Done`] as long as it can, then puts a confirmed copy on the queue, acknowledges
    /// the original and answers [`Settled::Stale`].
    async fn extend(&self, receipt: &Receipt, by: Duration) -> Result<Settled, QueueError>;

    /// Puts a dead letter where people who watch the queue look. Publishing one id twice is
    /// harmless: a queue that can keeps the first, the others show it twice until it is removed.
    /// Takes any message this queue can have delivered.
    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError>;

    /// Shows the dead letters to `visitor`, oldest first where the queue keeps an order, and takes
    /// away those it lets go. Ends when all that were there have been seen. What another visit is
    /// looking at meanwhile may be missed; the next visit sees it.
    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError>;

    /// Takes dead letters away, by id; answers how many there were.
    async fn remove_dead(&self, ids: &[String]) -> Result<usize, QueueError> {
        let mut removal = dead::Removal { ids, removed: 0 };
        self.visit_dead(&mut removal).await?;
        Ok(removal.removed)
    }

    /// How much is where.
    async fn depth(&self) -> Result<Depth, QueueError>;

    /// Whether the queue can be reached and is as this build expects it, for readiness and for
    /// `verdict doctor`. The error says what is wrong and what to do.
    async fn check(&self) -> Result<(), QueueError>;

    /// Looks at everything this queue needs, one thing after the other, for `verdict doctor`:
    /// reach, what is declared there, and what this user may do.
    async fn diagnose(&self) -> Vec<Diagnosis> {
        let checked = self.check().await.map(|()| "answers".to_owned());
        vec![Diagnosis { what: "queue", found: checked.map_err(|error| error.to_string()) }]
    }

    /// Stops receiving and hands back what was on its way to a consumer that is gone, so that
    /// others have it at once. Waits end with an error. What consumers hold can still be settled.
    /// Closing twice is harmless; dropping without closing only makes others wait.
    async fn close(&self) -> Result<(), QueueError>;
}
