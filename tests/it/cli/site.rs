//! A machine whose runs are kept in one of the stores, and that store opened by the test as well.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use verdict::{
    base::Timestamp,
    checkpoint::{PostgresStore, SqliteStore},
    db::{Postgres, PostgresOptions, Sqlite},
    graph::store::{Append, HeadChange, Hold, NewRun, RunStatus, Store, Waiting},
};

use crate::{
    review::support::Repo,
    store::harness,
    support::{Database, Done, Firestore, Machine, Process},
};

pub struct Site {
    pub machine: Machine,
    pub store: Arc<dyn Store>,
    pub place: Place,
}

/// Where the runs are.
pub enum Place {
    Sqlite(Sqlite),
    Postgres(Database, Postgres),
    Firestore(Firestore),
}

impl Site {
    pub async fn sqlite() -> Self {
        let machine = Machine::new();
        let db = machine.open().await;
        let store = Arc::new(SqliteStore::new(db.clone()));
        Self { machine, store, place: Place::Sqlite(db) }
    }

    pub async fn postgres() -> Self {
        Self::on(Database::shared().await).await
    }

    /// On a server that the test may stop.
    pub async fn private_postgres() -> Self {
        Self::on(Database::private().await).await
    }

    async fn on(database: Database) -> Self {
        let db = Postgres::open(&database.url(), PostgresOptions::default()).await.unwrap();
        let store = Arc::new(PostgresStore::new(db.clone()));
        let machine = Machine::new().set("store.url", &database.url());
        Self { machine, store, place: Place::Postgres(database, db) }
    }

    pub async fn firestore() -> Self {
        let server = Firestore::shared();
        let store = Arc::new(server.store(None).await);
        let machine = Machine::new()
            .set("store.url", &format!("firestore://{}/(default)", server.project()))
            .with_variable("FIRESTORE_EMULATOR_HOST", server.address());
        Self { machine, store, place: Place::Firestore(server) }
    }

    /// The same with a setting.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.machine = self.machine.set(key, value);
        self
    }

    /// The same with a setting in a file; no file is no setting.
    pub fn with_file(mut self, key: &str, file: &str) -> Self {
        let variable = format!("{}_FILE", verdict::config::variable_of(key));
        self.machine = self.machine.with_variable(&variable, file);
        self
    }

    pub async fn done(self) {
        drop(self.store);
        match self.place {
            Place::Sqlite(db) => db.close().await.unwrap(),
            Place::Postgres(database, db) => {
                db.close().await;
                database.finish().await;
            }
            Place::Firestore(_) => {}
        }
    }

    /// `verdict runs …`, to its end.
    pub fn runs(&self, args: &[&str]) -> Done {
        self.machine.run(&[&["runs"], args].concat())
    }

    /// The same, not waited for.
    pub fn start(&self, args: &[&str]) -> Process {
        self.machine.start(&[&["runs"], args].concat())
    }

    /// What `runs list` says of runs that fit.
    pub fn listed(&self, args: &[&str]) -> Vec<Value> {
        let done = self.runs(&[&["list", "--format", "json"], args].concat());
        done.json().as_array().unwrap().clone()
    }

    /// A review that is complete, of a repository with one finding.
    pub fn reviewed(&self) -> (Repo, String) {
        let repo = Repo::new();
        repo.write("a.js", "function f() {}\n").commit("one");
        repo.write("a.js", "function f() { debugger; }\n").commit("two");
        let path = repo.path().display().to_string();
        let done =
            self.machine.run(&["review", "HEAD~1..HEAD", "--repo", &path, "--format", "json"]);
        let run = done.json()["run"].as_str().unwrap().to_owned();
        (repo, run)
    }

    /// A run that waits for a worker: a copy of that one, from its start.
    pub fn queued(&self, run: &str) -> String {
        let done = self.runs(&["fork", run, "--from", "0"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout.trim().to_owned()
    }

    /// How many documents or rows there are of what belongs to runs.
    pub async fn rest(&self) -> usize {
        let count = |n: i64| usize::try_from(n).unwrap();
        match &self.place {
            Place::Sqlite(db) => {
                let sql = "SELECT (SELECT count(*) FROM record) + (SELECT count(*) FROM ask)";
                count(
                    sqlx::query_scalar(sql)
                        .fetch_one(&mut *db.reader().await.unwrap())
                        .await
                        .unwrap(),
                )
            }
            Place::Postgres(database, _) => {
                let sql = "SELECT (SELECT count(*) FROM verdict.record) \
                           + (SELECT count(*) FROM verdict.ask)";
                let mut conn = database.connect().await;
                let rest = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
                sqlx::Connection::close(conn).await.unwrap();
                count(rest)
            }
            Place::Firestore(server) => {
                let mut rest = 0;
                for collection in ["records", "asks", "parts", "leftovers"] {
                    rest += server.count(collection).await;
                }
                rest
            }
        }
    }

    /// Every byte the store has, as it has it.
    pub async fn raw(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        match &self.place {
            Place::Sqlite(_) => {
                for end in ["", "-wal"] {
                    let file = format!("{}{end}", self.machine.file().display());
                    raw.extend(std::fs::read(file).unwrap());
                }
            }
            Place::Postgres(database, _) => {
                for table in ["run", "record", "ask", "letter", "key_value"] {
                    let sql = format!("SELECT to_jsonb(t) #>> '{{}}' FROM verdict.{table} AS t");
                    for row in database.ask(&sql).await {
                        let row: String = sqlx::Row::get(&row, 0);
                        decoded(&serde_json::from_str(&row).unwrap(), &mut raw);
                    }
                }
            }
            Place::Firestore(server) => {
                let collections =
                    ["runs", "records", "asks", "parts", "letters", "subjects", "key_values"];
                for collection in collections {
                    for document in server.documents(collection).await {
                        decoded(&document, &mut raw);
                    }
                }
            }
        }
        raw
    }

    /// A run in this status, made past the command line.
    pub async fn made(&self, new: NewRun, status: RunStatus) -> String {
        let head = HeadChange { status, ..harness::change() };
        self.made_with(new, head).await
    }

    /// A parked run that waits for this, made the same way.
    pub async fn waits(
        &self,
        new: NewRun,
        waiting: Waiting,
        not_before: Option<Timestamp>,
    ) -> String {
        let (status, waiting) = (RunStatus::Parked, Some(waiting));
        let head = HeadChange { status, not_before, waiting, ..harness::change() };
        self.made_with(new, head).await
    }

    async fn made_with(&self, new: NewRun, head: HeadChange) -> String {
        let id = new.id.to_string();
        let claim = Some(harness::by("holder"));
        let opened = self.store.open(NewRun { claim, ..new }).await.unwrap();
        let lease = opened.lease.unwrap();
        if head.status != RunStatus::Running {
            let append = Append {
                head,
                hold: Hold::Release,
                ..harness::append(&lease, opened.head.version, &["end"])
            };
            self.store.append(append).await.unwrap();
        }
        id
    }
}

/// All texts in it, and the bytes that stand as text: PostgreSQL writes them in hexadecimal, Firestore
/// in Base64.
fn decoded(value: &Value, raw: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            raw.extend_from_slice(text.as_bytes());
            if let Some(hex) = text.strip_prefix("\\x") {
                let pairs = (0..hex.len()).step_by(2);
                raw.extend(pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()));
            }
            raw.extend(STANDARD.decode(text).unwrap_or_default());
        }
        Value::Array(items) => items.iter().for_each(|item| decoded(item, raw)),
        Value::Object(fields) => fields.values().for_each(|field| decoded(field, raw)),
        _ => {}
    }
}
