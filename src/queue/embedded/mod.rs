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
mod source;
mod sql;

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use self::{
    inner::Inner,
    source::{PollingSource, Rows},
};
use super::{
    Consumer, DeadLetter, DeadVisitor, Depth, Fate, Message, Queue, QueueError,
    dispatcher::{Dispatcher, DispatcherHandle},
};
use crate::db::Sqlite;

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
    dispatcher: DispatcherHandle,
}

impl Embedded {
    /// The queue in `db`. Must be called inside a Tokio runtime.
    pub fn open(db: Sqlite, options: Options) -> Self {
        let inner = Arc::new(Inner { db, options, changed: Notify::new() });
        let dispatcher = Dispatcher::start(Rows, PollingSource::new(inner.clone()));
        Self { inner, dispatcher }
    }
}

#[async_trait]
impl Queue for Embedded {
    async fn publish(&self, message: Message, delay: Duration) -> Result<(), QueueError> {
        let (size, limit) = (message.size(), self.inner.options.max_message);
        if size > limit {
            return Err(QueueError::TooLarge { size, limit });
        }
        self.inner.publish(message, delay).await
    }

    fn consumer(&self) -> Consumer {
        self.dispatcher.consumer()
    }

    async fn publish_dead(&self, letter: DeadLetter) -> Result<(), QueueError> {
        self.inner.publish_dead(letter).await
    }

    async fn visit_dead(&self, visitor: &mut dyn DeadVisitor) -> Result<(), QueueError> {
        // By its place: a letter that is put there again meanwhile has another one, and stays.
        let (mut place, mut gone) = (i64::MIN, Vec::new());
        let (mut visited, mut seen) = (Ok(()), HashSet::new());
        while let Some((next, letter)) = self.inner.dead_after(place).await? {
            place = next;
            // Put there again since: it would be taken for a second copy.
            if !seen.insert(letter.id.clone()) {
                continue;
            }
            match visitor.visit(letter).await {
                Ok(Fate::Keep) => {}
                Ok(Fate::Remove) => gone.push(place),
                Ok(Fate::Stop) => break,
                Err(error) => {
                    visited = Err(error);
                    break;
                }
            }
        }
        if !gone.is_empty() {
            self.inner.remove_dead(gone).await?;
        }
        visited
    }

    async fn depth(&self) -> Result<Depth, QueueError> {
        self.inner.depth().await
    }

    async fn check(&self) -> Result<(), QueueError> {
        self.inner.depth().await?;
        self.inner.probe().await
    }

    async fn close(&self) -> Result<(), QueueError> {
        self.dispatcher.close().await;
        Ok(())
    }
}
