//! The embedded queue's dealings with its database.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::Notify;

use super::{
    super::{
        DeadLetter, Delivery, Depth, Message, QueueError, Settled, Settlement,
        delivery::{Receipt, Settle, weak},
    },
    Options,
    lane::{Answer, Op, QueueLane},
    sql::{self, Move, Taken},
};
use crate::{
    base::Fault,
    db::{DbError, Sqlite},
};

/// One open queue, shared by its handle, its dispatcher and its deliveries.
pub(super) struct Inner {
    pub db: Sqlite,
    pub options: Options,
    /// Messages may have become ready.
    pub changed: Notify,
}

impl Inner {
    pub async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        self.write(Op::Publish { message, delay }).await?;
        self.changed.notify_one();
        Ok(())
    }

    pub async fn shift(&self, receipt: Receipt, to: Move) -> Result<Settled, QueueError> {
        let held = self.write(Op::Move { receipt, to }).await?;
        Ok(if held { Settled::Done } else { Settled::Stale })
    }

    pub async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.write(Op::PublishDead(letter)).await.map(drop)
    }

    pub async fn remove_dead(&self, places: Vec<i64>) -> Result<usize, QueueError> {
        match self.db.write::<QueueLane>(Op::RemoveDead { places }).await.map_err(fault)? {
            Answer::Count(count) => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            Answer::Done(_) | Answer::Taken(_) => Ok(0),
        }
    }

    async fn write(&self, op: Op) -> Result<bool, QueueError> {
        match self.db.write::<QueueLane>(op).await.map_err(fault)? {
            Answer::Done(found) => Ok(found),
            Answer::Count(_) | Answer::Taken(_) => Ok(false),
        }
    }

    /// Takes at most `most` messages. Without a `hint` that there are any, looks before it writes.
    pub async fn take(
        self: &Arc<Self>,
        most: usize,
        hint: bool,
    ) -> Result<Vec<Delivery>, QueueError> {
        if !hint && !self.any_ready().await? {
            return Ok(Vec::new());
        }
        let visibility = self.options.visibility;
        let answer = self.db.write::<QueueLane>(Op::Take { most, visibility }).await;
        let Answer::Taken(taken) = answer.map_err(fault)? else { return Ok(Vec::new()) };
        let mut deliveries = Vec::with_capacity(taken.len());
        let mut failed = Ok(());
        for taken in taken {
            let receipt = taken.receipt;
            match self.deliver(taken).await {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => {
                    // Nobody can have it, so it goes back, and its neighbours go out.
                    let _ = self.shift(receipt, Move::Settle(Settlement::HandBack)).await;
                    failed = Err(error);
                }
            }
        }
        if deliveries.is_empty() { failed.map(|()| deliveries) } else { Ok(deliveries) }
    }

    /// Whether the writer can write.
    pub async fn probe(&self) -> Result<(), QueueError> {
        let nothing = Op::Take { most: 0, visibility: self.options.visibility };
        self.db.write::<QueueLane>(nothing).await.map(drop).map_err(fault)
    }

    async fn any_ready(&self) -> Result<bool, QueueError> {
        let mut db = self.reader().await?;
        let earliest = sql::earliest(&mut db).await.map_err(|error| self.read_failed(error))?;
        Ok(earliest.is_some_and(|at| at <= self.db.now()))
    }

    /// Completes what was taken. A large body is read here, so that the writer need not wait.
    async fn deliver(self: &Arc<Self>, taken: Taken) -> Result<Delivery, QueueError> {
        let body = match taken.body {
            Some(body) => body,
            None => {
                let mut db = self.reader().await?;
                let body = sql::body(&mut db, taken.receipt.id).await;
                body.map_err(|error| self.read_failed(error))?
            }
        };
        Ok(Delivery {
            message: Message { headers: taken.headers, body },
            deliveries: taken.deliveries,
            enqueued_at: taken.enqueued_at,
            held_for: self.options.visibility,
            receipt: taken.receipt,
            queue: weak(self),
        })
    }

    /// The dead letter behind place `after`, with its place.
    pub async fn dead_after(&self, after: i64) -> Result<Option<(i64, DeadLetter)>, QueueError> {
        let mut db = self.reader().await?;
        sql::dead_after(&mut db, after).await.map_err(|error| self.read_failed(error))
    }

    pub async fn depth(&self) -> Result<Depth, QueueError> {
        let mut db = self.reader().await?;
        sql::depth(&mut db, self.db.now()).await.map_err(|error| self.read_failed(error))
    }

    async fn reader(&self) -> Result<sqlx::pool::PoolConnection<sqlx::Sqlite>, QueueError> {
        self.db.reader().await.map_err(fault)
    }

    fn read_failed(&self, error: sqlx::Error) -> QueueError {
        fault(self.db.failed(error))
    }
}

#[async_trait]
impl Settle for Inner {
    async fn settle(&self, receipt: Receipt, how: Settlement) -> Result<Settled, QueueError> {
        let settled = self.shift(receipt, Move::Settle(how)).await?;
        if how != Settlement::Ack {
            self.changed.notify_one();
        }
        Ok(settled)
    }

    async fn extend(&self, receipt: Receipt, by: Duration) -> Result<Settled, QueueError> {
        self.shift(receipt, Move::Hold(by)).await
    }
}

fn fault(error: DbError) -> QueueError {
    QueueError::Fault(Fault::from(error).while_doing("embedded queue"))
}
