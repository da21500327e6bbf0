//! Reopening: failed tasks again, earlier steps again, and later visits.

use verdict::{
    base::Fault,
    graph::{
        Ended, Failure, Meta, Outcome, Redo, ReopenFrom, RetryPolicy, RunStatus, Stop, Timings,
        store::{Letter, LetterReason, LetterState, Waiting},
    },
};

use super::{
    bench::{Bench, Calls, MINUTE, START, on_each},
    support::{Add, TestGraph, Words, diamond, words},
};

/// The diamond, counted, its `b` failing so often, without retries within an execution.
fn failing(calls: &Calls, times: u32, fault: Fault) -> TestGraph {
    let graph = calls.failing(&calls.counted(&diamond()), "b", times, fault);
    graph
        .tune("b", |node| {
            node.retry(RetryPolicy::none());
        })
        .unwrap()
}

fn letter(id: &str, run: &verdict::graph::RunId) -> Letter {
    Letter {
        id: id.to_owned(),
        reason: LetterReason::Permanent,
        state: LetterState::Open,
        run: Some(run.clone()),
        workflow: Some("words".to_owned()),
        node: Some("b".to_owned()),
        error: "bad".to_owned(),
        executions: 1,
        first_at: START,
        last_at: START,
        headers: Default::default(),
        payload: bytes::Bytes::from_static(b"{}"),
        confirmed: false,
    }
}

/// E9, E11: a transient failure is tried again by later executions, however often; siblings keep
/// their results.
#[tokio::test]
async fn only_what_failed_is_tried_again() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = failing(&calls, 3, Fault::transient("down"));
        let id = bench.open(&graph).await;
        for execution in 1..=3 {
            let mut ran = bench.run(&graph, &id).await;
            let Stop::Failed(failure) = ran.stop.clone() else { panic!("{:?}", ran.stop) };
            assert_eq!((failure.step, failure.node.as_deref()), (2, Some("b")));
            assert_eq!(ran.executions(), execution - 1);
            ran.retry_later(&failure, START.plus(MINUTE)).await.unwrap();
            let head = bench.head(&id).await;
            assert_eq!((head.status, head.executions), (RunStatus::Queued, execution));
            assert_eq!((head.not_before, head.lease), (Some(START.plus(MINUTE)), None));
            assert_eq!(head.waiting, Some(Waiting::Time { reason: None }));
            assert_eq!(head.error.as_deref(), Some("down"));
        }
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
        assert_eq!(ran.machine.reopened(), 3);
        assert_eq!(bench.head(&id).await.error, None);
        let counts: Vec<_> = ["ingest", "a", "b", "c", "judge"].map(|n| calls.of(n)).into();
        assert_eq!(counts, [1, 1, 4, 1, 1]);
    })
    .await;
}

/// An outage is nobody's failed execution.
#[tokio::test]
async fn handing_back_is_not_counted() {
    let bench = Bench::memory();
    let graph = failing(&Calls::default(), 1, Fault::outage("no forge"));
    let id = bench.open(&graph).await;
    let mut ran = bench.run(&graph, &id).await;
    let Stop::Failed(failure) = ran.stop.clone() else { panic!() };
    ran.hand_back(&failure, START).await.unwrap();
    assert_eq!(bench.head(&id).await.executions, 0);
    assert_eq!(bench.run(&graph, &id).await.stop, Stop::Completed);
}

/// A run that failed for good: letter and end in one step, confirmed, reopened by wish, completed.
#[tokio::test]
async fn a_failed_run_with_its_letter_is_reopened() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = failing(&calls, 2, Fault::permanent("bad"));
        let id = bench.open(&graph).await;
        let mut ran = bench.run(&graph, &id).await;
        let Stop::Failed(failure) = ran.stop.clone() else { panic!() };
        ran.fail(&failure, Some(letter("L1", &id))).await.unwrap();
        assert_eq!(bench.head(&id).await.status, RunStatus::Failed);
        assert!(bench.head(&id).await.lease.is_some(), "until the letter is confirmed");
        let kept = bench.runtime.store.letter("L1").await.unwrap().unwrap();
        assert_eq!((kept.run.as_ref(), kept.confirmed), (Some(&id), false));
        ran.confirm_letter("L1").await.unwrap();
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.lease), (RunStatus::Failed, None));
        let kinds = bench.kinds(&id).await;
        assert_eq!(kinds[kinds.len() - 3..], ["finished", "letter", "letter_confirmed"]);

        let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
        assert_eq!(seen.ended(), Some(&Ended::Finished(Outcome::Failed(failure.clone()))));
        assert_eq!(seen.letters(), [("L1".to_owned(), true)]);
        assert_eq!(bench.run(&graph, &id).await.stop, Stop::Ended, "not without being asked");
        assert_eq!(bench.head(&id).await.status, RunStatus::Failed);

        let ran = bench.reopen(&graph, &id, ReopenFrom::Failed).await;
        assert_eq!(ran.stop, Stop::Failed(failure), "it fails once more");
        let ran = bench.reopen(&graph, &id, ReopenFrom::Failed).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(ran.machine.letters().len(), 1, "letters stay");
        assert_eq!((calls.of("a"), calls.of("b"), calls.of("judge")), (1, 3, 1));
    })
    .await;
}

/// A rewind voids later steps, and their records stay for whoever reads the history.
#[tokio::test]
async fn a_rewind_runs_its_step_and_all_later_ones_again() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = calls.counted(&diamond());
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        let before = bench.kinds(&id).await;
        for (node, counts) in [("judge", [1, 1, 2]), ("a", [1, 2, 3]), ("ingest", [2, 3, 4])] {
            let ran = bench.reopen(&graph, &id, ReopenFrom::Node(node.to_owned())).await;
            assert_eq!(ran.stop, Stop::Completed);
            assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
            assert_eq!(["ingest", "b", "judge"].map(|n| calls.of(n)), counts, "{node}");
            assert_eq!(ran.machine.history().len(), 5, "void results are left out");
            let timings = Timings::of(&ran.machine, ran.active);
            assert_eq!(timings.order.len(), 5);
        }
        let after = bench.kinds(&id).await;
        assert_eq!(after[..before.len()], before);
        let reopened: Vec<_> = bench
            .metas(&id)
            .await
            .into_iter()
            .filter_map(|meta| match meta {
                Meta::Reopened { why, from, redo } => Some((why, from, redo)),
                _ => None,
            })
            .collect();
        let why = || "a test".to_owned();
        assert_eq!(reopened, [(why(), 3, Redo::All), (why(), 2, Redo::All), (why(), 1, Redo::All)]);
        let (_, stored) = bench.runtime.inspect::<Words>(&id).await.unwrap();
        assert_eq!(stored.reopened(), 3);
    })
    .await;
}

/// Reopened again and again at different steps, the log stays readable and the state right.
#[tokio::test]
async fn reopenings_in_any_order() {
    on_each(async |bench| {
        let graph = diamond();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        for node in ["judge", "ingest", "a", "judge", "a", "a", "ingest", "judge"] {
            let ran = bench.reopen(&graph, &id, ReopenFrom::Node(node.to_owned())).await;
            assert_eq!(ran.stop, Stop::Completed, "{node}");
            let (_, stored) = bench.runtime.inspect::<Words>(&id).await.unwrap();
            assert_eq!(stored.state().unwrap().words, ["ingest", "a", "b", "c", "judge"]);
            assert_eq!(stored.version(), bench.head(&id).await.version);
        }
        assert_eq!(bench.runtime.checkpoint::<Words>(&id, 1).await.unwrap().words, ["ingest"]);
    })
    .await;
}

fn visited(calls: &Calls, times: u32) -> TestGraph {
    let graph = failing(calls, times, Fault::permanent("gone"));
    graph
        .tune("b", |node| {
            node.on_error_continue(|fault| Add::Word(format!("no b: {fault}")));
        })
        .unwrap()
}

/// A completed run due for another visit runs what was passed over, and the later steps; what went
/// well is not run again.
#[tokio::test]
async fn a_visit_fills_what_is_missing() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = visited(&calls, 1);
        let id = bench.open_with(&graph, &["revisit"]).await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["revisit", "ingest", "a", "no b: gone", "c", "judge"]);
        let at = START.plus(MINUTE);
        let ended = Ended::Finished(Outcome::Completed { revisit: Some((at, 2)) });
        assert_eq!(ran.machine.ended(), Some(&ended));
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Completed, Some(at)));

        bench.pass(MINUTE).await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran), ["revisit", "ingest", "a", "b", "c", "judge"]);
        assert_eq!(ran.machine.failures(), []);
        let counts = ["ingest", "a", "b", "c", "judge"].map(|node| calls.of(node));
        assert_eq!(counts, [1, 1, 2, 1, 2]);
        assert_eq!(bench.head(&id).await.not_before, None, "nothing is missing");
    })
    .await;
}

/// The state says how often: once here.
#[tokio::test]
async fn visits_end() {
    let bench = Bench::memory();
    let graph = visited(&Calls::default(), 9);
    let id = bench.open_with(&graph, &["revisit"]).await;
    let _ = bench.run(&graph, &id).await;
    let ran = bench.run(&graph, &id).await;
    assert_eq!(ran.machine.ended(), Some(&Ended::Finished(Outcome::Completed { revisit: None })));
    assert_eq!(words(&ran), ["revisit", "ingest", "a", "no b: gone", "c", "judge"]);
    assert_eq!(bench.run(&graph, &id).await.stop, Stop::Ended);
}

/// E11: a handler's step is left by its handler alone; reopened, the failed task gets another try
/// and the graph its usual way.
#[tokio::test]
async fn a_handled_failure_is_reopened() {
    on_each(async |bench| {
        let calls = Calls::default();
        let mut graph = super::support::Builder::new();
        for node in ["start", "good", "next", "handler"] {
            graph.node(node, super::support::say);
        }
        graph.node("bad", super::support::say).on_error_goto("handler");
        graph.entry("start").edge("start", "bad").edge("start", "good").edge("bad", "next");
        graph.edge("good", "next").edge("next", verdict::graph::END);
        graph.edge("handler", verdict::graph::END);
        let graph = graph.compile().unwrap();
        let graph = calls.failing(&calls.counted(&graph), "bad", 1, Fault::permanent("x"));
        let id = bench.open(&graph).await;
        assert_eq!(words(&bench.run(&graph, &id).await), ["start", "good", "handler"]);
        let ran = bench.reopen(&graph, &id, ReopenFrom::Failed).await;
        assert_eq!(words(&ran), ["start", "bad", "good", "next"]);
        assert_eq!((calls.of("good"), calls.of("handler")), (1, 1));
    })
    .await;
}

/// A step that broke its invariants is found broken again, and cured by running a task anew.
#[tokio::test]
async fn a_broken_step_is_cured_by_a_rewind() {
    on_each(async |bench| {
        let level = |by| move |_| async move { Ok(Add::Level(by)) };
        let broken = diamond().replace("a", level(60)).unwrap().replace("c", level(60)).unwrap();
        let id = bench.open(&broken).await;
        for _ in 0..2 {
            let Stop::Failed(Failure { step, node, fault }) = bench.run(&broken, &id).await.stop
            else {
                panic!()
            };
            assert_eq!((step, node), (2, None));
            assert_eq!(fault.message, "invalid update: field `level`: expected at most 100");
            bench.pass(MINUTE).await;
        }
        let cured = broken.replace("c", level(40)).unwrap();
        let ran = bench.reopen(&cured, &id, ReopenFrom::Node("c".to_owned())).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(ran.machine.state().unwrap().level, 100);
    })
    .await;
}
