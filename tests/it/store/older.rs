//! Runs that an older build wrote, gone on with by this one, on every store; and files that it wrote.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::value::RawValue;
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use verdict::{
    base::{Clock, key_value::KeyValueStore as _},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{
        Command, Context, Dispatch, END, EventStore as _, Execute, ExternalEvent, NodeError, RunId,
        RunStatus, Runtime, Stop, Store as _,
        store::{NewRun, RunFilter, StoredRecord, Waiting, WaitingFor},
    },
    queue::{
        embedded::{self, Embedded},
        peek_dead,
    },
};

use crate::graph::{
    bench::{Bench, claim, on_each},
    support::{Add, Builder, TestGraph, Words},
};

/// So many of them.
fn fixture_of(records: usize) -> Vec<StoredRecord> {
    fixture()[..records].to_vec()
}

/// The records of `tests/fixtures/run-format-1.json`: bytes as they were first written.
fn fixture() -> Vec<StoredRecord> {
    let fixture = include_str!("../../fixtures/run-format-1.json");
    let rows: Vec<(String, Option<String>)> = serde_json::from_str(fixture).unwrap();
    let unhex = |text: String| -> Bytes {
        let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    };
    let record = |(meta, payload): (String, Option<String>)| StoredRecord {
        meta: meta.into(),
        payload: payload.map(unhex),
    };
    rows.into_iter().map(record).collect()
}

/// How many of them there are before the run first ended.
const UNFINISHED: usize = 16;
/// The question, and its answer, as records number 5 and 7.
const QUESTION: &str = "2.0.ask";

/// What the nodes of the fixture's workflow did. `b` failed at first.
async fn node(context: Context<Words, ()>) -> Result<Command<Add>, NodeError> {
    let add = match &**context.node() {
        "a" => Add::Word("x".repeat(600)),
        "end" => Add::Secret("s3cret".to_owned()),
        name => Add::Word(name.to_owned()),
    };
    if &**context.node() == "judge" {
        return Ok(Command::goto([Dispatch::with("end", &7)]).with(add));
    }
    Ok(Command::from(add))
}

fn workflow() -> TestGraph {
    let mut graph = Builder::new();
    for name in ["ingest", "a", "b", "judge", "end"] {
        graph.node(name, node);
    }
    graph.entry("ingest").dispatches("judge", ["end"]).edge("end", END);
    for middle in ["a", "b"] {
        graph.edge("ingest", middle).edge(middle, "judge");
    }
    graph.compile().unwrap()
}

/// A run with so many of those records, of version 1 of its workflow.
async fn left_by_the_older_one(bench: &Bench, records: usize) -> RunId {
    let id = RunId::of("words", &format!("older {records}"));
    let answer = (records >= 7).then(|| Bytes::from_static(b"true"));
    let new = NewRun {
        id: id.clone(),
        workflow: "words".into(),
        workflow_version: 1,
        key: records.to_string(),
        subject: None,
        order: 0,
        not_before: None,
        records: fixture()[..records].to_vec(),
        asks: (records >= 5).then(|| (QUESTION.to_owned(), answer)).into_iter().collect(),
        superseded: StoredRecord { meta: Bytes::new(), payload: None },
        claim: None,
    };
    bench.runtime.store.open(new).await.unwrap();
    id
}

/// E7, E20: left behind after whichever record, by a build that knew version 1 only, it is completed
/// by one that has version 2 and goes on with version 1; what was recorded stays, byte for byte.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_format_1_is_gone_on_with_after_each_of_its_records() {
    let graph = workflow();
    on_each(async |bench| {
        let newer = bench.elsewhere().await;
        for records in 1..=UNFINISHED {
            let id = left_by_the_older_one(bench, records).await;
            let execute = async || {
                let versions = vec![2, 1];
                let execute = Execute { versions, ..Execute::new(graph.clone(), Arc::new(())) };
                newer.execute(execute, claim(&newer, &id).await).await.unwrap()
            };
            let mut ran = execute().await;
            if (5..7).contains(&records) {
                assert_eq!(ran.stop, Stop::Waiting(None), "{records}");
                bench.answer(&id, QUESTION, true).await;
                ran = execute().await;
            }
            assert_eq!(ran.stop, Stop::Completed, "{records}");
            let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
            let state = seen.state().unwrap();
            let long = "x".repeat(600);
            assert_eq!(state.words, ["in", "ingest", &long, "b", "judge"], "{records}");
            assert_eq!(state.secret, "s3cret");
            let (_, stored) = bench.runtime.store.load(&id, 0).await.unwrap().unwrap();
            assert!(stored[..records] == fixture()[..records], "{records}");
        }
    })
    .await;
}

/// E7, E20, E24: a file that an older build wrote is brought up to date when it is opened: its runs
/// are there, what they wait for is found, and one of them goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_older_schemas_are_brought_up_to_date() {
    let fixtures = [
        (2, include_str!("../../fixtures/sqlite-schema-2.sql")),
        (4, include_str!("../../fixtures/sqlite-schema-4.sql")),
    ];
    for (version, fixture) in fixtures {
        is_brought_up_to_date(version, fixture).await;
    }
}

async fn is_brought_up_to_date(version: i64, fixture: &'static str) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let older = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut older = older.connect().await.unwrap();
    sqlx::raw_sql(fixture).execute(&mut older).await.unwrap();
    let letter =
        "INSERT INTO queue_dead (id, reason, headers, body) VALUES ('l', 'r', '{}', x'61')";
    sqlx::raw_sql(letter).execute(&mut older).await.unwrap();
    older.close().await.unwrap();

    let db = Sqlite::open(&path, SqliteOptions::default()).await.unwrap();
    assert_eq!(db.migrated_from(), Some(version));
    let store = Arc::new(SqliteStore::new(db.clone()));
    let queue = Embedded::open(db.clone(), embedded::Options::default());
    let letters = peek_dead(&queue, 9).await.unwrap();
    assert_eq!(letters.iter().map(|letter| &*letter.id).collect::<Vec<_>>(), ["l"]);
    let waiting = async |kind| {
        let filter = RunFilter { waiting: vec![kind], ..RunFilter::default() };
        store.list(&filter).await.unwrap()
    };
    let asked = waiting(WaitingFor::Person).await;
    let [asked] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((&*asked.key, asked.version, asked.not_before), ("asked", 6, None));
    let unknown = Waiting::Person { interrupts: Vec::new(), more: 0 };
    assert_eq!(asked.waiting.as_ref(), Some(&unknown));
    let timed = waiting(WaitingFor::Time).await;
    let [timed] = &timed[..] else { panic!("{timed:?}") };
    assert_eq!((&*timed.key, timed.version), ("timed", 4));
    let all = store.list(&RunFilter::default()).await.unwrap();
    assert_eq!(all.iter().map(|head| &*head.key).collect::<Vec<_>>(), ["ended", "timed", "asked"]);
    assert_eq!((all[0].status, all[0].waiting.as_ref()), (RunStatus::Completed, None));
    let (_, records) = store.load(&all[0].id, 0).await.unwrap().unwrap();
    assert!(records[..] == fixture_of(17)[..]);
    store.put("s", "k", "v".into(), Duration::from_secs(60)).await.unwrap();
    assert_eq!(store.get("s", "k").await.unwrap(), Some("v".into()));

    let runtime = Runtime::new(store.clone(), Clock::system(), "newer");
    let answer = RawValue::TRUE.to_owned();
    let _ = runtime.resume(&asked.id, QUESTION, &answer).await.unwrap();
    assert_eq!(store.head(&asked.id).await.unwrap().unwrap().waiting, None);
    let execute = Execute::new(workflow(), Arc::new(()));
    let ran = runtime.execute(execute, claim(&runtime, &asked.id).await).await.unwrap();
    assert_eq!(ran.stop, Stop::Completed);

    let sent = ExternalEvent::new("k", "1", &answer).unwrap();
    assert_eq!(runtime.send(sent.clone(), Duration::from_secs(60)).await.unwrap(), []);
    assert_eq!(store.find_event("k", &[]).await.unwrap(), Some(sent));
    db.close().await.unwrap();
}
