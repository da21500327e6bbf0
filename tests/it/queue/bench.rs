//! The queues the conformance suite runs on, and what each of them cannot keep of the port's promises.

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

/// What a test of the suite asks for beyond what every queue does. A queue that cannot keep one
/// names it in [`Bench::cannot`], with the reason; the test then asks for what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// First in, first out.
    Order,
    /// Dead letters are shown in the order they came.
    LetterOrder,
    /// A message handed back goes ahead of what arrived after it.
    HandedBackFirst,
    /// Handing back leaves `deliveries` as it was.
    HandBackUncounted,
    /// `deliveries` is exactly one more than the deliveries nobody settled.
    CountsExactly,
    /// What is put off never comes before its time.
    LaterKept,
    /// An unsettled delivery comes back by time alone, also while its holder lives.
    ComesBackByTime,
    /// `publish` can delay.
    DelaysPublished,
    /// Publishing a dead letter twice keeps the last.
    LetterOnce,
    /// Time can be wound, and the delay is kept to the millisecond.
    Wound,
    /// `depth` tells what is ready.
    TellsReady,
    /// `depth` tells what is in hand.
    TellsInHand,
    /// `depth` tells what is delayed.
    TellsDelayed,
    /// `depth` tells the dead letters.
    TellsDead,
}

/// One queue of its own, and what the suite must know about it.
#[async_trait(?Send)]
pub trait Bench: Send + Sync {
    /// One more handle on the queue. Dropping it is what a crash of its process would be.
    async fn open(&self) -> Arc<dyn Queue>;
    /// What this queue cannot keep, each with the reason.
    fn cannot(&self) -> &[(Promise, &str)];
    /// Lets time pass for the queue, where it can be wound. Elsewhere time passes by itself, and
    /// whoever waits for something asks for it.
    async fn pass(&self, time: Duration);
    /// Every delivery in hand is lost to its holder, who lives on, and is delivered again.
    async fn take_away(&self);
    /// What is left after a handle was dropped with messages in hand: lets them come back.
    async fn after_crash(&self) {
        self.pass(self.visibility()).await;
    }
    /// The queue's time.
    fn now(&self) -> Timestamp;
    /// How long a delivery is said to stay in hand.
    fn visibility(&self) -> Duration;
    /// A delay the queue offers, short enough to be waited for where time cannot be wound.
    fn delay(&self) -> Duration;
    /// The largest message.
    fn limit(&self) -> usize;
    /// Takes everything down.
    async fn finish(self)
    where
        Self: Sized,
    {
    }

    /// Whether the queue keeps this promise.
    fn keeps(&self, promise: Promise) -> bool {
        self.cannot().iter().all(|(cannot, _)| *cannot != promise)
    }
}

/// The result of `future`, which must come in time.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(crate::support::PATIENCE, future).await.expect("it hangs")
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

#[async_trait(?Send)]
impl Bench for EmbeddedBench {
    async fn open(&self) -> Arc<dyn Queue> {
        let db = match &self.shared {
            Some(db) => db.clone(),
            None => self.database().await,
        };
        Arc::new(Embedded::open(db, self.options.clone()))
    }

    fn cannot(&self) -> &[(Promise, &str)] {
        &[]
    }

    async fn pass(&self, time: Duration) {
        self.hand.advance(time);
    }

    async fn take_away(&self) {
        self.pass(self.visibility()).await;
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn visibility(&self) -> Duration {
        self.options.visibility
    }

    fn delay(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn limit(&self) -> usize {
        self.options.max_message
    }
}
