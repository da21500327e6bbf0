//! The embedded queue as a place: a file of its own beside the store's.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use verdict::{
    db::{Sqlite, SqliteOptions},
    queue::{
        DeadLetter, Message, Queue,
        embedded::{Embedded, Options},
        peek_dead,
    },
};

use super::site::{HEADERS, Place, millis};

struct File {
    folder: TempDir,
}

pub async fn place() -> impl Place {
    File { folder: tempfile::tempdir().unwrap() }
}

impl File {
    fn path(&self) -> PathBuf {
        self.folder.path().join("queue.db")
    }

    async fn sql(&self, sql: &'static str) {
        let mut other = SqliteConnectOptions::new().filename(self.path()).connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
        other.close().await.unwrap();
    }
}

#[async_trait(?Send)]
impl Place for File {
    async fn open(&self) -> Arc<dyn Queue> {
        let db = Sqlite::open(self.path(), SqliteOptions::default()).await.unwrap();
        let options =
            Options { visibility: Duration::from_secs(20), poll: millis(10), ..Options::default() };
        Arc::new(Embedded::open(db, options))
    }

    async fn left(&self, _: usize) -> usize {
        let depth = self.open().await.depth().await.unwrap();
        let parts = [depth.ready, depth.in_hand, depth.delayed];
        usize::try_from(parts.into_iter().map(Option::unwrap).sum::<u64>()).unwrap()
    }

    /// Nobody else watches this queue, so it is asked itself; the letter's id and reason stand
    /// beside the message, not in its headers.
    async fn dead(&self, _: usize) -> Vec<Message> {
        let dead = peek_dead(&*self.open().await, usize::MAX).await.unwrap();
        let short = |dead: DeadLetter| {
            let message = Message::new(dead.message.body);
            message.with("id", dead.id).with("reason", dead.reason)
        };
        dead.into_iter().map(short).collect()
    }

    async fn refuse_dead(&self) {
        let sql = "CREATE TRIGGER test_refusal BEFORE INSERT ON queue_dead
                   BEGIN SELECT RAISE(ABORT, 'as the test wished'); END;";
        self.sql(sql).await;
    }

    async fn take_dead(&self) {
        self.sql("DROP TRIGGER test_refusal").await;
    }

    /// Nobody but verdict knows how.
    async fn leave(&self, message: Message) {
        self.open().await.publish(message, Duration::ZERO).await.unwrap();
    }

    fn sizes(&self) -> Vec<usize> {
        vec![Options::default().max_message - HEADERS]
    }

    /// It never does: here somebody else put it there.
    async fn give_up(&self, message: Message) {
        let (id, reason) = (message.digest(), "too old".to_owned());
        let dead = DeadLetter { id, reason, by_broker: true, notes: Vec::new(), message };
        self.open().await.publish_dead(dead).await.unwrap();
    }

    async fn finish(self: Box<Self>) {}
}
