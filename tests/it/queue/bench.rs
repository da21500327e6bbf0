//! The queues the conformance suite runs on.

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use tempfile::TempDir;
use verdict::{
    base::{Clock, ManualClock, Timestamp},
    db::{Sqlite, SqliteOptions},
    queue::{
        Queue,
        embedded::{Embedded, Options},
    },
};

/// One queue of its own, and what the suite must know about it.
#[async_trait]
pub trait Bench: Send + Sync {
    /// One more handle on the queue. Dropping it is what a crash of its process would be.
    async fn open(&self) -> Arc<dyn Queue>;
    /// Lets time pass for the queue.
    async fn pass(&self, time: Duration);
    /// The queue's time.
    fn now(&self) -> Timestamp;
    /// How long a delivery stays in hand.
    fn visibility(&self) -> Duration;
    /// The largest message.
    fn limit(&self) -> usize;
}

/// The result of `future`, which must come within half a minute.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it hangs")
}

/// An embedded queue on `file`, by the machine's own clock.
pub async fn open_file(file: &Path, visibility: Duration) -> Arc<dyn Queue> {
    let db = Sqlite::open(file, SqliteOptions::default()).await.unwrap();
    let poll = Duration::from_millis(10);
    Arc::new(Embedded::open(db, Options { visibility, poll, ..Options::default() }))
}

struct EmbeddedBench {
    folder: TempDir,
    clock: Clock,
    hand: ManualClock,
    /// The handle all queues share, where they do as the parts of one process would.
    shared: Option<Sqlite>,
    options: Options,
}

/// Every handle opens the file anew, as processes of their own would.
pub async fn own_file() -> impl Bench {
    embedded()
}

/// Every handle is on one database handle, which others use too.
pub async fn shared_file() -> impl Bench {
    let mut bench = embedded();
    bench.shared = Some(bench.database().await);
    bench
}

fn embedded() -> EmbeddedBench {
    let (clock, hand) = Clock::manual(Timestamp(1_700_000_000_000));
    let poll = Duration::from_millis(5);
    EmbeddedBench {
        folder: tempfile::tempdir().unwrap(),
        clock,
        hand,
        shared: None,
        options: Options { poll, ..Options::default() },
    }
}

impl EmbeddedBench {
    async fn database(&self) -> Sqlite {
        let options = SqliteOptions { clock: self.clock.clone(), ..SqliteOptions::default() };
        Sqlite::open(self.folder.path().join("queue.db"), options).await.unwrap()
    }
}

#[async_trait]
impl Bench for EmbeddedBench {
    async fn open(&self) -> Arc<dyn Queue> {
        let db = match &self.shared {
            Some(db) => db.clone(),
            None => self.database().await,
        };
        Arc::new(Embedded::open(db, self.options.clone()))
    }

    async fn pass(&self, time: Duration) {
        self.hand.advance(time);
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn visibility(&self) -> Duration {
        self.options.visibility
    }

    fn limit(&self) -> usize {
        self.options.max_message
    }
}
