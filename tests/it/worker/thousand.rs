//! A thousand events, eight at a time, the worker killed and started again twenty times.
//!
//! The worker is a process of its own: this test binary, started again. Its workflow costs next to
//! nothing, so that a thousand runs are a matter of seconds; the real binary does the same with
//! reviews in `crash::serve`. What a run publishes is a line in a file, marked with the task's
//! idempotency key, as a forge's comment would be.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use verdict::{
    base::{Clock, Result},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{
        Context, END, Graph, GraphBuilder, GraphError, Meta, NodeError, RunStatus, Runtime, State,
        store::{LetterFilter, RunFilter, Store},
    },
    queue::{
        Message, Queue,
        embedded::{self, Embedded},
        peek_dead,
    },
    worker::{Options, Worker},
    workflows::{Admission, Bound, Event, Registry, Start, Workflow, read_input},
};

use crate::{
    crash::wanted,
    support::{Process, eventually, pass, rows},
};

const FOLDER: &str = "VERDICT_TEST_WORKER_FOLDER";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count {
    number: u64,
    seen: Vec<String>,
}

impl State for Count {
    type Input = u64;
    type Update = String;

    fn new(number: u64) -> Self {
        Self { number, seen: Vec::new() }
    }

    fn merge(&mut self, update: String) {
        self.seen.push(update);
    }
}

/// ingest → four side by side → judge → publish, each waiting as if for somebody else.
struct Counting;

async fn node(context: Context<Count, PathBuf>) -> Result<String, NodeError> {
    let number = context.state().number;
    pass(Duration::from_millis(5 + number % 20)).await;
    if &**context.node() == "publish" {
        let file = fs::File::options().create(true).append(true).open(context.deps());
        let line = format!("{number} {}\n", context.idempotency_key());
        file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
    }
    Ok(format!("{} {number}", context.node()))
}

#[async_trait]
impl Workflow for Counting {
    const NAME: &'static str = "counting";
    const VERSION: u32 = 1;
    type State = Count;
    type Deps = PathBuf;

    fn graph() -> Result<Graph<Count, PathBuf>, GraphError> {
        let mut graph = GraphBuilder::new();
        for name in ["ingest", "a", "b", "c", "d", "judge", "publish"] {
            graph.node(name, node);
        }
        graph.entry("ingest").edge("judge", "publish").edge("publish", END);
        for agent in ["a", "b", "c", "d"] {
            graph.edge("ingest", agent).edge(agent, "judge");
        }
        graph.compile()
    }

    async fn admit(_: &PathBuf, event: &Event) -> Result<Admission<u64>> {
        let Event::Job { input, .. } = event else {
            return Ok(Admission::Ignore { reason: "no job".into() });
        };
        let input: u64 = read_input(Self::NAME, input)?;
        let key = input.to_string();
        Ok(Admission::Start(Start { key, subject: None, order: 0, input }))
    }
}

async fn open(folder: &Path) -> (Runtime, Arc<dyn Queue>) {
    let db = Sqlite::open(folder.join("verdict.db"), SqliteOptions::default()).await.unwrap();
    let visibility = Duration::from_millis(500);
    let options = embedded::Options { visibility, ..embedded::Options::default() };
    let queue: Arc<dyn Queue> = Arc::new(Embedded::open(db.clone(), options));
    let store: Arc<dyn Store> = Arc::new(SqliteStore::new(db));
    let owner = format!("worker {}", std::process::id());
    (Runtime::new(store, Clock::system(), &owner), queue)
}

/// The worker's process, until it is killed or told to stop.
async fn work(folder: &Path) {
    let (runtime, queue) = open(folder).await;
    let workflow = Bound::<Counting>::new(folder.join("published")).unwrap();
    let options = Options {
        concurrency: 8,
        lease: Duration::from_millis(500),
        sweep: Duration::from_millis(200),
        sweep_margin: Duration::from_millis(300),
        ..Options::default()
    };
    let worker = Worker::new(runtime, queue, Registry::new().with(workflow), options);
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
}

async fn start(folder: &Path) -> Process {
    let test = "worker::thousand::a_thousand_events_survive_twenty_kills";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(FOLDER, folder);
    let mut process = Process::start(command);
    process.says("@ working").await;
    process
}

/// W1, W2: none lost, none twice, none left running.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_events_survive_twenty_kills() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return work(Path::new(&folder)).await;
    }
    let (events, kills) = (wanted("VERDICT_TEST_EVENTS", 1000), 20);
    let folder = tempfile::tempdir().unwrap();
    let (runtime, queue) = open(folder.path()).await;
    let job = |n| Message::new(json!({"workflow": "counting", "input": n}).to_string());
    let published = (0..events).map(|n| queue.publish(job(n), Duration::ZERO));
    futures_util::future::try_join_all(published).await.unwrap();

    let began = Instant::now();
    let mut random = fastrand::Rng::with_seed(wanted("VERDICT_TEST_SEED", 3));
    let mut alive = 0;
    let file = folder.path().join("verdict.db");
    for _ in 0..kills {
        let mut process = start(folder.path()).await;
        pass(Duration::from_millis(random.u64(20..400))).await;
        alive += u64::from(rows(&file).await.messages > 0);
        assert!(process.kill().await);
    }
    assert!(alive >= kills * 3 / 4, "the work was done before the {alive}th kill");
    let mut process = start(folder.path()).await;
    eventually("the queue is empty", async || (rows(&file).await.messages == 0).then_some(()))
        .await;
    process.terminate();
    assert_eq!(process.ends().await.code(), Some(0));
    println!("{alive} of {kills} kills with messages left; {:?} in all", began.elapsed());
    check(&runtime, events).await;
    check_published(&folder.path().join("published"), events);
    assert_eq!(peek_dead(&*queue, 10).await.unwrap(), []);
}

async fn check(runtime: &Runtime, events: u64) {
    let heads = runtime.store.list(&RunFilter::default()).await.unwrap();
    assert_eq!(heads.len() as u64, events);
    for head in &heads {
        assert_eq!(head.status, RunStatus::Completed, "{head:?}");
        assert_eq!((&head.lease, head.executions), (&None, 0));
        let mut finished = HashMap::new();
        for (_, _, meta) in runtime.history(&head.id).await.unwrap() {
            if let Meta::TaskFinished { step, index, .. } = meta {
                *finished.entry((step, index)).or_insert(0) += 1;
            }
        }
        assert_eq!(finished.len(), 7, "{head:?}");
        assert!(finished.values().all(|times| *times == 1), "{finished:?}");
    }
    let letters = runtime.store.letters(&LetterFilter::default()).await.unwrap();
    assert_eq!(letters, []);
}

/// Every event was published, under one key each. (A line may stand there twice with its key, when
/// the worker died between writing it and recording that: that is what the key is for.)
fn check_published(file: &Path, events: u64) {
    let text = fs::read_to_string(file).unwrap();
    let mut keys: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let (number, key) = line.split_once(' ').unwrap();
        keys.entry(number.parse().unwrap()).or_default().push(key);
    }
    assert!(keys.keys().copied().eq(0..events), "some event was never published");
    let again: usize = keys.values().map(|keys| keys.len() - 1).sum();
    for (number, keys) in keys {
        assert!(keys.iter().all(|key| *key == keys[0]), "{number}: {keys:?}");
    }
    assert!(again <= 20 * 8, "{again} were published again: more than were in hand at the kills");
}
