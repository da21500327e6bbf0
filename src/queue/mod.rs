//! The queue port: where work arrives, and what every queue promises.
//!
//! A producer [publishes](Queue::publish) a [`Message`]. A [`Consumer`] [waits](Consumer::next) for
//! it and gets a [`Delivery`], which settles and extends itself; one consumer at a time holds a
//! message. What every queue promises, and `tests/it/queue` checks on each:
//!
//! - **Durable before it answers.** A published message survives the death of every process.
//! - **At least once.** A delivery that nobody settles comes back when its visibility has run out.
//!   Consumers must bear a second delivery; the run store makes that harmless.
//! - **Nobody settles another's delivery.** A delivery whose message was given to somebody else
//!   answers [`Settled::Stale`] and changes nothing.
//! - **Waiting is free.** [`Settlement::Later`] and [`Settlement::HandBack`] never bring a message
//!   nearer to a dead-letter queue. A queue here never gives up on a message by itself; a broker's
//!   own limit is set high, as a backstop.
//!
//! A queue never looks inside a message. What a body means is [`decode()`]'s business, which is
//! pure; what is done about it is the worker's.
//!
//! Layout: one folder per adapter. What they share is `dispatcher`, which serves the consumers of
//! a process, and `in_flight`, which knows who holds what where the broker does not.

// Without its feature, only the options of an adapter are there: settings name them.
#[cfg_attr(not(feature = "amqp"), path = "amqp/options.rs")]
pub mod amqp;
pub mod embedded;
#[cfg_attr(not(feature = "pubsub"), path = "pubsub/options.rs")]
pub mod pubsub;

#[cfg(any(feature = "amqp", feature = "pubsub"))]
mod backoff;
mod dead;
mod decode;
mod delivery;
#[cfg_attr(not(feature = "amqp"), expect(dead_code, reason = "some of it only brokers need"))]
mod dispatcher;
mod error;
#[cfg(any(feature = "amqp", feature = "pubsub"))]
#[cfg_attr(
    not(all(feature = "amqp", feature = "pubsub")),
    expect(dead_code, reason = "each broker needs a part of it")
)]
mod in_flight;
mod message;

use std::{fmt, time::Duration};

use async_trait::async_trait;

pub use self::{
    dead::{DeadLetter, DeadVisitor, Fate, note, peek_dead},
    decode::{
        BODY_LIMIT, Decoded, EVENT_TYPE, EventMessage, JOB_TYPE, Job, NESTING_LIMIT, Undecodable,
        Webhook, decode,
    },
    delivery::{Delivery, Settled, Settlement},
    dispatcher::Consumer,
    error::QueueError,
    message::{Message, header},
};

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
        let parts = parts.map(|(name, count)| match count {
            Some(count) => format!("{count} {name}"),
            None => format!("? {name}"),
        });
        f.write_str(&parts.join(", "))
    }
}

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// What: `reach`, `topology`, …
    pub what: &'static str,
    /// How it is, or what is wrong and what to do.
    pub found: Result<String, String>,
}

/// A durable queue with dead letters. Shared by any number of producers and consumers.
///
/// Every call answers within bounded time; only [`Consumer::next`] waits. An error is classified
/// ([`QueueError::fault`]); after a transient one the same call may be made again.
#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Puts a message on the queue, to be delivered after `delay`. Durable when it answers; after
    /// an error it may be there nonetheless.
    ///
    /// # Errors
    /// [`QueueError::TooLarge`] for a message that can never be taken.
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError>;

    /// A new consumer of this queue. It takes nothing until it is asked for a message.
    fn consumer(&self) -> Consumer;

    /// Puts a dead letter where people who watch the queue look. Publishing one id twice is
    /// harmless: a queue that can keeps the last, the others show it twice until it is removed.
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

    /// Checks everything this queue needs, one thing after the other, for `verdict doctor`: reach,
    /// what is declared there, and what this user may do.
    async fn diagnose(&self) -> Vec<Diagnosis> {
        let checked = self.check().await.map(|()| "answers".to_owned());
        vec![Diagnosis { what: "queue", found: checked.map_err(|error| error.to_string()) }]
    }

    /// Takes no more messages, and hands back what was taken for a consumer that is gone, so that
    /// others have it at once. Waits end with an error. What consumers hold can still be settled.
    /// Closing twice is harmless; dropping without closing only makes others wait.
    async fn close(&self) -> Result<(), QueueError>;
}
