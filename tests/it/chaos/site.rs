//! A worker with its store, and a steady stream of events for it.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use verdict::{
    app::QueueNotifier,
    db::Sqlite,
    graph::{Runtime, store::RunFilter},
    queue::Queue,
    runs::Runs,
    worker::{Options, Status, Worker},
    workflows::{Bound, Registry},
};

use super::{
    counting::{self, Counting, put_and},
    place::{CONCURRENCY, Place, store},
};
use crate::support::{PATIENCE, completed, eventually, pass, rows};

/// A worker in this process, on a store of its own.
pub struct Site {
    folder: TempDir,
    pub runtime: Runtime,
    db: Sqlite,
    place: Place,
    working: Option<Working>,
}

struct Working {
    worker: Worker,
    queue: Arc<dyn Queue>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    told: Arc<Mutex<Vec<String>>>,
    _listening: AbortOnDropHandle<()>,
}

impl Site {
    pub async fn new(place: Place) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (runtime, db) = store(folder.path()).await;
        let mut site = Self { folder, runtime, db, place, working: None };
        site.work();
        site
    }

    /// Starts a worker.
    pub fn work(&mut self) {
        let queue = self.place.open(&self.db);
        let workflow = Bound::<Counting>::new(self.folder.path().to_owned()).unwrap();
        let options = Options {
            concurrency: CONCURRENCY,
            lease: Duration::from_secs(2),
            sweep: Duration::from_millis(500),
            sweep_margin: Duration::from_millis(500),
            backoff: vec![Duration::from_millis(200)],
            ..Options::default()
        };
        let workflows = Registry::new().with(workflow);
        let notifier = Arc::new(QueueNotifier::new(queue.clone()));
        let runs = Runs::new(self.runtime.clone(), workflows, notifier);
        let worker = Worker::new(runs, queue.clone(), options);
        let stop = CancellationToken::new();
        let task = tokio::spawn({
            let (worker, stop) = (worker.clone(), stop.clone());
            async move { worker.run(stop).await }
        });
        let told = Arc::<Mutex<Vec<String>>>::default();
        let listening = AbortOnDropHandle::new(tokio::spawn(listen(worker.clone(), told.clone())));
        let working = Working { worker, queue, stop, task, told, _listening: listening };
        self.working = Some(working);
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How many runs are complete.
    pub async fn completed(&self) -> u64 {
        completed(&self.folder().join("verdict.db")).await
    }

    /// How many runs there are.
    pub async fn begun(&self) -> u64 {
        u64::try_from(rows(&self.folder().join("verdict.db")).await.runs).unwrap()
    }

    /// The events that have a run.
    pub async fn keys(&self) -> BTreeSet<u64> {
        let heads = self.runtime.store.list(&RunFilter::default()).await.unwrap();
        heads.iter().map(|head| head.key.parse().unwrap()).collect()
    }

    pub async fn until_completed(&self, count: u64) {
        eventually(&format!("{count} runs are complete"), async || {
            (self.completed().await >= count).then_some(())
        })
        .await;
    }

    pub fn worker(&self) -> &Worker {
        &self.working.as_ref().unwrap().worker
    }

    /// Waits until the worker takes nothing; answers why.
    pub async fn paused(&self) -> String {
        let status = self.worker().status();
        eventually("the worker says that it is paused", async || match &*status.borrow() {
            Status::Paused(why) => Some(why.clone()),
            _ => None,
        })
        .await
    }

    /// Waits until the worker takes messages.
    pub async fn taking(&self) {
        let status = self.worker().status();
        eventually("the worker takes messages", async || {
            (*status.borrow() == Status::Taking).then_some(())
        })
        .await;
    }

    /// The reasons the worker gave for taking nothing, so far.
    pub fn pauses(&self) -> Vec<String> {
        self.working.as_ref().unwrap().told.lock().unwrap().clone()
    }

    /// A handle on the queue as another process would have.
    pub fn queue(&self) -> Arc<dyn Queue> {
        self.place.open(&self.db)
    }

    /// The worker is gone from one moment to the next; what it held stays as it was.
    pub async fn crash(&mut self) {
        let working = self.working.take().unwrap();
        working.task.abort();
        assert!(working.task.await.unwrap_err().is_cancelled(), "it had ended by itself");
    }

    /// The worker stops in good order.
    pub async fn leave(mut self) {
        self.stop().await;
    }

    async fn stop(&mut self) -> (Worker, Vec<String>) {
        let Working { worker, queue, stop, task, told, .. } = self.working.take().unwrap();
        assert!(!task.is_finished(), "the worker ended by itself");
        stop.cancel();
        task.await.unwrap();
        queue.close().await.unwrap();
        let told = told.lock().unwrap().clone();
        (worker, told)
    }

    /// Waits until every one of these events has a completed run, as long as they become more; says
    /// what became of the others.
    pub async fn until_all(&self, events: &BTreeSet<u64>) {
        let count = events.len() as u64;
        let (mut seen, mut since) = (0, Instant::now());
        while seen < count {
            pass(Duration::from_millis(20)).await;
            let now = self.completed().await;
            if now > seen {
                (seen, since) = (now, Instant::now());
            }
            if since.elapsed() > PATIENCE {
                let begun = self.keys().await;
                let missing: Vec<_> = events.difference(&begun).collect();
                let (done, status) = (self.completed().await, self.worker().status());
                panic!(
                    "{done} of {count} runs are complete; never begun: {missing:?}; {:?}",
                    *status.borrow()
                );
            }
        }
    }

    /// Every one of these events has its run. The worker is the one that began, and stops in good
    /// order.
    pub async fn ends(mut self, events: &BTreeSet<u64>) {
        self.until_all(events).await;
        self.taking().await;
        let (worker, pauses) = self.stop().await;
        let counts = worker.counts().get();
        println!("{} events; settled {counts:?}; pauses: {pauses:#?}", events.len());
        counting::check(&self.runtime, self.folder.path(), events).await;
    }
}

async fn listen(worker: Worker, told: Arc<Mutex<Vec<String>>>) {
    let mut status = worker.status();
    while status.changed().await.is_ok() {
        if let Status::Paused(why) = &*status.borrow_and_update() {
            told.lock().unwrap().push(why.clone());
        }
    }
}

/// Events, one after the other on several lanes; each is published until the queue has taken it.
pub struct Stream {
    queue: Arc<dyn Queue>,
    shared: Arc<Shared>,
    stop: CancellationToken,
    lanes: JoinSet<()>,
}

struct Shared {
    next: AtomicU64,
    taken: Mutex<BTreeSet<u64>>,
    refused: AtomicU64,
}

impl Stream {
    /// Numbers from `first` on, on each lane one in every `pace`.
    pub fn start(queue: Arc<dyn Queue>, pace: Duration, first: u64) -> Self {
        let (next, taken) = (AtomicU64::new(first), Mutex::default());
        let shared = Arc::new(Shared { next, taken, refused: AtomicU64::new(0) });
        let (stop, mut lanes) = (CancellationToken::new(), JoinSet::new());
        for _ in 0..4 {
            lanes.spawn(lane(queue.clone(), shared.clone(), pace, stop.clone()));
        }
        Self { queue, shared, stop, lanes }
    }

    /// How many the queue has taken.
    pub fn taken(&self) -> u64 {
        self.shared.taken.lock().unwrap().len() as u64
    }

    /// Waits until the queue has taken so many more.
    pub async fn go_on(&self, more: u64) {
        let wanted = self.taken() + more;
        eventually("the queue takes events", async || (self.taken() >= wanted).then_some(())).await;
    }

    /// How often the queue did not take one.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }

    /// Publishes what is begun and no more; answers all there were.
    pub async fn ends(mut self) -> BTreeSet<u64> {
        self.stop.cancel();
        while let Some(lane) = self.lanes.join_next().await {
            lane.unwrap();
        }
        self.queue.close().await.unwrap();
        println!("{} events taken, {} refusals", self.taken(), self.refused());
        self.shared.taken.lock().unwrap().clone()
    }
}

async fn lane(queue: Arc<dyn Queue>, shared: Arc<Shared>, pace: Duration, stop: CancellationToken) {
    let mut tick = interval(pace);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let refused = || {
            shared.refused.fetch_add(1, Ordering::Relaxed);
        };
        put_and(&*queue, number, refused).await;
        shared.taken.lock().unwrap().insert(number);
    }
}
