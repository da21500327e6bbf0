//! The engine's budgets: what a run costs without a store, in memory and on SQLite, each beside the
//! same closures joined by hand and beside what the design allows. Prints; never judges.
//!
//! `cargo bench --bench budgets` runs everything; `-- rss` is what it starts itself with to measure
//! memory in a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark"
)]

mod support;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use support::{DIFF, Review, Work, by_hand, review, wide, work};
use tokio::task::JoinSet;
use verdict::{
    base::Clock,
    checkpoint::{Memory, SqliteStore},
    db::{Sqlite, SqliteOptions},
    graph::{Execute, Graph, NewSpec, RunId, Runtime, Stop, Store},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match arguments.iter().find(|argument| !argument.starts_with("--")).map(String::as_str) {
        Some("rss") => runtime.block_on(in_flight(10_000)),
        _ => runtime.block_on(all()),
    }
}

async fn all() {
    println!(
        "a run shaped like a review: 7 nodes, 4 side by side, a diff of {DIFF} bytes, 20 findings\n"
    );
    // A runtime's blocking thread is no worker: the measured futures run on one.
    tokio::spawn(latency()).await.unwrap();
    tokio::spawn(throughput()).await.unwrap();
    tokio::spawn(fan_out()).await.unwrap();
    bytes_per_run().await;
    memory();
}

/// Milliseconds per call: the median of `samples` batches.
async fn median<F: Future<Output = ()>>(
    samples: usize,
    batch: u32,
    mut call: impl FnMut() -> F,
) -> f64 {
    for _ in 0..batch {
        call().await;
    }
    let mut times = Vec::with_capacity(samples);
    for _ in 0..samples {
        let began = Instant::now();
        for _ in 0..batch {
            call().await;
        }
        times.push(began.elapsed().as_secs_f64() * 1e3 / f64::from(batch));
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn row(what: &str, value: f64, unit: &str, budget: &str, note: String) {
    println!("{what:<44} {value:>10.4} {unit:<7} budget {budget:<12} {note}");
}

async fn latency() {
    let work = work();
    let hand = median(40, 500, || async { drop(std::hint::black_box(by_hand(&work).await)) }).await;
    row("joined by hand", hand, "ms", "-", String::new());
    let graph = review();
    let none = median(40, 500, || once(&graph, &work)).await;
    row("no store", none, "ms", "<= 0.010", format!("{:.2} x by hand (<= 3)", none / hand));
    let store = Arc::new(Memory::new(Clock::system()));
    let runtime = Runtime::new(store.clone(), Clock::system(), "bench");
    let memory = median(40, 100, || async {
        let id = durable(&runtime, &graph, &work).await;
        store.delete(&id).await.unwrap();
    })
    .await;
    row("memory", memory, "ms", "<= 0.10", format!("{:.1} x by hand", memory / hand));
    let folder = tempfile::tempdir().unwrap();
    let fsync = fsync_ms(folder.path());
    let (store, db) = sqlite(&folder.path().join("alone.db")).await;
    let runtime = Runtime::new(store, Clock::system(), "bench");
    let alone = median(20, 50, || async { drop(durable(&runtime, &graph, &work).await) }).await;
    let note = format!("fsync {:.0} us; 0.7 + 5 fsyncs = {:.2}", fsync * 1e3, 0.7 + 5.0 * fsync);
    row("SQLite, alone", alone, "ms", "<= 0.8", note);
    drop(runtime);
    db.close().await.unwrap();
}

async fn once(graph: &Graph<Review, Work>, work: &Arc<Work>) {
    let ran = graph.run(0, Execute::new(graph.clone(), work.clone())).await;
    assert_eq!(ran.stop, Stop::Completed);
}

async fn durable(runtime: &Runtime, graph: &Graph<Review, Work>, work: &Arc<Work>) -> RunId {
    let id = RunId::random();
    let spec = NewSpec::new("review", 1, 0).id(id.clone()).claim();
    let opened = runtime.open(graph, spec).await.unwrap();
    let execute = Execute::new(graph.clone(), work.clone());
    let ran = runtime.execute(execute, opened.held.unwrap()).await.unwrap();
    assert_eq!(ran.stop, Stop::Completed);
    id
}

async fn sqlite(path: &Path) -> (Arc<SqliteStore>, Sqlite) {
    let db = Sqlite::open(path, SqliteOptions::default()).await.unwrap();
    (Arc::new(SqliteStore::new(db.clone())), db)
}

/// Milliseconds of one small durable write here.
fn fsync_ms(folder: &Path) -> f64 {
    use std::io::Write;
    let mut file = std::fs::File::create(folder.join("fsync")).unwrap();
    let began = Instant::now();
    for _ in 0..200 {
        file.write_all(&[0; 4096]).unwrap();
        file.sync_data().unwrap();
    }
    began.elapsed().as_secs_f64() * 1e3 / 200.0
}

async fn throughput() {
    let (graph, work) = (review(), work());
    let memory = Arc::new(Memory::new(Clock::system()));
    let rate =
        at_once(64, 6_000, &Runtime::new(memory, Clock::system(), "bench"), &graph, &work).await;
    row("memory, 64 at once", rate, "runs/s", "-", String::new());
    let folder = tempfile::tempdir().unwrap();
    let mut rates = Vec::new();
    for round in 0..3 {
        let (store, db) = sqlite(&folder.path().join(format!("{round}.db"))).await;
        let runtime = Runtime::new(store, Clock::system(), "bench");
        rates.push(at_once(64, 6_000, &runtime, &graph, &work).await);
        drop(runtime);
        db.close().await.unwrap();
    }
    rates.sort_by(f64::total_cmp);
    row("SQLite, 64 at once", rates[1], "runs/s", ">= 3500", format!("{rates:.0?}"));
}

async fn at_once(
    tasks: usize,
    runs: usize,
    runtime: &Runtime,
    graph: &Graph<Review, Work>,
    work: &Arc<Work>,
) -> f64 {
    let began = Instant::now();
    let mut set = JoinSet::new();
    for _ in 0..tasks {
        let (runtime, graph, work) = (runtime.clone(), graph.clone(), work.clone());
        set.spawn(async move {
            for _ in 0..runs / tasks {
                durable(&runtime, &graph, &work).await;
            }
        });
    }
    set.join_all().await;
    (runs / tasks * tasks) as f64 / began.elapsed().as_secs_f64()
}

async fn fan_out() {
    let (graph, work) = (wide(1_000), work());
    let none = median(20, 10, || once(&graph, &work)).await;
    row("fan-out of 1,000, no store", none, "ms", "<= 1", String::new());
    let store = Arc::new(Memory::new(Clock::system()));
    let runtime = Runtime::new(store.clone(), Clock::system(), "bench");
    let memory = median(20, 10, || async {
        let id = durable(&runtime, &graph, &work).await;
        store.delete(&id).await.unwrap();
    })
    .await;
    row("fan-out of 1,000, memory", memory, "ms", "<= 1", String::new());
    let folder = tempfile::tempdir().unwrap();
    let (store, db) = sqlite(&folder.path().join("wide.db")).await;
    let runtime = Runtime::new(store, Clock::system(), "bench");
    let sqlite = median(20, 5, || async { drop(durable(&runtime, &graph, &work).await) }).await;
    row("fan-out of 1,000, SQLite", sqlite, "ms", "<= 3", String::new());
    drop(runtime);
    db.close().await.unwrap();
}

async fn bytes_per_run() {
    let (graph, work) = (review(), work());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes.db");
    let (store, db) = sqlite(&path).await;
    let runtime = Runtime::new(store, Clock::system(), "bench");
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len()) as f64;
    durable(&runtime, &graph, &work).await;
    let runs = 500;
    for _ in 0..runs {
        durable(&runtime, &graph, &work).await;
    }
    drop(runtime);
    db.close().await.unwrap();
    let bytes = size(&path) / f64::from(runs + 1);
    let note = format!("{:.3} x the diff (<= 0.35)", bytes / DIFF as f64);
    row("stored per run, SQLite", bytes, "bytes", "<= 22938", note);
}

/// In a process of its own, so that nothing else counts.
fn memory() {
    let output =
        std::process::Command::new(std::env::current_exe().unwrap()).arg("rss").output().unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

/// `count` runs at once, each with a recorded diff of its own and its four agents at work, until
/// all of them are.
async fn in_flight(count: usize) {
    let work = work();
    let barrier = Arc::new(tokio::sync::Barrier::new(count * support::AGENTS.len()));
    let mut graph = review();
    for agent in support::AGENTS {
        let waits = barrier.clone();
        let waiting = graph.replace(agent, move |ctx| {
            let barrier = waits.clone();
            async move {
                if barrier.wait().await.is_leader() {
                    let resident = status_kib("VmRSS:") / 1024.0;
                    let ratio = resident * 1048576.0 / (count * DIFF) as f64;
                    let note = format!("{ratio:.2} x the payload (<= 1.2)");
                    row("10,000 in flight on SQLite, RSS then", resident, "MiB", "<= 750", note);
                }
                let found = ctx.deps().agent(agent, &ctx.state().diff);
                Ok::<_, verdict::graph::NodeError>(support::Update::Found(found))
            }
        });
        graph = waiting.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (store, db) = sqlite(&folder.path().join("flight.db")).await;
    let runtime = Runtime::new(store, Clock::system(), "bench").with_ttl(Duration::from_secs(600));
    let before = status_kib("VmRSS:");
    let mut set = JoinSet::new();
    for _ in 0..count {
        let (runtime, graph, work) = (runtime.clone(), graph.clone(), work.clone());
        set.spawn(async move { durable(&runtime, &graph, &work).await });
    }
    set.join_all().await;
    let peak = status_kib("VmHWM:") * 1024.0;
    let payload = (count * DIFF) as f64;
    let note =
        format!("{:.2} x the payload (<= 1.2); {:.0} MiB before", peak / payload, before / 1024.0);
    row("10,000 with 20 findings each, peak RSS", peak / 1048576.0, "MiB", "<= 750", note);
    db.close().await.unwrap();
}

fn status_kib(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}
