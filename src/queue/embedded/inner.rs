//! The embedded queue's dealings with its database.

use std::time::Duration;

use super::{
    super::{DeadLetter, Delivery, Depth, Message, QueueError, Receipt},
    Options,
    lane::{Answer, Op, QueueLane},
    sql::{self, Key, Move, Taken},
};
use crate::{
    base::Fault,
    db::{DbError, Sqlite},
};

/// One open queue, shared by its handle and its pump.
pub(super) struct Inner {
    pub db: Sqlite,
    pub options: Options,
}

impl Inner {
    pub async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        self.write(Op::Publish { message, delay }).await.map(drop)
    }

    pub async fn shift(&self, key: Key, to: Move) -> Result<bool, QueueError> {
        self.write(Op::Move { key, to }).await
    }

    pub async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.write(Op::PublishDead(letter)).await.map(drop)
    }

    pub async fn remove_dead(&self, ids: Vec<String>) -> Result<usize, QueueError> {
        match self.db.write::<QueueLane>(Op::RemoveDead { ids }).await.map_err(fault)? {
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
    pub async fn take(&self, most: usize, hint: bool) -> Result<Vec<(Key, Delivery)>, QueueError> {
        if !hint && !self.any_ready().await? {
            return Ok(Vec::new());
        }
        let visibility = self.options.visibility;
        let answer = self.db.write::<QueueLane>(Op::Take { most, visibility }).await;
        let Answer::Taken(taken) = answer.map_err(fault)? else { return Ok(Vec::new()) };
        let mut deliveries = Vec::with_capacity(taken.len());
        let mut failed = Ok(());
        for taken in taken {
            let key = taken.key;
            match self.deliver(taken).await {
                Ok(delivery) => deliveries.push((key, delivery)),
                Err(error) => {
                    // Nobody can have it, so it goes back, and its neighbours go out.
                    let _ = self.shift(key, Move::Back).await;
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
    async fn deliver(&self, taken: Taken) -> Result<Delivery, QueueError> {
        let body = match taken.body {
            Some(body) => body,
            None => {
                let mut db = self.reader().await?;
                let body = sql::body(&mut db, taken.key.id).await;
                body.map_err(|error| self.read_failed(error))?
            }
        };
        Ok(Delivery {
            message: Message { headers: taken.headers, body },
            receipt: Receipt::new(taken.key.to_string()),
            deliveries: taken.deliveries,
            enqueued_at: taken.enqueued_at,
            held_for: self.options.visibility,
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
        self.db.readers().acquire().await.map_err(|error| self.read_failed(error))
    }

    fn read_failed(&self, error: sqlx::Error) -> QueueError {
        fault(self.db.failed(error))
    }
}

fn fault(error: DbError) -> QueueError {
    QueueError::Fault(Fault::from(error).while_doing("embedded queue"))
}
