//! E25: a run waits for an event by key, with a deadline; the event may come first.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::sync::Notify;
use verdict::{
    base::Timestamp,
    graph::{
        Awaited, Context, END, Execute, ExternalEvent, Meta, NodeError, ReopenFrom, RunId,
        RunStatus, Runtime, START as BEGIN, Stop, Target,
        store::{Question, Resumed, RunFilter, Waiting, WaitingFor},
        testing::Faults,
    },
};

use super::{
    bench::{Bench, Calls, MINUTE, START, on, on_each, raw, waits},
    support::{Add, Builder, TestGraph, Words, diamond, execute, say, words},
};

type Ctx = Context<Words, ()>;

const KEEP: Duration = Duration::from_secs(3600);
const KEY: &str = "ci/0123abc";

fn deadline() -> Timestamp {
    START.plus(MINUTE)
}

fn parked() -> Stop {
    Stop::Waiting(Some(deadline()))
}

fn received(context: &Ctx, came: Awaited<String>) -> Add {
    let came = match came {
        Awaited::Event(payload) => payload,
        Awaited::TimedOut => "nothing".to_owned(),
    };
    Add::Word(format!("{}={came}", context.node()))
}

async fn await_ci(context: Ctx) -> Result<Add, NodeError> {
    let came = context.wait_for_event(KEY, deadline())?;
    Ok(received(&context, came))
}

fn event(id: &str, payload: impl serde::Serialize) -> ExternalEvent {
    ExternalEvent::new(KEY, id, &raw(payload)).unwrap()
}

/// The graph with a node that waits for another key.
fn awaits(graph: &TestGraph, node: &str, key: &str) -> TestGraph {
    let key = key.to_owned();
    let waits = move |context: Ctx| {
        let came = context.wait_for_event(&key, deadline());
        async move { came.map(|came| received(&context, came)) }
    };
    graph.replace(node, waits).unwrap()
}

async fn send_to(bench: &Bench, key: &str, id: &str, payload: &str) -> Vec<RunId> {
    let event = ExternalEvent::new(key, id, &raw(payload)).unwrap();
    bench.runtime.send(event, KEEP).await.unwrap()
}

async fn send(runtime: &Runtime, id: &str, payload: &str) -> Vec<RunId> {
    runtime.send(event(id, payload), KEEP).await.unwrap()
}

/// The diamond, whose b waits.
fn waiting() -> (TestGraph, Calls) {
    let calls = Calls::default();
    (calls.counted(&diamond()).replace("b", await_ci).unwrap(), calls)
}

async fn count(bench: &Bench, id: &RunId, kind: &str) -> usize {
    bench.kinds(id).await.iter().filter(|one| **one == kind).count()
}

/// The head says what it waits for, and until when; the event wakes it, from another process, and
/// nothing that had ended runs again.
#[tokio::test]
async fn an_event_after_the_wait_wakes_the_run() {
    on_each(async |bench| {
        let (graph, calls) = waiting();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Parked, Some(deadline())));
        let wait = Question { id: format!("2.1.event:{KEY}"), title: KEY.to_owned() };
        assert_eq!(head.waiting, Some(Waiting::Event { events: vec![wait], more: 0 }));
        assert_eq!(head.waiting.unwrap().to_string(), format!("event: {KEY}"));
        let filter = RunFilter { waiting: vec![WaitingFor::Event], ..RunFilter::default() };
        let listed = bench.runtime.store.list(&filter).await.unwrap();
        assert!(listed.iter().any(|head| head.id == id), "{listed:?}");
        let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
        assert_eq!(seen.unfinished().next().unwrap().2, "for an event");

        let elsewhere = bench.elsewhere().await;
        assert_eq!(send(&elsewhere, "1", "green").await, std::slice::from_ref(&id));
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Queued, Some(START)));
        assert_eq!(head.waiting, None);
        let ran = on(&elsewhere, execute(&graph), &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a", "b=green", "c", "judge"]);
        for node in ["ingest", "a", "c", "judge"] {
            assert_eq!(calls.of(node), 1, "{node}");
        }
        assert_eq!(bench.runtime.store.event_waits(KEY).await.unwrap(), []);
    })
    .await;
}

/// It is kept, for a time.
#[tokio::test]
async fn an_event_before_the_wait_is_received_as_long_as_it_is_kept() {
    on_each(async |bench| {
        let (graph, _) = waiting();
        assert_eq!(send(&bench.runtime, "1", "green").await, []);
        let id = bench.open(&graph).await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed, "it never parked");
        assert_eq!(words(&ran), ["ingest", "a", "b=green", "c", "judge"]);
        assert_eq!(bench.runtime.store.event_waits(KEY).await.unwrap(), []);
        // It is there for every run, until its time is over.
        let other = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &other).await.stop, Stop::Completed);
        bench.pass(KEEP).await;
        let late = bench.open(&graph).await;
        let ran = bench.run(&graph, &late).await;
        assert_eq!(words(&ran)[2], "b=nothing", "the deadline has passed, too");
        assert!(bench.runtime.store.sweep_events().await.unwrap() >= 1);
    })
    .await;
}

/// Sent twice it is one event: received once, with what it carried first. A later step waits for
/// the next one.
#[tokio::test]
async fn an_event_is_received_once() {
    on_each(async |bench| {
        let mut graph = Builder::new();
        graph.node("first", await_ci);
        graph.node("second", await_ci);
        graph.entry("first").edge("first", "second").edge("second", END);
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        assert_eq!(send(&bench.runtime, "1", "green").await, std::slice::from_ref(&id));
        assert_eq!(send(&bench.runtime, "1", "red").await, []);
        assert_eq!(bench.run(&graph, &id).await.stop, parked(), "the second waits");
        assert_eq!(send(&bench.runtime, "1", "red").await, [], "not for the same one");
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        bench.pass(Duration::from_secs(1)).await;
        assert_eq!(send(&bench.runtime, "2", "blue").await, std::slice::from_ref(&id));
        assert_eq!(words(&bench.run(&graph, &id).await), ["first=green", "second=blue"]);
        let event = |meta: Meta| if let Meta::Resumed { event, .. } = meta { event } else { None };
        let ids: Vec<_> = bench.metas(&id).await.into_iter().filter_map(event).collect();
        assert_eq!(ids, ["1", "2"]);

        // Both came before: each wait gets the next, in the order they came.
        let id = bench.open(&graph).await;
        assert_eq!(words(&bench.run(&graph, &id).await), ["first=green", "second=blue"]);
    })
    .await;
}

/// The deadline wakes it as well.
#[tokio::test]
async fn the_deadline_ends_the_wait() {
    on_each(async |bench| {
        let (graph, calls) = waiting();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        assert_eq!(bench.run(&graph, &id).await.stop, parked(), "not before its time");
        assert_eq!(count(bench, &id, "interrupted").await, 1);
        bench.pass(MINUTE).await;
        let due = bench.runtime.store.due(Duration::ZERO, 10).await.unwrap();
        assert_eq!(due.iter().map(|head| &head.id).collect::<Vec<_>>(), [&id]);
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a", "b=nothing", "c", "judge"]);
        assert_eq!(calls.of("a"), 1);
        assert_eq!(send(&bench.runtime, "1", "late").await, []);
    })
    .await;
}

/// Several processes at once: one wins, and there is one answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_and_the_deadline_never_both_count() {
    on_each(async |bench| {
        let (graph, _) = waiting();
        bench.pass(MINUTE).await;
        let elsewhere = bench.elsewhere().await;
        for round in 0..10 {
            let id = bench.open(&graph).await;
            let name = round.to_string();
            let (sent, other) = (send(&bench.runtime, &name, "a"), send(&elsewhere, &name, "b"));
            let (mut ran, woken, other) = tokio::join!(bench.run(&graph, &id), sent, other);
            while ran.stop != Stop::Completed {
                ran = bench.run(&graph, &id).await;
            }
            assert_eq!(count(bench, &id, "resumed").await, 1);
            let word = words(&ran)[2];
            assert!(["b=a", "b=b", "b=nothing"].contains(&word), "{word} {woken:?} {other:?}");
            bench.pass(KEEP).await;
        }
    })
    .await;
}

/// A crash behind every record, the event before, between or after: the same words, nothing twice.
#[tokio::test]
async fn a_crash_between_loses_no_event() {
    on_each(async |bench| {
        let (graph, _) = waiting();
        let wanted = ["ingest", "a", "b=green", "c", "judge"];
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        send(&bench.runtime, "1", "green").await;
        assert_eq!(words(&bench.run(&graph, &id).await), wanted);
        let records = bench.head(&id).await.version;
        for before in [true, false] {
            for record in 1..records {
                let calls = Calls::default();
                let key = format!("{before} {record}");
                let graph = awaits(&calls.counted(&diamond()), "b", &key);
                if before {
                    send_to(bench, &key, "1", "green").await;
                }
                let id = bench.open(&graph).await;
                let faults = Faults::default().crash_after(record);
                let mut ran = bench.execute(Execute { faults, ..execute(&graph) }, &id).await;
                if !before {
                    send_to(bench, &key, "1", "green").await;
                }
                let elsewhere = bench.elsewhere().await;
                while ran.stop != Stop::Completed {
                    assert!(matches!(ran.stop, Stop::Crashed | Stop::Waiting(_)), "{:?}", ran.stop);
                    ran = on(&elsewhere, execute(&graph), &id).await;
                }
                assert_eq!(words(&ran), wanted, "after record {record}");
                assert_eq!(count(bench, &id, "resumed").await, 1);
                assert_eq!(count(bench, &id, "interrupted").await, 1);
                let again = calls.take().into_iter().filter(|(_, times)| *times > 2).count();
                assert_eq!(again, 0, "after record {record}");
            }
        }
    })
    .await;
}

/// Its sender died once the event was kept, and sends it again.
#[tokio::test]
async fn a_sender_that_died_half_way_makes_good_for_it() {
    on_each(async |bench| {
        let (graph, _) = waiting();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        bench.runtime.store.put_event(event("1", "green"), KEEP).await.unwrap();
        assert_eq!(bench.head(&id).await.status, RunStatus::Parked);
        assert_eq!(send(&bench.runtime, "1", "green").await, std::slice::from_ref(&id));
        assert_eq!(words(&bench.run(&graph, &id).await)[2], "b=green");
        // Or it does not: the run finds it at its deadline.
        let graph = awaits(&graph, "b", "other");
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        let kept = ExternalEvent { key: "other".to_owned(), ..event("1", "late") };
        bench.runtime.store.put_event(kept, KEEP).await.unwrap();
        bench.pass(MINUTE).await;
        assert_eq!(words(&bench.run(&graph, &id).await)[2], "b=late");
    })
    .await;
}

/// Tasks side by side each receive it; those that wait for another key wait on.
#[tokio::test]
async fn branches_wait_side_by_side() {
    const WAIT: Target<String> = Target::new("wait");
    on_each(async |bench| {
        let mut graph = Builder::new();
        graph.task(WAIT, |context: Ctx, key| async move {
            let came = context.wait_for_event::<u8>(&key, deadline())?;
            Ok(Add::Word(format!("{key} {came:?}")))
        });
        let keys = ["x", "y", "x"];
        graph.fan_out(BEGIN, ["wait"], move |_| {
            keys.iter().map(|key| WAIT.dispatch(&(*key).to_owned())).collect()
        });
        graph.edge("wait", END);
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked());
        let Some(Waiting::Event { events, .. }) = bench.head(&id).await.waiting else { panic!() };
        assert_eq!(events.iter().map(|wait| &*wait.title).collect::<Vec<_>>(), keys);
        let send = async |key: &str, payload: u8| {
            let event = ExternalEvent::new(key, "1", &raw(payload)).unwrap();
            bench.runtime.send(event, KEEP).await.unwrap()
        };
        assert_eq!(send("x", 1).await, std::slice::from_ref(&id));
        assert_eq!(bench.run(&graph, &id).await.stop, parked(), "the other is not there");
        assert_eq!(send("y", 2).await, std::slice::from_ref(&id));
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran), ["x Event(1)", "y Event(2)", "x Event(1)"]);
        assert_eq!(count(bench, &id, "interrupted").await, 3);
    })
    .await;
}

/// The event comes while a branch beside is at work: the run goes on without parking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_reaches_a_run_in_hand() {
    on_each(async |bench| {
        let (standing, opened) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (stand, open) = (standing.clone(), opened.clone());
        let graph = waiting().0.replace("c", move |_: Ctx| {
            let (stand, open) = (stand.clone(), open.clone());
            async move {
                stand.notify_one();
                open.notified().await;
                Ok(Add::Word("c".to_owned()))
            }
        });
        let graph = graph.unwrap();
        let id = bench.open(&graph).await;
        let elsewhere = bench.elsewhere().await;
        let sends = async {
            standing.notified().await;
            send(&elsewhere, "1", "green").await;
            opened.notify_one();
        };
        let (ran, ()) = tokio::join!(bench.run(&graph, &id), sends);
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a", "b=green", "c", "judge"]);
    })
    .await;
}

/// Two deep: what ended inside does not run again, by an event or by the deadline. The event counts as
/// received for what comes after the subgraph.
#[tokio::test]
async fn a_subgraph_waits() {
    on_each(async |bench| {
        let calls = Calls::default();
        let around = |inner: &TestGraph, name: &str| {
            let mut graph = Builder::new();
            graph.node("begin", say);
            graph.node("after", say);
            let update = |inner: &Words| Add::Word(inner.words.join("+"));
            graph.subgraph(name, inner, |_| Ok(Vec::new()), update);
            graph.entry("begin").edge("begin", name).edge(name, "after").edge("after", END);
            graph.compile().unwrap()
        };
        let mut inner = Builder::new();
        for name in ["plan", "wait", "act"] {
            inner.node(name, say);
        }
        inner.entry("plan").edge("plan", "wait").edge("wait", "act").edge("act", END);
        let inner = calls.counted(&inner.compile().unwrap());
        for by_event in [true, false] {
            calls.take();
            let key = format!("ci {by_event}");
            let inner = awaits(&inner, "wait", &key);
            let graph = awaits(&around(&around(&inner, "agent"), "team"), "after", &key);
            let id = bench.open(&graph).await;
            assert_eq!(bench.run(&graph, &id).await.stop, parked());
            assert_eq!(bench.run(&graph, &id).await.stop, parked());
            let Some(Waiting::Event { events, .. }) = bench.head(&id).await.waiting else {
                panic!()
            };
            assert_eq!(events[0].id, format!("2.0/2.0/2.0.event:{key}"));
            let (_, seen) = bench.runtime.inspect::<Words>(&id).await.unwrap();
            assert_eq!(seen.unfinished().next().unwrap().2, "for an event");
            let (word, last) = if by_event {
                assert_eq!(send_to(bench, &key, "1", "green").await, std::slice::from_ref(&id));
                assert_eq!(bench.run(&graph, &id).await.stop, parked(), "for the next one");
                assert_eq!(send_to(bench, &key, "2", "blue").await, std::slice::from_ref(&id));
                ("green", "blue")
            } else {
                bench.pass(MINUTE).await;
                ("nothing", "nothing")
            };
            let ran = bench.run(&graph, &id).await;
            assert_eq!(ran.stop, Stop::Completed);
            let inside = format!("begin+plan+wait={word}+act+after");
            assert_eq!(words(&ran), ["begin", &inside, &format!("after={last}")]);
            assert_eq!((calls.of("plan"), calls.of("act")), (1, 1));
        }
    })
    .await;
}

/// A person cannot answer it, and a person's question counts more in the head.
#[tokio::test]
async fn an_event_is_no_persons_answer() {
    on_each(async |bench| {
        let ask = |context: Ctx| async move {
            context.interrupt::<bool>("ok", &json!("All right?")).map(|_| Add::Level(1))
        };
        let graph = waiting().0.replace("a", ask).unwrap();
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, parked(), "its deadline counts");
        let waiting = bench.head(&id).await.waiting.unwrap();
        assert_eq!(waiting.to_string(), "person: 2.0.ok All right?");
        let wait = format!("2.1.event:{KEY}");
        let given = bench.runtime.resume(&id, &wait, &raw("green")).await.unwrap();
        assert_eq!(given, Resumed::Unknown);
        send(&bench.runtime, "1", "green").await;
        assert!(waits(&bench.run(&graph, &id).await.stop), "for the person alone");
        bench.answer(&id, "2.0.ok", true).await;
        assert_eq!(words(&bench.run(&graph, &id).await), ["ingest", "b=green", "c", "judge"]);
    })
    .await;
}

/// What was received in a step that is void is to be received again.
#[tokio::test]
async fn a_rewind_receives_the_event_again() {
    on_each(async |bench| {
        let (graph, _) = waiting();
        send(&bench.runtime, "1", "green").await;
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, Stop::Completed);
        let ran = bench.reopen(&graph, &id, ReopenFrom::Node("ingest".to_owned())).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a", "b=green", "c", "judge"]);
        assert_eq!(count(bench, &id, "resumed").await, 2);
    })
    .await;
}

/// A payload of another shape, a key that is none, an event that is none.
#[tokio::test]
async fn what_is_unfit_is_refused() {
    let bench = Bench::memory();
    let (graph, _) = waiting();
    bench.runtime.send(event("1", 5), KEEP).await.unwrap();
    let id = bench.open(&graph).await;
    let Stop::Failed(failure) = bench.run(&graph, &id).await.stop else { panic!() };
    let why = failure.fault.message;
    assert!(why.starts_with(&format!("node `b`: the event `{KEY}` is unfit: ")), "{why}");

    let keyless = |context: Ctx| async move {
        context.wait_for_event::<u8>("", deadline()).map(|_| Add::Level(1))
    };
    let graph = diamond().replace("b", keyless).unwrap();
    let id = bench.open(&graph).await;
    let Stop::Failed(failure) = bench.run(&graph, &id).await.stop else { panic!() };
    assert_eq!(failure.fault.message, "the event's key is empty");

    let deep = serde_json::value::RawValue::from_string("[".repeat(200) + &"]".repeat(200));
    for (key, id, payload) in [
        ("", "1", raw(1)),
        ("a\nb", "1", raw(1)),
        (&*"k".repeat(513), "1", raw(1)),
        ("k", "", raw(1)),
        ("k", "1", raw("x".repeat(300_000))),
        ("k", "1", deep.unwrap()),
    ] {
        assert!(ExternalEvent::new(key, id, &payload).is_err(), "{key}");
    }
}
