//! A thousand events, eight at a time in every worker, a worker killed and replaced twenty times.
//!
//! Each worker is a process of its own: this test binary, started again. Their workflow costs next to
//! nothing, so that a thousand runs are a matter of seconds; the real binary does the same with
//! reviews in `crash::serve`. On the embedded queue one works alone; on a broker there are three, on
//! one store, and any of them is killed.

use std::{path::Path, process::Command, sync::Arc, time::Duration};

use futures_util::StreamExt;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use verdict::{
    app::QueueNotifier,
    graph::{RunStatus, Runtime, store::RunFilter},
    queue::{Queue, peek_dead},
    runs::Runs,
    worker::{Options, Worker},
    workflows::{Bound, Registry},
};

use crate::{
    chaos::{
        counting::{Counting, check, put},
        place::{ACK_DEADLINE, CONCURRENCY, Place, QUEUE, owner, store},
        seeded,
    },
    crash::wanted,
    support::{Broker, Emulator, PATIENCE, Process, completed, eventually, pass, rows},
};

const FOLDER: &str = "VERDICT_TEST_WORKER_FOLDER";
const PLACE: &str = "VERDICT_TEST_WORKER_QUEUE";

/// The worker's process, until it is killed or told to stop.
async fn work(folder: &Path) {
    let place: Place = serde_json::from_str(&std::env::var(PLACE).unwrap()).unwrap();
    let (runtime, db) = store(folder).await;
    let queue = place.open(&db);
    let workflow = Bound::<Counting>::new(folder.to_owned()).unwrap();
    let options = Options {
        concurrency: CONCURRENCY,
        // Long enough for a worker that gets no processor for a while.
        lease: Duration::from_secs(2),
        sweep: Duration::from_millis(200),
        sweep_margin: Duration::from_millis(300),
        ..Options::default()
    };
    let notifier = Arc::new(QueueNotifier::new(queue.clone()));
    let runs = Runs::new(runtime, Registry::new().with(workflow), notifier);
    let worker = Worker::new(runs, queue.clone(), options);
    let stop = CancellationToken::new();
    let mut terminate =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
    let told = stop.clone();
    tokio::spawn(async move {
        terminate.recv().await;
        told.cancel();
    });
    println!("\n@ working");
    worker.run(stop).await;
    queue.close().await.unwrap();
}

/// Events that wait at a time on Pub/Sub: its emulator sends ahead as much as there is, whatever it
/// is told, and workers would do little but hand back.
const FEW: u64 = 30;

async fn publish(queue: &dyn Queue, events: std::ops::Range<u64>) {
    let published = events.map(|number| put(queue, number));
    futures_util::stream::iter(published).buffer_unordered(16).collect::<Vec<_>>().await;
}

/// The events, the workers, and what they share.
struct Play {
    folder: TempDir,
    place: Place,
    runtime: Runtime,
    queue: Arc<dyn Queue>,
    events: u64,
    published: u64,
    kills: u64,
    workers: Vec<Process>,
    /// Kills of a worker that had runs in hand, and how many runs that were.
    hits: u64,
    in_hand: usize,
}

impl Play {
    async fn new(place: Place, events: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (runtime, db) = store(folder.path()).await;
        let queue = place.open(&db);
        let first = if matches!(place, Place::PubSub { .. }) { FEW } else { events };
        publish(&*queue, 0..first).await;
        let kills = (events / 25).min(20);
        let workers = Vec::new();
        let published = first;
        Self {
            folder,
            place,
            runtime,
            queue,
            events,
            published,
            kills,
            workers,
            hits: 0,
            in_hand: 0,
        }
    }

    async fn start(&mut self) {
        let test = "worker::thousand::a_thousand_events_survive_twenty_kills";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(FOLDER, self.folder.path());
        command.env(PLACE, serde_json::to_string(&self.place).unwrap());
        let mut process = Process::start(command);
        process.says("@ working").await;
        self.workers.push(process);
    }

    async fn completed(&self) -> u64 {
        completed(&self.folder.path().join("verdict.db")).await
    }

    /// How many runs that worker has in hand, or had when it was killed.
    async fn held(&self, pid: u32) -> usize {
        let statuses = vec![RunStatus::Queued, RunStatus::Running];
        let filter = RunFilter { statuses, ..RunFilter::default() };
        let heads = self.runtime.store.list(&filter).await.unwrap();
        let owner = owner(pid);
        let holders = heads.iter().filter_map(|head| head.lease.as_ref());
        holders.filter(|holder| holder.owner == owner).count()
    }

    /// Waits for a worker that has a run in hand; when there is none left to have, any will do.
    async fn busy(&mut self, random: &mut fastrand::Rng) -> Process {
        let began = Instant::now();
        loop {
            let done = self.completed().await;
            self.publish_up_to(done + FEW).await;
            let first = random.usize(0..self.workers.len());
            for at in 0..self.workers.len() {
                let at = (first + at) % self.workers.len();
                if done == self.events || self.held(self.workers[at].pid()).await > 0 {
                    return self.workers.swap_remove(at);
                }
            }
            assert!(began.elapsed() < PATIENCE, "no worker has a run in hand, {done} are complete");
            pass(Duration::from_millis(5)).await;
        }
    }

    /// Kills one of the workers again and again, spread over the work: each kill waits for a part of
    /// the runs, and then for a random while.
    async fn kill_them(&mut self, workers: usize) {
        let mut random = seeded();
        for _ in 0..workers {
            self.start().await;
        }
        for kill in 0..self.kills {
            let part = self.events * kill / (self.kills + 1);
            self.until_completed(part).await;
            pass(Duration::from_millis(random.u64(0..200))).await;
            let mut process = self.busy(&mut random).await;
            let pid = process.pid();
            assert!(process.kill().await, "it had ended by itself:\n{}", process.said().await);
            let held = self.held(pid).await;
            self.in_hand += held;
            self.hits += u64::from(held > 0);
            self.start().await;
        }
        assert!(self.hits >= self.kills * 3 / 4, "only {} kills hit work in hand", self.hits);
        self.until_completed(self.events).await;
    }

    /// Waits for so many completed runs, and publishes what is not yet published meanwhile.
    async fn until_completed(&mut self, wanted: u64) {
        let (mut seen, mut since) = (0, Instant::now());
        while seen < wanted {
            let now = self.completed().await;
            if now > seen {
                (seen, since) = (now, Instant::now());
            }
            if since.elapsed() > PATIENCE {
                let left = self.runtime.store.list(&RunFilter::default()).await.unwrap();
                let left = left.into_iter().filter(|head| head.status != RunStatus::Completed);
                let left: Vec<_> = left.collect();
                let published = self.published;
                panic!("{seen} of {wanted} runs are complete, {published} published: {left:#?}");
            }
            self.publish_up_to(seen + FEW).await;
            pass(Duration::from_millis(20)).await;
        }
    }

    async fn publish_up_to(&mut self, next: u64) {
        let next = next.clamp(self.published, self.events);
        publish(&*self.queue, self.published..next).await;
        self.published = next;
    }

    async fn stop_them(&mut self) {
        for mut process in self.workers.drain(..) {
            process.terminate();
            let status = process.ends().await;
            assert_eq!(status.code(), Some(0), "{}", process.said().await);
        }
    }

    async fn check(self, began: Instant) {
        let (took, in_hand) = (began.elapsed(), self.in_hand);
        let events = (0..self.events).collect();
        let again = check(&self.runtime, self.folder.path(), &events).await;
        println!(
            "{} events: {took:.1?}; {} of {} kills hit work in hand, {in_hand} runs; {again} results \
             written again under their key",
            self.events, self.hits, self.kills
        );
        assert!(again <= in_hand, "{again} published again: more than were in hand at the kills");
        assert_eq!(peek_dead(&*self.queue, 10).await.unwrap(), []);
        self.queue.close().await.unwrap();
    }
}

/// W1, W2: none lost, none twice, none left running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_events_survive_twenty_kills() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return work(Path::new(&folder)).await;
    }
    let mut play = Play::new(Place::Embedded, wanted("VERDICT_TEST_EVENTS", 1000)).await;
    let began = Instant::now();
    play.kill_them(1).await;
    let file = play.folder.path().join("verdict.db");
    eventually("the queue is empty", async || (rows(&file).await.messages == 0).then_some(()))
        .await;
    play.stop_them().await;
    play.check(began).await;
}

/// The same on RabbitMQ: in the end the broker itself says that it has nothing left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_workers_on_rabbitmq_survive_kills() {
    let broker = Broker::shared().await;
    let mut play = Play::new(Place::rabbit(&broker), wanted("VERDICT_TEST_EVENTS", 150)).await;
    let began = Instant::now();
    play.kill_them(3).await;
    broker.empty(QUEUE).await;
    play.stop_them().await;
    broker.empty(QUEUE).await;
    play.check(began).await;
    broker.finish().await;
}

/// The same on Pub/Sub, which tells no numbers: in the end a fresh consumer finds nothing. What a
/// killed worker held comes back when its deadline is over, so the others stay until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_workers_on_pubsub_survive_kills() {
    let emulator = Emulator::shared();
    let mut play = Play::new(Place::pubsub(&emulator), wanted("VERDICT_TEST_EVENTS", 150)).await;
    let began = Instant::now();
    play.kill_them(3).await;
    pass(ACK_DEADLINE + Duration::from_secs(2)).await;
    play.stop_them().await;
    let found = timeout(Duration::from_secs(3), play.queue.consumer().next()).await;
    assert!(found.is_err(), "something is left: {found:?}");
    play.check(began).await;
}
