//! The stores that runs are tested on, and doubles that count their calls.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::value::{RawValue, to_raw_value};
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use verdict::{
    base::{Clock, ManualClock, Timestamp},
    checkpoint::{Memory, PostgresStore, SqliteStore},
    db::{Postgres, Sqlite, SqliteOptions},
    graph::{
        ClaimHow, EndedExecution, Execute, Meta, NewSpec, ReopenFrom, RunId, Runtime, Stop,
        store::{Claimed, Head, Lease, Resumed, Store},
    },
};

use super::support::{Add, TestGraph, Words, execute};
use crate::support::{Database, Firestore};

pub const START: Timestamp = Timestamp(1_700_000_000_000);

/// One store, a runtime on it, and the hand of its clock.
pub struct Bench {
    pub runtime: Runtime,
    pub hand: ManualClock,
    clock: Clock,
    kept: Kept,
}

/// Where the runs of a bench are.
enum Kept {
    Memory,
    /// In one file of the folder.
    File(TempDir),
    Postgres(Server),
    Firestore(Firestore),
}

/// A database, and who has it open.
struct Server {
    database: Database,
    open: Mutex<Vec<Postgres>>,
}

impl Server {
    /// As one process, or another, opens it.
    async fn store(&self, process: usize) -> Arc<dyn Store> {
        if let Some(db) = self.open.lock().unwrap().get(process) {
            return Arc::new(PostgresStore::new(db.clone()));
        }
        let db = Postgres::open(&self.database.url(), Default::default()).await.unwrap();
        self.open.lock().unwrap().push(db.clone());
        Arc::new(PostgresStore::new(db))
    }
}

/// Runs the test on every store.
pub async fn on_each(test: impl AsyncFn(&Bench)) {
    let far = [Bench::postgres().await, Bench::firestore().await];
    for bench in [Bench::memory(), Bench::sqlite().await].into_iter().chain(far) {
        // Shown only when the test fails.
        println!("on {}", bench.name());
        Box::pin(test(&bench)).await;
        bench.done().await;
    }
}

impl Bench {
    pub fn memory() -> Self {
        let (clock, hand) = Clock::manual(START);
        let store = Arc::new(Memory::new(clock.clone()));
        Self::on(Kept::Memory, store, clock, hand)
    }

    pub async fn sqlite() -> Self {
        let (clock, hand) = Clock::manual(START);
        let folder = tempfile::tempdir().unwrap();
        let store = open_file(&file_in(&folder), &clock).await;
        Self::on(Kept::File(folder), store, clock, hand)
    }

    pub async fn firestore() -> Self {
        let (clock, hand) = Clock::manual(START);
        let server = Firestore::shared();
        let store = Arc::new(server.store(Some(clock.clone())).await);
        Self::on(Kept::Firestore(server), store, clock, hand)
    }

    pub async fn postgres() -> Self {
        let (clock, hand) = Clock::manual(START);
        let server = Server { database: Database::shared().await, open: Mutex::default() };
        // No test here cuts the power, and each waits for hundreds of commits.
        let name = server.database.name();
        let relaxed = format!("ALTER DATABASE \"{name}\" SET synchronous_commit = off");
        server.database.command(&relaxed).await;
        let store = server.store(0).await;
        server.database.still(START.0).await;
        Self::on(Kept::Postgres(server), store, clock, hand)
    }

    fn on(kept: Kept, store: Arc<dyn Store>, clock: Clock, hand: ManualClock) -> Self {
        Self { runtime: Runtime::new(store, clock.clone(), "one"), hand, clock, kept }
    }

    fn name(&self) -> &'static str {
        match &self.kept {
            Kept::Memory => "memory",
            Kept::File(_) => "SQLite",
            Kept::Postgres(_) => "PostgreSQL",
            Kept::Firestore(_) => "Firestore",
        }
    }

    /// Lets the store's time pass, and everybody's.
    pub async fn pass(&self, by: Duration) {
        self.hand.advance(by);
        if let Kept::Postgres(server) = &self.kept {
            server.database.set_clock(self.clock.now().0).await;
        }
    }

    /// Ends every test of it.
    pub async fn done(self) {
        let Kept::Postgres(Server { database, open }) = self.kept else { return };
        let open = std::mem::take(&mut *open.lock().unwrap());
        for db in open {
            db.close().await;
        }
        database.finish().await;
    }

    /// The same runs as another process sees them: another name and another handle.
    pub async fn elsewhere(&self) -> Runtime {
        let store: Arc<dyn Store> = match &self.kept {
            Kept::Memory => self.runtime.store.clone(),
            Kept::File(folder) => open_file(&file_in(folder), &self.clock).await,
            Kept::Postgres(server) => server.store(1).await,
            Kept::Firestore(server) => Arc::new(server.store(Some(self.clock.clone())).await),
        };
        Runtime::new(store, self.clock.clone(), "other")
    }

    /// Changes the file behind the store's back.
    pub async fn sql(&self, statement: &'static str) {
        let Kept::File(folder) = &self.kept else { panic!("not on a file") };
        let options = SqliteConnectOptions::new().filename(file_in(folder));
        let mut conn = options.connect().await.unwrap();
        sqlx::query(statement).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    pub async fn open(&self, graph: &TestGraph) -> RunId {
        self.open_with(graph, &[]).await
    }

    pub async fn open_with(&self, graph: &TestGraph, input: &[&str]) -> RunId {
        let input = input.iter().map(|word| (*word).to_owned()).collect();
        let opened = self.runtime.open(graph, NewSpec::new("words", 1, input)).await.unwrap();
        opened.head.id.clone()
    }

    /// Claims the run, whatever its state, and executes it.
    pub async fn run(&self, graph: &TestGraph, id: &RunId) -> EndedExecution<Words> {
        self.execute(execute(graph), id).await
    }

    pub async fn execute(&self, execute: Execute<Words, ()>, id: &RunId) -> EndedExecution<Words> {
        on(&self.runtime, execute, id).await
    }

    pub async fn reopen(
        &self,
        graph: &TestGraph,
        id: &RunId,
        from: ReopenFrom,
    ) -> EndedExecution<Words> {
        let reopen = Some(("a test".to_owned(), from));
        self.execute(Execute { reopen, ..execute(graph) }, id).await
    }

    pub async fn claim(&self, id: &RunId) -> Lease {
        claim(&self.runtime, id).await
    }

    pub async fn head(&self, id: &RunId) -> Head {
        self.runtime.store.head(id).await.unwrap().unwrap()
    }

    pub async fn metas(&self, id: &RunId) -> Vec<Meta> {
        let history = self.runtime.history(id).await.unwrap();
        history.into_iter().map(|entry| entry.meta).collect()
    }

    /// The kinds of the run's records, in order.
    pub async fn kinds(&self, id: &RunId) -> Vec<&'static str> {
        self.metas(id).await.iter().map(Meta::kind).collect()
    }

    pub async fn answer(&self, id: &RunId, interrupt: &str, value: impl serde::Serialize) {
        let given = self.runtime.resume(id, interrupt, &raw(value)).await.unwrap();
        assert!(matches!(given, Resumed::Accepted(_)), "{interrupt}: {given:?}");
    }

    /// How many bytes the store holds for the run.
    pub async fn bytes(&self, id: &RunId) -> usize {
        let (_, records) = self.runtime.store.load(id, 0).await.unwrap().unwrap();
        let size = records.iter().map(|r| r.meta.len() + r.payload.as_ref().map_or(0, |p| p.len()));
        size.sum()
    }
}

fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("runs.db")
}

async fn open_file(path: &std::path::Path, clock: &Clock) -> Arc<dyn Store> {
    let options = SqliteOptions { clock: clock.clone(), ..SqliteOptions::default() };
    Arc::new(SqliteStore::new(Sqlite::open(path, options).await.unwrap()))
}

/// Claims the run, its holder known to have died.
pub async fn claim(runtime: &Runtime, id: &RunId) -> Lease {
    let runtime = runtime.clone().with_known_dead(|_| true);
    match runtime.claim(id, ClaimHow { early: true, reopen: true }).await.unwrap() {
        Claimed::Yours(lease, _) => lease,
        refused => panic!("{refused:?}"),
    }
}

pub async fn on(
    runtime: &Runtime,
    execute: Execute<Words, ()>,
    id: &RunId,
) -> EndedExecution<Words> {
    let lease = claim(runtime, id).await;
    runtime.execute(execute, lease).await.unwrap()
}

pub fn raw(value: impl serde::Serialize) -> Box<RawValue> {
    to_raw_value(&value).unwrap()
}

pub fn waits(stop: &Stop) -> bool {
    *stop == Stop::Waiting(None)
}

/// How often each node ran.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<String, u32>>>);

impl Calls {
    pub fn hit(&self, node: &str) -> u32 {
        let mut calls = self.0.lock().unwrap();
        let count = calls.entry(node.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub fn of(&self, node: &str) -> u32 {
        self.0.lock().unwrap().get(node).copied().unwrap_or_default()
    }

    /// What ran since this was asked last.
    pub fn take(&self) -> Vec<(String, u32)> {
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().collect()
    }

    /// The graph with every node counted, and otherwise saying its own name.
    pub fn counted(&self, graph: &TestGraph) -> TestGraph {
        graph.nodes().to_vec().iter().fold(graph.clone(), |graph, node| {
            let calls = self.clone();
            let double = move |context: verdict::graph::Context<Words, ()>| {
                calls.hit(context.node());
                super::support::say(context)
            };
            graph.replace(node, double).unwrap()
        })
    }

    /// The graph with this node counted and failing the first `times` times.
    pub fn failing(
        &self,
        graph: &TestGraph,
        node: &str,
        times: u32,
        fault: verdict::base::Fault,
    ) -> TestGraph {
        let calls = self.clone();
        let double = move |context: verdict::graph::Context<Words, ()>| {
            let (count, fault) = (calls.hit(context.node()), fault.clone());
            async move {
                if count <= times {
                    return Err(fault.into());
                }
                Ok(Add::Word(context.node().to_string()))
            }
        };
        graph.replace(node, double).unwrap()
    }
}

pub const MINUTE: Duration = Duration::from_secs(60);
