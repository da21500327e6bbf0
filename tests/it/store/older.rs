//! Runs that an older build wrote, gone on with by this one, on every store.

use std::sync::Arc;

use bytes::Bytes;
use verdict::graph::{
    Command, Context, END, Execute, NodeError, RunId, Send, Stop,
    store::{NewRun, StoredRecord},
};

use crate::graph::{
    bench::{Bench, claim, on_each},
    support::{Add, Builder, TestGraph, Words},
};

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
        return Ok(Command::goto([Send::with("end", &7)?]).with(add));
    }
    Ok(Command::from(add))
}

fn workflow() -> TestGraph {
    let mut graph = Builder::new();
    for name in ["ingest", "a", "b", "judge", "end"] {
        graph.node(name, node);
    }
    graph.entry("ingest").sends("judge", ["end"]).edge("end", END);
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
