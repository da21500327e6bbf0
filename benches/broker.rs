//! Events per second from RabbitMQ through a workflow of no-op nodes, beside a bare consumer that
//! acknowledges and does nothing else, on a queue of the same kind in the same run; and how long a
//! message waits from its publishing to its first node. Prints; never judges.
//!
//! `VERDICT_TEST_AMQP=amqp://… cargo bench --features amqp --bench broker`; the broker's virtual
//! host gets queues of random names, deleted at the end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark"
)]

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use lapin::{Connection, ConnectionProperties, options, types::FieldTable};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use verdict::{
    app::QueueNotifier,
    base::{Clock, Result},
    checkpoint::{Memory, SqliteStore},
    db::{Sqlite, SqliteOptions},
    graph::{Context, END, Graph, GraphBuilder, GraphError, NodeError, Runtime, State, Store},
    queue::{
        Message, Queue,
        amqp::{self, Amqp},
    },
    runs::Runs,
    worker::{Options, Worker},
    workflows::{Admission, Bound, Event, Registry, Start, Workflow, read_input},
};

const EVENTS: u64 = 10_000;
/// Runs at a time, and messages the broker lets out unacknowledged.
const CONCURRENCY: u16 = 64;
const ROUNDS: usize = 3;

#[tokio::main]
async fn main() {
    let Ok(url) = std::env::var("VERDICT_TEST_AMQP") else {
        println!("set VERDICT_TEST_AMQP to a RabbitMQ's URL; `tests/services/up` starts one");
        return;
    };
    println!(
        "{EVENTS} events, {CONCURRENCY} at a time, quorum queues, median of {ROUNDS} rounds\n"
    );
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        rates[0].push(bare(&url).await);
        rates[1].push(through(&url, Arc::new(Memory::new(Clock::system()))).await);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verdict.db");
        let db = Sqlite::open(file, SqliteOptions::default()).await.unwrap();
        rates[2].push(through(&url, Arc::new(SqliteStore::new(db))).await);
    }
    let [bare, memory, sqlite] = rates.map(median);
    println!("{:<44} {bare:>8.0} events/s", "bare lapin: consume and acknowledge");
    for (store, rate) in [("memory", memory), ("SQLite", sqlite)] {
        let what = format!("through a run of seven nodes, {store} store");
        println!("{what:<44} {rate:>8.0} events/s   {:.2} of bare", rate / bare);
    }
    waits(&url).await;
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A queue of its own.
struct Place {
    name: String,
    url: String,
}

impl Place {
    fn new(url: &str) -> Self {
        let name = format!("bench-{:016x}", fastrand::u64(..));
        let mark = if url.contains('?') { '&' } else { '?' };
        Self { url: format!("{url}{mark}queue={name}"), name }
    }

    fn open(&self) -> Arc<dyn Queue> {
        let queue = Amqp::open(&self.url, amqp::Options::default(), CONCURRENCY).unwrap();
        Arc::new(queue)
    }

    async fn fill(&self, queue: &dyn Queue, events: u64) {
        let job = |n| Message::new(json!({"workflow": "nothing", "input": n}).to_string());
        let publishing = stream::iter(0..events).map(|n| queue.publish(job(n), Duration::ZERO));
        publishing.buffer_unordered(256).try_collect::<Vec<_>>().await.unwrap();
    }

    async fn delete(&self, bare_url: &str) {
        let connection =
            Connection::connect(bare_url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let tails = ["", ".dead", ".later.10s", ".later.1m", ".later.10m"];
        for tail in tails {
            let name = format!("{}{tail}", self.name);
            channel.queue_delete(name.into(), Default::default()).await.unwrap();
        }
        connection.close(200, "done".into()).await.unwrap();
    }
}

/// What the client alone can do.
async fn bare(url: &str) -> f64 {
    let place = Place::new(url);
    let queue = place.open();
    place.fill(&*queue, EVENTS).await;
    queue.close().await.unwrap();
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.basic_qos(CONCURRENCY, options::BasicQosOptions::default()).await.unwrap();
    let began = Instant::now();
    let mut consumer = channel
        .basic_consume(
            place.name.clone().into(),
            "bare".into(),
            options::BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await
        .unwrap();
    for _ in 0..EVENTS {
        let delivery = consumer.next().await.unwrap().unwrap();
        delivery.ack(options::BasicAckOptions::default()).await.unwrap();
    }
    let rate = EVENTS as f64 / began.elapsed().as_secs_f64();
    connection.close(200, "done".into()).await.unwrap();
    place.delete(url).await;
    rate
}

/// A worker on the same.
async fn through(url: &str, store: Arc<dyn Store>) -> f64 {
    let place = Place::new(url);
    let queue = place.open();
    place.fill(&*queue, EVENTS).await;
    let seen = Arc::new(Seen::new());
    let began = Instant::now();
    let stop = CancellationToken::new();
    let working = start(&queue, store, &seen, &stop);
    seen.all(EVENTS).await;
    let rate = EVENTS as f64 / began.elapsed().as_secs_f64();
    stop.cancel();
    working.await.unwrap();
    queue.close().await.unwrap();
    place.delete(url).await;
    rate
}

/// From publishing to the first node, one message at a time on an idle worker.
async fn waits(url: &str) {
    const MESSAGES: u64 = 2000;
    let place = Place::new(url);
    let queue = place.open();
    let seen = Arc::new(Seen::new());
    let stop = CancellationToken::new();
    let working = start(&queue, Arc::new(Memory::new(Clock::system())), &seen, &stop);
    let mut waits = Vec::new();
    for n in 0..MESSAGES {
        let began = Instant::now();
        place.send(&*queue, n).await;
        seen.all(n + 1).await;
        let first = seen.first.lock().unwrap().pop().unwrap();
        waits.push(first.duration_since(began).as_secs_f64() * 1e3);
    }
    waits.sort_by(f64::total_cmp);
    let at = |share: f64| waits[(waits.len() as f64 * share) as usize];
    println!("from publish to first node: median {:.2} ms, 99 % {:.2} ms", at(0.5), at(0.99));
    stop.cancel();
    working.await.unwrap();
    queue.close().await.unwrap();
    place.delete(url).await;
}

impl Place {
    async fn send(&self, queue: &dyn Queue, n: u64) {
        let body = json!({"workflow": "nothing", "input": n}).to_string();
        queue.publish(Message::new(body), Duration::ZERO).await.unwrap();
    }
}

fn start(
    queue: &Arc<dyn Queue>,
    store: Arc<dyn Store>,
    seen: &Arc<Seen>,
    stop: &CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let options = Options { concurrency: CONCURRENCY.into(), ..Options::default() };
    let workflow = Bound::<Nothing>::new(seen.clone()).unwrap();
    let runtime = Runtime::new(store, Clock::system(), "bench");
    let notifier = Arc::new(QueueNotifier::new(queue.clone()));
    let runs = Runs::new(runtime, Registry::new().with(workflow), notifier);
    let worker = Worker::new(runs, queue.clone(), options);
    let stop = stop.clone();
    tokio::spawn(async move { worker.run(stop).await })
}

/// What nodes have seen.
struct Seen {
    done: watch::Sender<u64>,
    first: Mutex<Vec<Instant>>,
}

impl Seen {
    fn new() -> Self {
        Self { done: watch::Sender::new(0), first: Mutex::default() }
    }

    async fn all(&self, events: u64) {
        self.done.subscribe().wait_for(|done| *done >= events).await.unwrap();
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Number(u64);

impl State for Number {
    type Input = u64;
    type Update = ();

    fn new(number: u64) -> Self {
        Self(number)
    }

    fn merge(&mut self, (): ()) {}
}

/// The shape of a review, and nothing done.
struct Nothing;

async fn node(context: Context<Number, Arc<Seen>>) -> Result<(), NodeError> {
    match &**context.node() {
        "ingest" => context.deps().first.lock().unwrap().push(Instant::now()),
        "publish" => context.deps().done.send_modify(|done| *done += 1),
        _ => {}
    }
    Ok(())
}

#[async_trait]
impl Workflow for Nothing {
    const NAME: &'static str = "nothing";
    const VERSION: u32 = 1;
    type State = Number;
    type Deps = Arc<Seen>;

    fn graph() -> Result<Graph<Number, Arc<Seen>>, GraphError> {
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

    async fn admit(_: &Arc<Seen>, event: &Event) -> Result<Admission<u64>> {
        let Event::Job { input, .. } = event else {
            return Ok(Admission::Ignore { reason: "no job".into() });
        };
        let input: u64 = read_input(Self::NAME, input)?;
        Ok(Admission::Start(Start {
            key: input.to_string(),
            subject: None,
            order: 0,
            settles: false,
            input,
        }))
    }
}
