//! E6–E8, E20, N5: what a store keeps of a run, and what goes on from it.

use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        Execute, Meta, NewSpec, RunId, RunStatus, Stop, StoreError,
        store::{Append, FORMAT, HeadChange, Hold},
        testing::Faults,
    },
};

use super::{
    bench::{Bench, Calls, START, on, on_each},
    support::{Builder, TestGraph, Words, diamond, execute, say, words},
};

fn crashing(graph: &TestGraph, after: u64) -> Execute<Words, ()> {
    Execute { faults: Faults::default().crash_after(after), ..execute(graph) }
}

/// ingest → four agents → judge → END, every node counted and done at its first poll.
fn four(calls: &Calls) -> TestGraph {
    let mut graph = Builder::new();
    graph.node("ingest", say);
    graph.entry("ingest");
    for agent in ["a", "b", "c", "d"] {
        graph.node(agent, say);
        graph.edge("ingest", agent).edge(agent, "judge");
    }
    graph.node("judge", say);
    graph.edge("judge", verdict::graph::END);
    calls.counted(&graph.compile().unwrap())
}

/// E6: a crash with two of four agents done: only the other two run again.
#[tokio::test]
async fn finished_agents_do_not_run_again() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = four(&calls);
        let id = bench.open(&graph).await;
        // started, ingest, step 1, a, b
        let ran = bench.execute(crashing(&graph, 5), &id).await;
        assert_eq!(ran.stop, Stop::Crashed);
        assert_eq!(bench.kinds(&id).await.len(), 5);
        calls.take();
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        let again: Vec<_> = calls.take().into_iter().map(|(node, _)| node).collect();
        assert_eq!(again, ["c", "d", "judge"]);
        assert_eq!(words(&ran), ["ingest", "a", "b", "c", "d", "judge"]);
        assert_eq!(bench.head(&id).await.status, RunStatus::Completed);
    })
    .await;
}

/// E7: after a crash behind any record another process goes on, with exactly the state there was.
#[tokio::test]
async fn another_process_goes_on_with_the_same_state() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = four(&calls);
        let id = bench.open(&graph).await;
        let undisturbed = bench.run(&graph, &id).await.machine.into_state().unwrap();
        let records = bench.head(&id).await.version;
        assert_eq!(records, 11);
        for crash in 1..records {
            let id = bench.open(&graph).await;
            let before = bench.execute(crashing(&graph, crash), &id).await;
            assert_eq!(before.stop, Stop::Crashed);
            let elsewhere = bench.elsewhere().await;
            let (head, seen) = elsewhere.inspect::<Words>(&id).await.unwrap();
            assert_eq!((head.version, seen.version()), (crash, crash));
            let ran = on(&elsewhere, execute(&graph), &id).await;
            assert_eq!(ran.stop, Stop::Completed, "after record {crash}");
            assert_eq!(ran.machine.into_state().unwrap(), undisturbed, "after record {crash}");
            let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
            assert_eq!(*seen.state().unwrap(), undisturbed, "as it was stored");
        }
    })
    .await;
}

/// E8: what a record says beside its output.
#[tokio::test]
async fn a_record_tells_step_node_attempts_timing_worker_and_version() {
    on_each(async |bench| {
        let graph = Calls::default().failing(&diamond(), "b", 1, Fault::transient("busy"));
        let graph = graph
            .tune("b", |node| {
                node.retry(verdict::graph::RetryPolicy {
                    first: std::time::Duration::from_millis(1),
                    ..Default::default()
                });
            })
            .unwrap();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        let history = bench.runtime.history(&id).await.unwrap();
        let started = &history[0];
        assert_eq!((started.seq, started.at), (1, START));
        let wanted = json!({
            "k": "start", "workflow": "words", "version": 1, "entry": "ingest"
        });
        assert_eq!(serde_json::to_value(&started.meta).unwrap(), wanted);
        let b = history.iter().find_map(|entry| match &entry.meta {
            Meta::TaskFinished { step, node, index, attempts, us, fault, .. } if &**node == "b" => {
                Some((entry.at, *step, *index, *attempts, *us, fault.clone()))
            }
            _ => None,
        });
        let (at, step, index, attempts, us, fault) = b.unwrap();
        assert_eq!((at, step, index, attempts, fault), (START, 2, 1, 2, None));
        let signed = history.iter().filter_map(|entry| match &entry.meta {
            Meta::TaskFinished { by, .. } => Some(by.as_deref()),
            _ => None,
        });
        let signed: Vec<_> = signed.collect();
        assert_eq!(signed[0], Some("one"), "the first task says which worker ran it");
        assert!(signed[1..].iter().all(Option::is_none), "and the others ran where it did");
        assert!(us >= 1000, "it waited a millisecond, and says {us} us");
    })
    .await;
}

/// A cycle whose every turn adds a word.
fn turns(count: usize) -> TestGraph {
    let mut graph = Builder::new();
    graph.node("turn", say);
    graph.recursion_limit(1000).entry("turn");
    graph.branch("turn", ["turn", verdict::graph::END], move |s: &Words| {
        if s.words.len() < count { "turn" } else { verdict::graph::END }
    });
    graph.compile().unwrap()
}

/// E8: twice the steps, twice the bytes: the state is not stored over and over.
#[tokio::test]
async fn what_is_stored_grows_linearly() {
    on_each(async |bench| {
        let mut sizes = Vec::new();
        for count in [100, 200, 400] {
            let id = bench.open(&turns(count)).await;
            assert_eq!(bench.run(&turns(count), &id).await.stop, Stop::Completed);
            sizes.push(bench.bytes(&id).await / count);
        }
        let spread = sizes.iter().max().unwrap() - sizes.iter().min().unwrap();
        assert!(spread <= 8, "bytes per step: {sizes:?}");
        assert!(sizes[0] < 400, "bytes per step: {sizes:?}");
    })
    .await;
}

/// E8: the state of any step, and of none that never was.
#[tokio::test]
async fn every_past_checkpoint_can_be_fetched() {
    on_each(async |bench| {
        let id = bench.open_with(&diamond(), &["in"]).await;
        let _ = bench.run(&diamond(), &id).await;
        for (step, wanted) in
            [(0, "in"), (1, "in ingest"), (2, "in ingest a b c"), (3, "in ingest a b c judge")]
        {
            let state = bench.runtime.checkpoint::<Words>(&id, step).await.unwrap();
            assert_eq!(state.words.join(" "), wanted);
        }
        let error = bench.runtime.checkpoint::<Words>(&id, 4).await.unwrap_err();
        assert_eq!(error.message, format!("run {id} never finished step 4"));
        let nobody = RunId::random();
        let error = bench.runtime.checkpoint::<Words>(&nobody, 0).await.unwrap_err();
        assert_eq!(error.message, format!("there is no run {nobody}"));
    })
    .await;
}

/// N5, E8: a fork goes on from any step, the start included, and pays for no earlier one.
#[tokio::test]
async fn a_fork_goes_on_from_any_step() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = calls.counted(&diamond());
        let spec = NewSpec::new("words", 1, Vec::new()).key("k").subject(Some("s".to_owned()), 1);
        let id = bench.runtime.open(&graph, spec).await.unwrap().head.id;
        let _ = bench.run(&graph, &id).await;
        let before = bench.runtime.store.load(&id, 0).await.unwrap();
        for (step, wanted) in [(0, 5), (1, 4), (2, 1), (3, 0)] {
            calls.take();
            let fork = bench.runtime.fork::<super::support::Add>(&id, step, step == 1).await;
            let fork = fork.unwrap();
            let head = bench.head(&fork).await;
            assert_ne!(fork, id);
            assert_eq!((head.subject, head.status), (None, RunStatus::Queued));
            let double = |context: verdict::graph::Context<Words, ()>| async move {
                let forked = context.run().forked.clone().unwrap();
                Ok(super::support::Add::Word(format!("{} {}", forked.step, forked.publish)))
            };
            let changed = graph.replace("judge", double).unwrap();
            let ran = bench.run(&changed, &fork).await;
            assert_eq!(ran.stop, Stop::Completed);
            assert_eq!(ran.machine.forked().unwrap().parent, id);
            let ran_again: u32 = calls.take().iter().map(|(_, count)| count).sum();
            assert_eq!(ran_again + u32::from(step < 3), wanted, "from step {step}");
            let last = if step < 3 { format!("{step} {}", step == 1) } else { "judge".to_owned() };
            assert_eq!(words(&ran), ["ingest", "a", "b", "c", &last]);
        }
        assert_eq!(bench.runtime.store.load(&id, 0).await.unwrap(), before, "the parent");
        assert!(bench.runtime.fork::<super::support::Add>(&id, 4, false).await.is_err());
    })
    .await;
}

/// N5: a fork of a fork is one, of its parent.
#[tokio::test]
async fn a_fork_can_be_forked() {
    on_each(async |bench| {
        let id = bench.open(&diamond()).await;
        let _ = bench.run(&diamond(), &id).await;
        let child = bench.runtime.fork::<super::support::Add>(&id, 1, false).await.unwrap();
        let _ = bench.run(&diamond(), &child).await;
        let grandchild = bench.runtime.fork::<super::support::Add>(&child, 2, false).await.unwrap();
        let ran = bench.run(&diamond(), &grandchild).await;
        assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
        assert_eq!(ran.machine.forked().unwrap().parent, child);
    })
    .await;
}

/// E8
#[tokio::test]
async fn a_deleted_run_is_gone() {
    on_each(async |bench| {
        let id = bench.open(&diamond()).await;
        let _ = bench.run(&diamond(), &id).await;
        assert!(bench.runtime.store.delete(&id).await.unwrap());
        assert!(bench.runtime.history(&id).await.is_err());
        assert!(!bench.runtime.store.delete(&id).await.unwrap());
    })
    .await;
}

/// W2: a second opening with the key finds the first one's run, finished or not.
#[tokio::test]
async fn one_key_is_one_run() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = calls.counted(&diamond());
        let spec = || NewSpec::new("words", 1, Vec::new()).key("once");
        let first = bench.runtime.open(&graph, spec()).await.unwrap();
        let _ = bench.run(&graph, &first.head.id).await;
        let second = bench.elsewhere().await.open(&graph, spec()).await.unwrap();
        assert!(first.created && !second.created);
        assert_eq!(second.head.status, RunStatus::Completed);
        calls.take();
        let ran = bench.run(&graph, &second.head.id).await;
        assert_eq!(ran.stop, Stop::Ended);
        assert_eq!(bench.head(&first.head.id).await.status, RunStatus::Completed);
        assert_eq!(calls.take(), []);
    })
    .await;
}

/// E20: a run of a version this worker does not continue is left as it is.
#[tokio::test]
async fn an_unknown_version_is_refused_untouched() {
    on_each(async |bench| {
        let graph = diamond();
        let spec = NewSpec::new("words", 3, Vec::new());
        let id = bench.runtime.open(&graph, spec).await.unwrap().head.id;
        let lease = bench.claim(&id).await;
        let known = Execute { versions: vec![1, 2], ..execute(&graph) };
        let error = bench.runtime.execute(known, lease.clone()).await.err().unwrap();
        assert_eq!(
            error.message,
            format!(
                "run {id} is of version 3 of workflow `words`, which this worker does not continue"
            )
        );
        assert_eq!(bench.kinds(&id).await, ["started"]);
        let newer = Execute { versions: vec![3, 2], ..execute(&graph) };
        assert_eq!(bench.runtime.execute(newer, lease).await.unwrap().stop, Stop::Completed);
    })
    .await;
}

/// E20: nor is a run continued whose nodes this version has not got.
#[tokio::test]
async fn a_log_that_names_an_unknown_node_is_not_continued() {
    let bench = Bench::memory();
    let mut graph = Builder::new();
    graph.node("old", say);
    graph.entry("old").edge("old", verdict::graph::END);
    let id = bench.open(&graph.compile().unwrap()).await;
    let Stop::StoreLost(fault) = bench.run(&diamond(), &id).await.stop else { panic!() };
    assert_eq!(
        fault.message,
        "the log names node `old`, which this version of the workflow has not got"
    );
}

/// A run written by a newer build in another format is refused before its records are read.
#[tokio::test]
async fn a_newer_format_is_refused_untouched() {
    let bench = Bench::sqlite().await;
    let id = bench.open(&diamond()).await;
    bench.sql("UPDATE run SET format = 2").await;
    let lease = bench.claim(&id).await;
    let error = bench.runtime.execute(execute(&diamond()), lease).await.err().unwrap();
    let wanted = format!("run {id} is written in format 2, this version reads up to {FORMAT}");
    assert_eq!(error.message, wanted);
    assert_eq!(bench.runtime.inspect::<Words>(&id).await.err().unwrap().message, wanted);
    assert_eq!(bench.head(&id).await.version, 1);
}

/// The store's answer may be lost: the same batch again changes nothing.
#[tokio::test]
async fn a_repeated_append_is_one() {
    on_each(async |bench| {
        let id = bench.open(&diamond()).await;
        let lease = bench.claim(&id).await;
        let head = bench.head(&id).await;
        assert_eq!(head.format, FORMAT);
        let letter = Meta::Letter { id: "L".to_owned() };
        let change = HeadChange {
            status: RunStatus::Queued,
            not_before: None,
            waiting: None,
            executions: 1,
            active: std::time::Duration::ZERO,
            error: None,
        };
        let noted =
            bench.runtime.note((&lease, &head), &[letter], change.clone(), None, true).await;
        assert_eq!(noted.unwrap(), 2);
        let append = Append {
            lease,
            expected: 2,
            batch: 7,
            records: Vec::new(),
            head: change,
            asks: Vec::new(),
            letter: None,
            hold: Hold::Release,
        };
        for _ in 0..2 {
            assert_eq!(bench.runtime.store.append(append.clone()).await, Ok(2));
        }
        let other = Append { batch: 8, ..append };
        assert_eq!(bench.runtime.store.append(other).await, Err(StoreError::Fenced));
        assert_eq!(bench.kinds(&id).await, ["started", "letter"]);
    })
    .await;
}
