//! The embedded queue: durable, in a SQLite file, for the processes of one machine.
//!
//! The file may be the run store's or one of its own, and is open in any number of processes.
//! Everything is written through the database's one writer, so what arrives together is committed
//! together. Messages published in this process wake its consumers at once; those of other
//! processes, and those whose time has come, are found by looking every [`Options::poll`].
//!
//! It keeps first in, first out among messages that are ready, never gives a message up by itself
//! and has no limit on deliveries. Time is the database's clock.

mod inner;
mod lane;
mod pump;
mod sql;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use self::{
    inner::Inner,
    pump::{Call, Calls, Pump},
    sql::{Key, Move},
};
use super::{
    DeadLetter, DeadVisitor, Delivery, Depth, Fate, Message, Queue, QueueError, Receipt, Settled,
    Settlement,
};
use crate::{base::Fault, db::Sqlite};

/// How an embedded queue behaves. Processes that share a file may differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// How long a delivery stays with its consumer unless extended.
    #[serde(with = "humantime_serde")]
    pub visibility: Duration,
    /// How often a waiting process looks for messages of other processes and for delayed ones
    /// whose time has come.
    #[serde(with = "humantime_serde")]
    pub poll: Duration,
    /// The largest message, headers included, in bytes.
    pub max_message: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            visibility: Duration::from_secs(30),
            poll: Duration::from_millis(250),
            max_message: 20 * 1024 * 1024,
        }
    }
}

/// A handle on the queue in one database. Dropping it leaves what its consumers hold to come back
/// when its visibility has run out.
pub struct Embedded {
    inner: Arc<Inner>,
    calls: Calls,
    _pump: AbortOnDropHandle<()>,
}

impl Embedded {
    /// The queue in `db`. Must be called inside a Tokio runtime.
    pub fn open(db: Sqlite, options: Options) -> Self {
        let inner = Arc::new(Inner { db, options });
        let (calls, inbox) = mpsc::unbounded_channel();
        let pump = Pump::new(inner.clone(), calls.clone(), inbox);
        Self { inner, calls, _pump: AbortOnDropHandle::new(tokio::spawn(pump.run())) }
    }

    /// Looks for ready messages now instead of at the next poll.
    pub fn poke(&self) {
        let _ = self.calls.send(Call::Look);
    }
}

#[async_trait]
impl Queue for Embedded {
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        let (size, limit) = (message.size(), self.inner.options.max_message);
        if size > limit {
            return Err(QueueError::TooLarge { size, limit });
        }
        self.inner.publish(message, delay).await?;
        self.poke();
        Ok(())
    }

    async fn receive(&self) -> Result<Delivery, QueueError> {
        let closed = || QueueError::Fault(Fault::outage("embedded queue: it has been closed"));
        loop {
            let (waiter, parcel) = oneshot::channel();
            self.calls.send(Call::Wait(waiter)).map_err(|_| closed())?;
            if let Some(delivery) = parcel.await.map_err(|_| closed())??.open() {
                return Ok(delivery);
            }
        }
    }

    async fn settle(&self, receipt: &Receipt, how: Settlement) -> Result<Settled, QueueError> {
        let to = match how {
            Settlement::Ack => Move::Gone,
            Settlement::Later(delay) => Move::Later(delay),
            Settlement::HandBack => Move::Back,
        };
        let settled = self.shift(receipt, to).await?;
        if how != Settlement::Ack {
            self.poke();
        }
        Ok(settled)
    }

    async fn extend(&self, receipt: &Receipt, by: Duration) -> Result<Settled, QueueError> {
        self.shift(receipt, Move::Hold(by)).await
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.inner.publish_dead(letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        let (mut place, mut gone) = (i64::MIN, Vec::new());
        while let Some((next, letter)) = self.inner.dead_after(place).await? {
            place = next;
            let id = letter.id.clone();
            match visitor.visit(letter).await {
                Ok(Fate::Keep) => {}
                Ok(Fate::Remove) => gone.push(id),
                Ok(Fate::Stop) => break,
                Err(error) => {
                    self.inner.remove_dead(gone).await?;
                    return Err(error);
                }
            }
        }
        if !gone.is_empty() {
            self.inner.remove_dead(gone).await?;
        }
        Ok(())
    }

    async fn remove_dead(&self, ids: &[String]) -> Result<usize, QueueError> {
        self.inner.remove_dead(ids.to_vec()).await
    }

    async fn depth(&self) -> Result<Depth, QueueError> {
        self.inner.depth().await
    }

    async fn check(&self) -> Result<(), QueueError> {
        self.inner.depth().await?;
        self.inner.probe().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        let (done, closed) = oneshot::channel();
        // A pump that has ended has nothing to hand back.
        if self.calls.send(Call::Close(done)).is_ok() {
            let _ = closed.await;
        }
        Ok(())
    }
}

impl Embedded {
    async fn shift(&self, receipt: &Receipt, to: Move) -> Result<Settled, QueueError> {
        // Whatever is no receipt of this queue's names no delivery of it.
        let Some(key) = Key::parse(receipt.as_str()) else { return Ok(Settled::Stale) };
        let held = self.inner.shift(key, to).await?;
        Ok(if held { Settled::Done } else { Settled::Stale })
    }
}
