//! What a run costs on a server: runs per second alone and 64 at once, by the size of the pool, and
//! bytes per run. Prints; never judges.
//!
//! `cargo bench --bench stores --features postgres,firestore,encryption`, with `VERDICT_TEST_POSTGRES=postgres://…` and
//! `VERDICT_TEST_FIRESTORE=HOST:PORT` (Google's emulator); servers for it: `tests/services/postgres start
//! DIR`, and `firestore`. It makes databases of its own at PostgreSQL, and drops them.
//! `-- rates`, `bytes`, `encryption`, `listings` or `firestore` runs one part.
//! `VERDICT_BENCH_RUNS` says how many runs make a rate (6400), `VERDICT_BENCH_LISTED` among how many a
//! page is looked for (1000000).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark"
)]

#[expect(dead_code, reason = "what other benchmarks need")]
mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use support::{DIFF, Review, Work, review, work};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use verdict::{
    base::Clock,
    checkpoint::{FirestoreOptions, FirestoreStore, KeyRing, Memory, PostgresStore, Sealed},
    db::{Postgres, PostgresOptions},
    graph::{Execute, Graph, NewSpec, RunId, Runtime, Stop, Store, store::RunFilter},
};

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(all()).await.unwrap() });
}

async fn all() {
    let server = std::env::var("VERDICT_TEST_POSTGRES").expect("VERDICT_TEST_POSTGRES is not set");
    let bench = Bench { server: server.parse().unwrap(), graph: review(), work: work() };
    println!(
        "a run shaped like a review: 7 nodes, 4 side by side, a diff of {DIFF} bytes, 20 findings\n"
    );
    let runs = wanted("VERDICT_BENCH_RUNS", 6_400);
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let part = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    if part("rates") {
        bench.rates(runs).await;
    }
    if part("bytes") {
        bench.bytes(runs / 3).await;
    }
    if part("encryption") {
        bench.encryption(runs / 4).await;
    }
    if part("listings") {
        bench.listings().await;
    }
    if part("firestore") {
        bench.firestore(runs / 16).await;
    }
}

fn wanted(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

fn row(what: &str, value: f64, unit: &str, budget: &str, note: String) {
    println!("{what:<44} {value:>10.2} {unit:<7} budget {budget:<12} {note}");
}

struct Bench {
    server: url::Url,
    graph: Graph<Review, Work>,
    work: Arc<Work>,
}

impl Bench {
    async fn rates(&self, runs: usize) {
        let alone = self.rate(1, runs / 16, PostgresOptions::default()).await;
        row("PostgreSQL, alone", alone, "runs/s", "-", format!("{:.2} ms each", 1e3 / alone));
        for max_connections in [1, 4, 16] {
            let mut rates = Vec::new();
            for _ in 0..3 {
                let options = PostgresOptions { max_connections, ..PostgresOptions::default() };
                rates.push(self.rate(64, runs, options).await);
            }
            rates.sort_by(f64::total_cmp);
            let what = format!("PostgreSQL, 64 at once, pool of {max_connections}");
            row(&what, rates[1], "runs/s", ">= 3000", format!("{rates:.0?}"));
        }
    }

    async fn command(&self, sql: String) {
        let mut conn = PgConnection::connect(self.server.as_str()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    /// A new database; answers its name and URL.
    async fn database(&self) -> (String, String) {
        let name = format!("bench_{:016x}", fastrand::u64(..));
        self.command(format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        let mut url = self.server.clone();
        url.set_path(&name);
        (name, url.into())
    }

    async fn drop(&self, name: &str) {
        self.command(format!("DROP DATABASE {name} WITH (FORCE)")).await;
    }

    /// Runs per second with so many at a time.
    async fn rate(&self, tasks: usize, runs: usize, options: PostgresOptions) -> f64 {
        let (name, url) = self.database().await;
        let db = Postgres::open(&url, options).await.unwrap();
        let runtime = self.runtime(&db);
        for _ in 0..20 {
            self.durable(&runtime).await;
        }
        let began = Instant::now();
        self.at_once(tasks, runs, &runtime).await;
        let rate = (runs / tasks * tasks) as f64 / began.elapsed().as_secs_f64();
        drop(runtime);
        db.close().await;
        self.drop(&name).await;
        rate
    }

    fn runtime(&self, db: &Postgres) -> Runtime {
        Runtime::new(Arc::new(PostgresStore::new(db.clone())), Clock::system(), "bench")
    }

    async fn at_once(&self, tasks: usize, runs: usize, runtime: &Runtime) {
        let mut set = JoinSet::new();
        for _ in 0..tasks {
            let (runtime, graph, work) = (runtime.clone(), self.graph.clone(), self.work.clone());
            set.spawn(async move {
                for _ in 0..runs / tasks {
                    durable(&runtime, &graph, &work).await;
                }
            });
        }
        set.join_all().await;
    }

    async fn durable(&self, runtime: &Runtime) {
        durable(runtime, &self.graph, &self.work).await;
    }

    /// What encrypting adds to a run in memory, where nothing else costs time.
    async fn encryption(&self, runs: usize) {
        let key = format!("bench:{}", "0123456789abcdef".repeat(4));
        let memory = || -> Arc<dyn Store> { Arc::new(Memory::new(Clock::system())) };
        let sealed =
            || -> Arc<dyn Store> { Arc::new(Sealed::new(memory(), KeyRing::parse(&key).unwrap())) };
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (times, store) in times.iter_mut().zip([memory(), sealed()]) {
                let runtime = Runtime::new(store, Clock::system(), "bench");
                let began = Instant::now();
                self.at_once(1, runs, &runtime).await;
                times.push(1e3 * began.elapsed().as_secs_f64() / runs as f64);
            }
        }
        let [bare, sealed] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[2]
        });
        row("in memory", bare, "ms", "-", String::new());
        row("in memory, encrypted", sealed, "ms", "-", format!("{:.2} x", sealed / bare));
    }

    /// What the tables and their indexes take up.
    async fn bytes(&self, runs: usize) {
        let (name, url) = self.database().await;
        let db = Postgres::open(&url, PostgresOptions::default()).await.unwrap();
        let runtime = self.runtime(&db);
        let mut conn = PgConnection::connect(&url).await.unwrap();
        let size = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
                    WHERE relnamespace = 'verdict'::regnamespace AND relkind = 'r'";
        let before: i64 = sqlx::query(size).fetch_one(&mut conn).await.unwrap().get(0);
        self.at_once(64, runs, &runtime).await;
        let after: i64 = sqlx::query(size).fetch_one(&mut conn).await.unwrap().get(0);
        let bytes = (after - before) as f64 / (runs / 64 * 64) as f64;
        let note = format!("{:.3} x the diff (<= 0.35)", bytes / DIFF as f64);
        row("stored per run", bytes, "bytes", "<= 22938", note);
        let parts = "SELECT relname, pg_total_relation_size(oid) - pg_indexes_size(oid), \
                     pg_indexes_size(oid) FROM pg_class WHERE relnamespace = 'verdict'::regnamespace \
                     AND relname IN ('run', 'record') ORDER BY relname";
        for part in sqlx::query(parts).fetch_all(&mut conn).await.unwrap() {
            let each = |column| part.get::<i64, _>(column) as f64 / (runs / 64 * 64) as f64;
            let note = format!("and {:.0} in indexes", each(2));
            row(&format!("  table {}", part.get::<&str, _>(0)), each(1), "bytes", "-", note);
        }
        drop(runtime);
        conn.close().await.unwrap();
        db.close().await;
        self.drop(&name).await;
    }

    /// A page of a listing, at so many runs.
    async fn listings(&self) {
        let runs = wanted("VERDICT_BENCH_LISTED", 1_000_000);
        let (name, url) = self.database().await;
        let db = Postgres::open(&url, PostgresOptions::default()).await.unwrap();
        let mut conn = PgConnection::connect(&url).await.unwrap();
        let fill = format!(
            "INSERT INTO verdict.run (id, workflow, workflow_version, format, key, place, status, \
             version, epoch, created_at, updated_at) SELECT md5(n::text), 'review', 1, 1, \
             n::text::bytea, 0, CASE WHEN n % 1000 = 0 THEN n / 1000 % 3 ELSE 3 + n % 4 END, 2, 1, \
             1000 * n, 1000 * n FROM generate_series(1::bigint, {runs}) AS n; ANALYZE"
        );
        sqlx::raw_sql(AssertSqlSafe(fill)).execute(&mut conn).await.unwrap();
        let store = PostgresStore::new(db.clone());
        let middle = verdict::base::Timestamp(i64::try_from(runs).unwrap() * 500);
        let filter = RunFilter {
            workflow: Some("review".into()),
            after: Some((middle, RunId::random())),
            limit: 50,
            ..RunFilter::default()
        };
        let mut times = Vec::new();
        for _ in 0..50 {
            let began = Instant::now();
            assert_eq!(store.list(&filter).await.unwrap().len(), 50);
            times.push(began.elapsed());
        }
        times.sort();
        let took: Duration = times[25];
        row(
            &format!("a page of 50 among {runs}"),
            took.as_secs_f64() * 1e3,
            "ms",
            "-",
            String::new(),
        );
        conn.close().await.unwrap();
        db.close().await;
        self.drop(&name).await;
    }
}

/// What the emulator does in a second tells how our side keeps up, and nothing of Google's.
impl Bench {
    async fn firestore(&self, runs: usize) {
        let server =
            std::env::var("VERDICT_TEST_FIRESTORE").expect("VERDICT_TEST_FIRESTORE is not set");
        let (address, sent) = counted(server).await;
        for tasks in [1, 64] {
            let mut rates = Vec::new();
            let before = sent.load(Ordering::Relaxed);
            for _ in 0..3 {
                let project = format!("bench-{:016x}", fastrand::u64(..));
                let options = FirestoreOptions {
                    emulator: Some(address.clone()),
                    timeout: Duration::from_secs(60),
                    ..FirestoreOptions::new(&project, "(default)")
                };
                let store = FirestoreStore::connect(options).await.unwrap();
                let runtime = Runtime::new(Arc::new(store), Clock::system(), "bench");
                let began = Instant::now();
                self.at_once(tasks, runs, &runtime).await;
                rates.push((runs / tasks * tasks) as f64 / began.elapsed().as_secs_f64());
            }
            rates.sort_by(f64::total_cmp);
            let what = format!("Firestore's emulator, {tasks} at once");
            row(&what, rates[1], "runs/s", "-", format!("{rates:.0?}"));
            let bytes = sent.load(Ordering::Relaxed) - before;
            let bytes = bytes as f64 / (3 * (runs / tasks * tasks)) as f64;
            row(
                "sent per run",
                bytes,
                "bytes",
                "-",
                format!("{:.3} x the diff", bytes / DIFF as f64),
            );
        }
    }
}

/// A way to the server that counts the bytes sent to it.
async fn counted(server: String) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let sent = Arc::<AtomicU64>::default();
    let count = sent.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            let ((mut from, mut back), (mut answers, mut to)) =
                (client.into_split(), server.into_split());
            tokio::spawn(async move { tokio::io::copy(&mut answers, &mut back).await });
            let count = count.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(read @ 1..) = from.read(&mut buffer).await {
                    count.fetch_add(read as u64, Ordering::Relaxed);
                    to.write_all(&buffer[..read]).await.unwrap();
                }
            });
        }
    });
    (address, sent)
}

async fn durable(runtime: &Runtime, graph: &Graph<Review, Work>, work: &Arc<Work>) {
    let spec = NewSpec::new("review", 1, 0).id(RunId::random()).claim();
    let opened = runtime.open(graph, spec).await.unwrap();
    let execute = Execute::new(graph.clone(), work.clone());
    let ran = runtime.execute(execute, opened.held.unwrap()).await.unwrap();
    assert_eq!(ran.stop, Stop::Completed);
}
