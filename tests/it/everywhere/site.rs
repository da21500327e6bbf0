//! A site: one queue, one store, and workers that come and go.

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use verdict::{
    app::QueueNotifier,
    base::{Clock, Timestamp},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{
        Head, RunStatus, Runtime,
        store::{Letter, LetterFilter, LetterState, Store},
    },
    queue::{Message, Queue},
    runs::{Replayed, Runs},
    worker::{Options, Status, Worker},
    workflows::{Bound, Registry},
};

use crate::{
    support::{eventually, pass},
    worker::hall::{Part, Play, Stage, Working, becomes, id, message, part},
};

/// A queue of the test's own, somewhere. What it tells, it sees with another client than verdict's.
#[async_trait(?Send)]
pub trait Place: Send + Sync {
    /// One more handle on the queue, as a process of its own would have.
    async fn open(&self) -> Arc<dyn Queue>;
    /// Messages that are still somewhere, dead letters aside. Looks for at least so many, where it
    /// takes time until they are seen. No handle is open any more.
    async fn left(&self, least: usize) -> usize;
    /// The dead letters, as whoever watches them sees them, each letter once. Looks for at least so
    /// many, where it takes time until they are seen.
    async fn dead(&self, least: usize) -> Vec<Message>;
    /// Deliveries after which the queue gives a message up by itself; as many as any where it never does.
    fn limit(&self) -> usize {
        10
    }
    /// How often a worker may go through the dead letters and leave others time to see them.
    fn reconcile(&self) -> Duration {
        millis(200)
    }
    /// How long a message may stay away that was on its way to somebody who went.
    fn stragglers(&self) -> Duration {
        Duration::ZERO
    }
    /// Delays whose messages each come by a way of their own, in their order. Nobody counts those that are
    /// just moved from one queue to the next.
    fn ways(&self) -> Vec<Duration> {
        vec![Duration::ZERO]
    }
    /// From here on no dead letter is taken. Everything has been declared and is in use.
    async fn refuse_dead(&self);
    /// They are taken again.
    async fn take_dead(&self);
    /// Puts a message there as a stranger would, past verdict's own limits.
    async fn leave(&self, message: Message);
    /// Bodies that a stranger can put there, up to the largest, around every limit on the way.
    fn sizes(&self) -> Vec<usize>;
    /// Puts a message there that the queue gives up by itself.
    async fn give_up(&self, message: Message);
    /// Ends the use of it; every handle is closed.
    async fn finish(self: Box<Self>);
}

/// A header of what only fills a queue.
pub const FILLING: &str = "filling";

/// Room for the headers of a message whose body is as large as can be.
pub const HEADERS: usize = 1024;

/// Store and queue of one test.
pub struct Site {
    pub place: Box<dyn Place>,
    /// For publishing: it never receives.
    pub queue: Arc<dyn Queue>,
    pub store: Arc<dyn Store>,
    pub runtime: Runtime,
    pub stage: Arc<Stage>,
    pub options: Options,
    db: Sqlite,
    file: PathBuf,
    _folder: TempDir,
}

/// A worker at work, with a handle of its own on the queue.
pub struct Hand {
    pub working: Working,
    queue: Arc<dyn Queue>,
}

pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Site {
    pub async fn new(place: impl Place + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let options = SqliteOptions { busy_timeout: millis(50), ..SqliteOptions::default() };
        let db = Sqlite::open(&file, options).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(db.clone()));
        let clock = Clock::system();
        let (queue, reconcile) = (place.open().await, place.reconcile());
        // What is to be there is there from now on.
        queue.check().await.unwrap();
        Self {
            queue,
            place: Box::new(place),
            runtime: Runtime::new(store.clone(), clock.clone(), "worker"),
            store,
            stage: Arc::new(Stage::new(clock)),
            options: Options {
                concurrency: 4,
                // Long enough for a busy machine; no test waits for one to end by itself.
                lease: Duration::from_secs(10),
                sweep: millis(100),
                // Messages do the work here, unless a test says otherwise.
                sweep_margin: Duration::from_secs(3600),
                reconcile,
                backoff: vec![millis(200)],
                ..Options::default()
            },
            db,
            file,
            _folder: folder,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.runtime.clock.now()
    }

    pub fn registry(&self) -> Registry {
        Registry::new().with(Bound::<Play>::new(self.stage.clone()).unwrap())
    }

    /// A worker at work.
    pub async fn worker(&self) -> Hand {
        self.worker_for(self.registry()).await
    }

    pub async fn worker_for(&self, workflows: Registry) -> Hand {
        let queue = self.place.open().await;
        let options = self.options.clone();
        let notifier = Arc::new(QueueNotifier::new(queue.clone()));
        let runs = Runs::new(self.runtime.clone(), workflows, notifier);
        let worker = Worker::new(runs, queue.clone(), options);
        Hand { working: Working::start(worker), queue }
    }

    pub async fn send(&self, part: &Part) {
        self.post(message(part)).await;
    }

    pub async fn post(&self, message: Message) {
        self.queue.publish(message, Duration::ZERO).await.unwrap();
    }

    pub async fn head(&self, name: &str) -> Option<Head> {
        self.store.head(&id(name)).await.unwrap()
    }

    pub async fn becomes(&self, name: &str, status: RunStatus) -> Head {
        becomes(&*self.store, name, status).await
    }

    /// Whatever was sent before has been delivered and looked at: something sent later came to its
    /// end.
    pub async fn all_quiet(&self) {
        let last = Self::last_part();
        self.send(&last).await;
        self.becomes(&last.name, RunStatus::Completed).await;
    }

    fn last_part() -> Part {
        part(&format!("quiet {}", fastrand::u64(..)))
    }

    /// The nodes that were run for this part, in order.
    pub fn ran(&self, name: &str) -> Vec<String> {
        self.stage.ran(name)
    }

    /// The kinds of the run's records, in order.
    pub async fn kinds(&self, name: &str) -> Vec<&'static str> {
        let history = self.runtime.history(&id(name)).await.unwrap();
        history.into_iter().map(|entry| entry.meta.kind()).collect()
    }

    /// All letters, without their payloads, the newest first. What fills a queue is nobody's letter, also
    /// where a worker took it for one.
    pub async fn letters(&self) -> Vec<Letter> {
        let all = LetterFilter { limit: 1_000_000, ..LetterFilter::default() };
        let mut letters = self.store.letters(&all).await.unwrap();
        letters.retain(|letter| !letter.headers.contains_key(FILLING));
        letters
    }

    /// Waits for the only letter, confirmed; the queue's watchers see it, with its id and reason.
    pub async fn only_letter(&self) -> Letter {
        let letter = eventually("a confirmed letter", async || {
            let letters = self.letters().await;
            assert!(letters.len() <= 1, "{letters:?}");
            letters.into_iter().find(|letter| letter.confirmed)
        })
        .await;
        self.store.letter(&letter.id).await.unwrap().unwrap()
    }

    pub fn driver(&self) -> Runs {
        let notifier = Arc::new(QueueNotifier::new(self.queue.clone()));
        Runs::new(self.runtime.clone(), self.registry(), notifier)
    }

    pub async fn replay(&self, letter: &str) -> Replayed {
        self.close(&[letter.to_owned()], LetterState::Replayed).await[0]
    }

    pub async fn discard(&self, letter: &str) -> Replayed {
        self.close(&[letter.to_owned()], LetterState::Discarded).await[0]
    }

    pub async fn close(&self, letters: &[String], to: LetterState) -> Vec<Replayed> {
        let mut closed = Vec::new();
        self.driver().close_each(letters, to, |_, answer| closed.push(answer.unwrap())).await;
        closed
    }

    /// Nobody can write to the store until it is unlocked.
    pub async fn lock_store(&self) -> SqliteConnection {
        let mut other = SqliteConnectOptions::new().filename(&self.file).connect().await.unwrap();
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
        other
    }

    /// Waits until the worker has taken what the queue has: the sweep may have been faster than a
    /// message, which is then still to come. What a broker is just moving to another queue is counted in
    /// neither, and comes before what is sent after it by the same way.
    async fn empties(&self) {
        let empty = async || {
            let depth = self.queue.depth().await.unwrap();
            depth.ready.unwrap_or(0) + depth.delayed.unwrap_or(0) == 0
        };
        loop {
            eventually("the queue is empty", async || empty().await.then_some(())).await;
            let last = self.place.ways().into_iter().map(|delay| (Self::last_part(), delay));
            let last: Vec<_> = last.collect();
            for (part, delay) in &last {
                self.queue.publish(message(part), *delay).await.unwrap();
            }
            for (part, _) in &last {
                self.becomes(&part.name, RunStatus::Completed).await;
            }
            if empty().await {
                return;
            }
        }
    }

    /// Lets the worker see what was on its way to one that went: a copy of a message, say.
    pub async fn stragglers_come(&self) {
        pass(self.place.stragglers()).await;
    }

    /// Stops the worker, once it has seen everything; the queue then holds no message any more but so many dead letters.
    pub async fn ends(self, hand: Hand, dead: usize) {
        self.empties().await;
        hand.stop().await;
        self.closes(0, dead).await;
    }

    /// Ends it without a worker; the queue holds so many messages and dead letters.
    pub async fn closes(self, left: usize, dead: usize) {
        let Self { place, queue, store, runtime, db, .. } = self;
        queue.close().await.unwrap();
        drop((queue, store, runtime));
        db.close().await.unwrap();
        assert_eq!(place.left(left).await, left, "messages are left");
        assert_eq!(place.dead(dead).await.len(), dead, "dead letters");
        place.finish().await;
    }
}

/// Each letter once, by the header of its id: two of them are harmless while one is still open.
pub fn distinct(mut dead: Vec<Message>, id: &str) -> Vec<Message> {
    let mut seen = HashSet::new();
    dead.retain(|message| message.header(id).is_none_or(|id| seen.insert(id.to_owned())));
    dead
}

pub async fn unlock(mut other: SqliteConnection) {
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

impl Hand {
    /// How many messages and runs it settled with this outcome.
    pub fn count(&self, outcome: &str) -> u64 {
        self.working.worker.counts().get().get(outcome).copied().unwrap_or_default()
    }

    /// Waits until it has settled so many with this outcome.
    pub async fn counts(&self, outcome: &str, least: u64) {
        eventually(&format!("{least} × {outcome}"), async || {
            (self.count(outcome) >= least).then_some(())
        })
        .await;
    }

    /// Waits until it takes nothing; answers why.
    pub async fn is_paused(&self) -> String {
        match self.working.is(|status| matches!(status, Status::Paused(_))).await {
            Status::Paused(why) => why,
            _ => unreachable!(),
        }
    }

    /// Stops it, and hands back what it had not begun.
    pub async fn stop(self) {
        self.working.stop().await;
        self.queue.close().await.unwrap();
    }
}

/// Each test on each queue.
macro_rules! everywhere {
    ($($test:ident),* $(,)?) => {
        everywhere!(@on embedded, [$($test),*]);
        everywhere!(@on rabbit, [$($test),*]);
        everywhere!(@on pubsub, [$($test),*]);
    };
    (@on $place:ident, [$($test:ident),*]) => {
        mod $place {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    let place = crate::everywhere::$place::place().await;
                    super::$test(crate::everywhere::site::Site::new(place).await).await;
                }
            )*
        }
    };
}

pub(crate) use everywhere;
