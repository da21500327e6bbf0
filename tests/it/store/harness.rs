//! Places to store in, and short ways to say what is stored.

use std::{
    any::Any,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use sqlx::Connection as _;
use tempfile::TempDir;
use tokio::sync::Mutex as AsyncMutex;
use verdict::{
    base::{Clock, ManualClock, Timestamp, key_value::KeyValueStore},
    checkpoint::{
        FirestoreStore, KeyRing, Memory, PostgresStore, Sealed, SealedKeyValues, SqliteStore,
    },
    db::{Postgres, PostgresOptions, Sqlite, SqliteOptions},
    graph::store::{
        Append, Claim, ClaimAs, Claimed, Head, HeadChange, Hold, Lease, Letter, LetterReason,
        LetterState, NewRun, Opened, RunId, RunStatus, Store, StoreError, StoredRecord,
    },
};

use crate::support::{Database, Pooler};

pub const START: Timestamp = Timestamp(1_700_000_000_000);
pub const TTL: Duration = Duration::from_secs(60);
pub const SECOND: Duration = Duration::from_secs(1);

/// Characters that a store, a wire or a parser may treat in a way of its own.
pub const ODD: &str = "\0\u{1}\u{7f}\t\r\n\"'\\`$%/.~*[]<>&=; \u{85}\u{a0}\u{ad}ß\u{301}é\u{200b}\u{200e}\
    \u{202e}\u{2028}\u{2029}\u{2066}\u{feff}\u{e000}\u{fffd}\u{ffff}\u{1f469}\u{200d}\u{1f680}\u{10ffff}";

/// A store to test, by both its ports, and its time.
pub struct Place {
    pub store: Arc<dyn Store>,
    pub key_values: Arc<dyn KeyValueStore>,
    clock: Clock,
    hand: ManualClock,
    /// Tells a clock elsewhere what time it is.
    tell: Option<Tell>,
    close: Box<dyn Fn() -> LocalBoxFuture<'static, ()> + Send + Sync>,
    _keep: Box<dyn Any + Send + Sync>,
}

type Tell = Box<dyn Fn(Timestamp) -> BoxFuture<'static, ()> + Send + Sync>;

impl Place {
    /// Lets the store's time pass.
    pub async fn pass(&self, by: Duration) {
        self.hand.advance(by);
        if let Some(tell) = &self.tell {
            tell(self.now()).await;
        }
    }

    /// Whether what is sent together is done in the order it was sent.
    pub fn keeps_order(&self) -> bool {
        self.tell.is_none()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn done(self) {
        (self.close)().await;
    }

    pub async fn open(&self, new: NewRun) -> Opened {
        self.store.open(new).await.unwrap()
    }

    /// Opens a run and claims it.
    pub async fn hold(&self, name: &str) -> Lease {
        self.hold_new(run(name)).await
    }

    pub async fn hold_new(&self, new: NewRun) -> Lease {
        self.open(NewRun { claim: Some(by("holder")), ..new }).await.lease.unwrap()
    }

    pub async fn claim(&self, name: &str) -> Claimed {
        self.store.claim(claim(name)).await.unwrap()
    }

    pub async fn head(&self, name: &str) -> Head {
        self.store.head(&id(name)).await.unwrap().unwrap()
    }

    pub async fn records(&self, name: &str) -> Vec<StoredRecord> {
        let (head, records) = self.store.load(&id(name), 0).await.unwrap().unwrap();
        assert_eq!(head.version, records.len() as u64);
        records
    }

    /// Appends one record that sets this status and releases the lease.
    pub async fn end(&self, lease: &Lease, status: RunStatus) {
        let version = self.store.head(&lease.run).await.unwrap().unwrap().version;
        let append = Append {
            head: HeadChange { status, ..change() },
            hold: Hold::Release,
            ..append(lease, version, &["end"])
        };
        self.store.append(append).await.unwrap();
    }

    /// A run that has come to this status.
    pub async fn run_in(&self, new: NewRun, status: RunStatus) {
        let lease = self.hold_new(new).await;
        self.end(&lease, status).await;
    }
}

pub async fn memory() -> Place {
    let (clock, hand) = Clock::manual(START);
    let store = Arc::new(Memory::new(clock.clone()));
    let close = Box::new(|| -> LocalBoxFuture<'static, ()> { Box::pin(async {}) });
    Place { key_values: store.clone(), store, clock, hand, tell: None, close, _keep: Box::new(()) }
}

pub async fn sqlite_file() -> Place {
    let folder = TempDir::new().unwrap();
    let (clock, hand) = Clock::manual(START);
    let db = open_db(folder.path(), clock.clone()).await;
    let store = Arc::new(SqliteStore::new(db.clone()));
    let close = Box::new(move || -> LocalBoxFuture<'static, ()> {
        let db = db.clone();
        Box::pin(async move { db.close().await.unwrap() })
    });
    Place {
        key_values: store.clone(),
        store,
        clock,
        hand,
        tell: None,
        close,
        _keep: Box::new(folder),
    }
}

/// Behind the layer that encrypts.
pub async fn sealed_memory() -> Place {
    sealed(memory().await)
}

/// The same, in a file.
pub async fn sealed_file() -> Place {
    sealed(sqlite_file().await)
}

fn sealed(place: Place) -> Place {
    let keys = KeyRing::parse(&format!("new:{}, old:{}", "1f".repeat(32), "2e".repeat(32)));
    let keys = Arc::new(keys.unwrap());
    let key_values = Arc::new(SealedKeyValues::new(place.key_values, keys.clone()));
    Place { store: Arc::new(Sealed::new(place.store, keys)), key_values, ..place }
}

/// On a database of its own, with a clock that stands still.
pub async fn postgres_server() -> Place {
    let database = Database::shared().await;
    let db = Postgres::open(&database.url(), PostgresOptions::default()).await.unwrap();
    on_postgres(database, db, || Box::pin(async {})).await
}

/// The same behind a pooler in transaction mode.
pub async fn postgres_pooled() -> Place {
    let database = Database::shared().await;
    let pooler = Pooler::before(&database).await;
    let options = PostgresOptions { prepared_statements: false, ..PostgresOptions::default() };
    let url = database.url_through(pooler.address());
    let db = Postgres::open(&url, options).await.unwrap();
    let pooler = Mutex::new(Some(pooler));
    let end = move || -> LocalBoxFuture<'static, ()> {
        let pooler = pooler.lock().unwrap().take();
        Box::pin(async move { pooler.unwrap().finish().await })
    };
    on_postgres(database, db, end).await
}

async fn on_postgres(
    database: Database,
    db: Postgres,
    end: impl Fn() -> LocalBoxFuture<'static, ()> + Send + Sync + 'static,
) -> Place {
    let (clock, hand) = Clock::manual(START);
    let store = Arc::new(PostgresStore::new(db.clone()));
    database.still(clock.now().0).await;
    let conn = Arc::new(AsyncMutex::new(Some(database.connect().await)));
    let ours = conn.clone();
    let tell: Tell = Box::new(move |Timestamp(at)| {
        let conn = ours.clone();
        Box::pin(async move {
            let set = sqlx::query("UPDATE public.hand SET at = $1").bind(at);
            set.execute(conn.lock().await.as_mut().unwrap()).await.unwrap();
        })
    });
    let database = Arc::new(Mutex::new(Some(database)));
    let close = Box::new(move || -> LocalBoxFuture<'static, ()> {
        let (db, conn, ended) = (db.clone(), conn.clone(), end());
        let database = database.lock().unwrap().take().unwrap();
        Box::pin(async move {
            db.close().await;
            ended.await;
            conn.lock().await.take().unwrap().close().await.unwrap();
            database.finish().await;
        })
    });
    Place {
        key_values: store.clone(),
        store,
        clock,
        hand,
        tell: Some(tell),
        close,
        _keep: Box::new(()),
    }
}

pub async fn firestore_emulator() -> Place {
    let server = crate::support::Firestore::shared();
    let (clock, hand) = Clock::manual(START);
    let store = Arc::new(open_firestore(&server, Some(clock.clone())).await);
    let close = Box::new(|| -> LocalBoxFuture<'static, ()> { Box::pin(async {}) });
    Place { key_values: store.clone(), store, clock, hand, tell: None, close, _keep: Box::new(()) }
}

/// A store in the server's project, which tells the time by `clock`, if any.
pub async fn open_firestore(
    server: &crate::support::Firestore,
    clock: Option<Clock>,
) -> FirestoreStore {
    server.store(clock).await
}

pub async fn open_db(folder: &Path, clock: Clock) -> Sqlite {
    let options = SqliteOptions { clock, ..SqliteOptions::default() };
    Sqlite::open(folder.join("store.db"), options).await.unwrap()
}

pub fn id(name: &str) -> RunId {
    RunId::of("flow", name)
}

pub fn record(text: &str) -> StoredRecord {
    StoredRecord { meta: Bytes::copy_from_slice(text.as_bytes()), payload: None }
}

pub fn run(name: &str) -> NewRun {
    NewRun {
        id: id(name),
        workflow: "flow".into(),
        workflow_version: 1,
        key: name.into(),
        subject: None,
        order: 0,
        not_before: None,
        records: vec![record("started")],
        asks: Vec::new(),
        superseded: record("superseded"),
        claim: None,
    }
}

/// A run about something.
pub fn about(name: &str, subject: &str, order: i64) -> NewRun {
    NewRun { subject: Some(subject.into()), order, ..run(name) }
}

pub fn by(owner: &str) -> ClaimAs {
    ClaimAs { owner: owner.into(), ttl: TTL }
}

pub fn claim(name: &str) -> Claim {
    Claim { run: id(name), by: by("claimer"), early: false, reopen: false, dead: None }
}

pub fn change() -> HeadChange {
    HeadChange {
        status: RunStatus::Running,
        not_before: None,
        waiting: None,
        executions: 0,
        active: Duration::ZERO,
        error: None,
    }
}

pub fn append(lease: &Lease, expected: u64, records: &[&str]) -> Append {
    Append {
        lease: lease.clone(),
        expected,
        batch: fastrand::u128(..),
        records: records.iter().map(|text| record(text)).collect(),
        head: change(),
        asks: Vec::new(),
        letter: None,
        hold: Hold::Keep(TTL),
    }
}

pub fn letter(name: &str) -> Letter {
    Letter {
        id: name.into(),
        reason: LetterReason::Permanent,
        state: LetterState::Open,
        run: None,
        workflow: Some("flow".into()),
        node: Some("judge".into()),
        error: "it broke".into(),
        executions: 1,
        first_at: START,
        last_at: START,
        headers: [("traceparent".to_owned(), "00-ü".to_owned())].into(),
        payload: Bytes::from_static(b"{\"body\":\xff}"),
        confirmed: false,
    }
}

pub fn yours(claimed: Claimed) -> (Lease, Head) {
    match claimed {
        Claimed::Yours(lease, head) => (lease, *head),
        other => panic!("not claimed: {other:?}"),
    }
}

pub fn fenced<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    assert_eq!(answer.unwrap_err(), StoreError::Fenced);
}
