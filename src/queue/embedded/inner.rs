//! The embedded queue's dealings with its database.

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
    pub async fn publish(
        &self,
        message: Message,
        delay: std::time::Duration,
    ) -> Result<(), QueueError> {
        self.write(Op::Publish { message, delay }).await.map(drop)
    }

    pub async fn shift(&self, key: Key, to: Move) -> Result<bool, QueueError> {
        self.write(Op::Move { key, to }).await
    }

    pub async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.write(Op::PublishDead(letter)).await.map(drop)
    }

    pub async fn remove_dead(&self, id: String) -> Result<bool, QueueError> {
        self.write(Op::RemoveDead { id }).await
    }

    async fn write(&self, op: Op) -> Result<bool, QueueError> {
        match self.db.write::<QueueLane>(op).await.map_err(fault)? {
            Answer::Done(found) => Ok(found),
            Answer::Taken(_) => Ok(false),
        }
    }

    /// Takes at most `most` messages. An idle queue is only read.
    pub async fn take(&self, most: usize) -> Result<Vec<(Key, Delivery)>, QueueError> {
        if !self.any_ready().await? {
            return Ok(Vec::new());
        }
        let visibility = self.options.visibility;
        let answer = self.db.write::<QueueLane>(Op::Take { most, visibility }).await;
        let Answer::Taken(taken) = answer.map_err(fault)? else { return Ok(Vec::new()) };
        match self.deliver(&taken).await {
            Ok(deliveries) => Ok(deliveries),
            Err(error) => {
                for taken in taken {
                    let _ = self.shift(taken.key, Move::Back).await;
                }
                Err(error)
            }
        }
    }

    async fn any_ready(&self) -> Result<bool, QueueError> {
        let mut db = self.reader().await?;
        let earliest = sql::earliest(&mut db).await.map_err(|error| self.read_failed(error))?;
        Ok(earliest.is_some_and(|at| at <= self.db.now()))
    }

    /// Reads what was taken. Content never changes, so this need not keep the writer waiting.
    async fn deliver(&self, taken: &[Taken]) -> Result<Vec<(Key, Delivery)>, QueueError> {
        let ids: Vec<_> = taken.iter().map(|taken| taken.key.id).collect();
        let mut db = self.reader().await?;
        let mut contents =
            sql::contents(&mut db, &ids).await.map_err(|error| self.read_failed(error))?;
        taken
            .iter()
            .map(|Taken { key, deliveries, enqueued_at }| {
                let message = contents.remove(&key.id).ok_or_else(|| {
                    let file = self.db.path().display();
                    Fault::permanent(format!("queue {file}: message {} has no content", key.id))
                })?;
                let delivery = Delivery {
                    message,
                    receipt: Receipt::new(key.to_string()),
                    deliveries: *deliveries,
                    enqueued_at: *enqueued_at,
                    held_for: self.options.visibility,
                };
                Ok((*key, delivery))
            })
            .collect()
    }

    pub async fn dead(&self, limit: usize) -> Result<Vec<DeadLetter>, QueueError> {
        let mut db = self.reader().await?;
        sql::dead(&mut db, limit).await.map_err(|error| self.read_failed(error))
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
