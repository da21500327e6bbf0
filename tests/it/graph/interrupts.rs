//! E12: questions to people, answered hours later from anywhere.

use serde_json::json;
use verdict::{
    base::{Fault, Timestamp},
    graph::{
        Context, END, Execute, NodeError, ReopenFrom, RetryPolicy, RunStatus, Stop,
        store::{Question, Resumed, Waiting},
        testing::Faults,
    },
};

use super::{
    bench::{Bench, Calls, MINUTE, START, on, on_each, raw, waits},
    support::{Add, Builder, TestGraph, Words, diamond, execute, say, words},
};

type Ctx = Context<Words, ()>;

async fn ask(context: Ctx) -> Result<Add, NodeError> {
    let answer: String = context.interrupt("ask", &json!({"from": &**context.node()}))?;
    Ok(Add::Word(format!("{}={answer}", context.node())))
}

/// The diamond, with a and c asking.
fn asking() -> TestGraph {
    diamond().replace("a", ask).unwrap().replace("c", ask).unwrap()
}

/// A chain of counted nodes.
fn chain(names: &[&str], change: impl Fn(&mut Builder) -> &mut Builder) -> (TestGraph, Calls) {
    let mut graph = Builder::new();
    for name in names {
        graph.node(name, say);
    }
    graph.entry(names[0]);
    for pair in names.windows(2) {
        graph.edge(pair[0], pair[1]);
    }
    graph.edge(names[names.len() - 1], END);
    change(&mut graph);
    let calls = Calls::default();
    (calls.counted(&graph.compile().unwrap()), calls)
}

/// Several are open at once, with their requests, and are answered by id in any order, from
/// another process; the second answer gets the first.
#[tokio::test]
async fn several_are_answered_by_id_in_any_order() {
    on_each(async |bench| {
        let graph = asking();
        let id = bench.open(&graph).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        let head = bench.head(&id).await;
        assert_eq!(head.status, RunStatus::Parked);
        let question = |id: &str, title: &str| Question { id: id.into(), title: title.into() };
        let interrupts =
            vec![question("2.0.ask", r#"{"from":"a"}"#), question("2.2.ask", r#"{"from":"c"}"#)];
        assert_eq!(head.waiting, Some(Waiting::Person { interrupts, more: 0 }));
        let elsewhere = bench.elsewhere().await;
        let (_, seen) = elsewhere.inspect::<Words>(&id).await.unwrap();
        let open: Vec<_> =
            seen.interrupts().iter().map(|i| (&*i.id, i.request.get().to_owned())).collect();
        let wanted =
            [("2.0.ask", r#"{"from":"a"}"#.to_owned()), ("2.2.ask", r#"{"from":"c"}"#.to_owned())];
        assert_eq!(open, wanted);

        let given = elsewhere.resume(&id, "2.2.ask", &raw("late")).await.unwrap();
        assert!(matches!(given, Resumed::Accepted(_)));
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Queued, Some(START)));
        assert!(waits(&bench.run(&graph, &id).await.stop), "the other is still open");
        let again = bench.runtime.resume(&id, "2.2.ask", &raw("later")).await.unwrap();
        assert_eq!(again, Resumed::Already("\"late\"".into()));
        let unknown = bench.runtime.resume(&id, "2.1.ask", &raw("x")).await.unwrap();
        assert_eq!(unknown, Resumed::Unknown);

        bench.answer(&id, "2.0.ask", "early").await;
        let ran = on(&elsewhere, execute(&graph), &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(words(&ran), ["ingest", "a=early", "b", "c=late", "judge"]);
        let ended = bench.runtime.resume(&id, "2.0.ask", &raw("x")).await.unwrap();
        assert_eq!(ended, Resumed::Already("\"early\"".into()), "even after the end");
    })
    .await;
}

/// Finished siblings do not run again when an answer comes.
#[tokio::test]
async fn only_who_asked_runs_again() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = calls.counted(&diamond()).replace("a", ask).unwrap();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        assert_eq!((calls.of("ingest"), calls.of("b"), calls.of("judge")), (1, 1, 0));
        bench.answer(&id, "2.0.ask", "yes").await;
        let _ = bench.run(&graph, &id).await;
        assert_eq!((calls.of("ingest"), calls.of("b"), calls.of("judge")), (1, 1, 1));
    })
    .await;
}

/// Before a node: it does not run until it may; a `false` fails it in its place.
#[tokio::test]
async fn before_a_node() {
    on_each(async |bench| {
        for (answer, goes_on) in [(json!(true), true), (json!(false), false)] {
            let (graph, calls) = chain(&["one", "two"], |g| g.interrupt_before("two"));
            let id = bench.open(&graph).await;
            assert!(waits(&bench.run(&graph, &id).await.stop));
            assert_eq!((calls.of("one"), calls.of("two")), (1, 0));
            bench.answer(&id, "2.0.before", &answer).await;
            let ran = bench.run(&graph, &id).await;
            assert_eq!(calls.of("two"), u32::from(goes_on));
            if goes_on {
                assert_eq!(ran.stop, Stop::Completed);
                continue;
            }
            let Stop::Failed(failure) = ran.stop else { panic!() };
            assert_eq!(failure.fault, Fault::permanent("node `two` was rejected"));
        }
    })
    .await;
}

/// After a node, the last one included: nothing follows until it may; `false` and
/// `{"approve": false}` fail the run.
#[tokio::test]
async fn after_a_node() {
    on_each(async |bench| {
        for node in ["one", "two"] {
            for (answer, goes_on) in [
                (json!({"approve": true}), true),
                (json!({"approve": false}), false),
                (json!(false), false),
            ] {
                let (graph, calls) = chain(&["one", "two"], |g| g.interrupt_after(node));
                let id = bench.open(&graph).await;
                assert!(waits(&bench.run(&graph, &id).await.stop));
                assert!(waits(&bench.run(&graph, &id).await.stop), "it asks once");
                let step = calls.of("one") + calls.of("two") + 1;
                bench.answer(&id, &format!("{step}.after:{node}"), &answer).await;
                let ran = bench.run(&graph, &id).await;
                assert_eq!(ran.stop == Stop::Completed, goes_on, "{node} {answer}");
                if let Stop::Failed(failure) = ran.stop {
                    assert_eq!(failure.fault.message, format!("what `{node}` did was rejected"));
                }
            }
        }
    })
    .await;
}

/// Two such nodes in one step are two questions.
#[tokio::test]
async fn after_two_nodes_of_one_step() {
    on_each(async |bench| {
        let mut graph = Builder::new();
        for name in ["start", "a", "b", "end"] {
            graph.node(name, say);
        }
        graph.entry("start").edge("start", "a").edge("start", "b").edge("a", "end");
        graph.edge("b", "end").edge("end", END).interrupt_after("a").interrupt_after("b");
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        bench.answer(&id, "3.after:a", true).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        bench.answer(&id, "3.after:b", false).await;
        assert!(matches!(bench.run(&graph, &id).await.stop, Stop::Failed(_)));
    })
    .await;
}

/// No crash and no fork slips by a gate.
#[tokio::test]
async fn a_gate_stands_after_a_crash_and_in_a_fork() {
    on_each(async |bench| {
        let (graph, calls) = chain(&["one", "two"], |g| g.interrupt_after("one"));
        for records in 1..=4 {
            let id = bench.open(&graph).await;
            let faults = Faults::default().crash_after(records);
            let _ = bench.execute(Execute { faults, ..execute(&graph) }, &id).await;
            let ran = bench.run(&graph, &id).await;
            assert!(waits(&ran.stop), "a crash behind record {records}: {:?}", ran.stop);
            assert_eq!(calls.of("two"), 0);
        }
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        bench.answer(&id, "2.after:one", true).await;
        let _ = bench.run(&graph, &id).await;
        let fork = bench.runtime.fork::<Add>(&id, 1, true).await.unwrap();
        assert!(waits(&bench.run(&graph, &fork).await.stop));
    })
    .await;
}

/// An answer that comes while another task still runs is taken in by the execution under way.
#[tokio::test]
async fn an_answer_while_another_task_runs() {
    on_each(async |bench| {
        let (started, go) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
        let shared = std::sync::Arc::new((started, go));
        let slow = shared.clone();
        let graph = diamond().replace("a", ask).unwrap();
        let graph = graph
            .replace("b", move |_| {
                let slow = slow.clone();
                async move {
                    slow.0.notify_one();
                    slow.1.notified().await;
                    Ok(Add::Word("slow".to_owned()))
                }
            })
            .unwrap();
        let id = bench.open(&graph).await;
        let (ran, ()) = tokio::join!(bench.run(&graph, &id), async {
            shared.0.notified().await;
            // The question is durable before anything is waited for, but perhaps not yet.
            while !bench.kinds(&id).await.contains(&"interrupted") {
                tokio::task::yield_now().await;
            }
            bench.answer(&id, "2.0.ask", "meanwhile").await;
            shared.1.notify_one();
        });
        assert_eq!(ran.stop, Stop::Completed, "one execution was enough");
        assert_eq!(words(&ran), ["ingest", "a=meanwhile", "slow", "c", "judge"]);
        let (_, stored) = bench.runtime.inspect::<Words>(&id).await.unwrap();
        assert_eq!(stored.state(), ran.machine.state());
    })
    .await;
}

/// A retry keeps the answer; a rewind to an earlier step asks anew, under another id.
#[tokio::test]
async fn answers_outlive_a_retry_and_not_a_rewind() {
    on_each(async |bench| {
        let calls = Calls::default();
        let counter = calls.clone();
        let graph = diamond()
            .replace("a", move |context: Ctx| {
                let answer = context.interrupt::<String>("ask", &());
                let tries = answer.is_ok().then(|| counter.hit("a"));
                async move {
                    let answer = answer?;
                    if tries == Some(1) {
                        return Err(Fault::transient("down").into());
                    }
                    Ok(Add::Word(answer))
                }
            })
            .unwrap()
            .tune("a", |node| {
                node.retry(RetryPolicy::none());
            })
            .unwrap();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        bench.answer(&id, "2.0.ask", "first").await;
        let mut ran = bench.run(&graph, &id).await;
        let Stop::Failed(failure) = ran.stop.clone() else { panic!("{:?}", ran.stop) };
        ran.retry_later(&failure, START).await.unwrap();
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran), ["ingest", "first", "b", "c", "judge"]);

        let ran = bench.reopen(&graph, &id, ReopenFrom::Node("ingest".to_owned())).await;
        assert!(waits(&ran.stop));
        assert_eq!(ran.machine.interrupts()[0].id, "2.0.ask~2");
        bench.answer(&id, "2.0.ask~2", "second").await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran), ["ingest", "second", "b", "c", "judge"]);
    })
    .await;
}

/// An answer to a question that a reopening took back changes nothing, and breaks nothing.
#[tokio::test]
async fn an_answer_to_a_void_question_is_harmless() {
    on_each(async |bench| {
        let graph = asking();
        for from in ["ingest", "b"] {
            let id = bench.open(&graph).await;
            let _ = bench.run(&graph, &id).await;
            assert!(waits(
                &bench.reopen(&graph, &id, ReopenFrom::Node(from.to_owned())).await.stop
            ));
            bench.answer(&id, "2.0.ask", "void").await;
            assert!(waits(&bench.run(&graph, &id).await.stop), "after {from}");
            bench.answer(&id, "2.0.ask~1", "a").await;
            bench.answer(&id, "2.2.ask~1", "c").await;
            let ran = bench.run(&graph, &id).await;
            assert_eq!(ran.stop, Stop::Completed);
            assert_eq!(words(&ran), ["ingest", "a=a", "b", "c=c", "judge"]);
            let fork = bench.runtime.fork::<Add>(&id, 2, false).await.unwrap();
            assert_eq!(words(&bench.run(&graph, &fork).await), words(&ran));
        }
    })
    .await;
}

/// A failed sibling is dealt with first; the question stays open meanwhile.
#[tokio::test]
async fn a_question_stays_open_while_a_sibling_fails() {
    on_each(async |bench| {
        let calls = Calls::default();
        let graph = diamond().replace("a", ask).unwrap();
        let graph = calls.failing(&graph, "b", 1, Fault::permanent("bad"));
        let id = bench.open(&graph).await;
        let mut ran = bench.run(&graph, &id).await;
        let Stop::Failed(failure) = ran.stop.clone() else { panic!() };
        ran.fail(&failure, None).await.unwrap();
        let refused = bench.runtime.resume(&id, "2.0.ask", &raw(1)).await.unwrap();
        assert_eq!(refused, Resumed::Final(RunStatus::Failed));
        let ran = bench.reopen(&graph, &id, ReopenFrom::Failed).await;
        assert!(waits(&ran.stop));
        bench.answer(&id, "2.0.ask", "still").await;
        let ran = bench.run(&graph, &id).await;
        assert_eq!(words(&ran), ["ingest", "a=still", "b", "c", "judge"]);
    })
    .await;
}

/// An answer of the wrong shape is a clear failure of the node.
#[tokio::test]
async fn an_unfit_answer_names_the_question() {
    on_each(async |bench| {
        let graph = diamond().replace("a", ask).unwrap();
        let id = bench.open(&graph).await;
        let _ = bench.run(&graph, &id).await;
        bench.answer(&id, "2.0.ask", 5).await;
        let Stop::Failed(failure) = bench.run(&graph, &id).await.stop else { panic!() };
        assert!(failure.fault.message.starts_with("node `a`: the answer to `ask` is unfit"));
    })
    .await;
}

fn parking(until: Timestamp) -> (TestGraph, Calls) {
    let (calls, counter) = (Calls::default(), Calls::default());
    let seen = counter.clone();
    let graph = calls.counted(&diamond()).replace("b", move |context: Ctx| {
        let first = seen.hit("b") == 1;
        async move { if first { Err(context.park(until, "tomorrow")) } else { Ok(Add::Level(1)) } }
    });
    (graph.unwrap(), calls)
}

/// A parked task wakes at its time and not before, even if the run is claimed early.
#[tokio::test]
async fn a_parked_task_wakes_at_its_time() {
    on_each(async |bench| {
        let until = START.plus(MINUTE);
        let (graph, calls) = parking(until);
        let id = bench.open(&graph).await;
        assert_eq!(bench.run(&graph, &id).await.stop, Stop::Waiting(Some(until)));
        let head = bench.head(&id).await;
        assert_eq!((head.status, head.not_before), (RunStatus::Parked, Some(until)));
        assert_eq!(head.waiting, Some(Waiting::Time { reason: Some("tomorrow".to_owned()) }));
        assert_eq!(bench.run(&graph, &id).await.stop, Stop::Waiting(Some(until)));
        bench.pass(MINUTE).await;
        let due = bench.runtime.store.due(std::time::Duration::ZERO, 10).await.unwrap();
        assert_eq!(due.len(), 1);
        let ran = bench.run(&graph, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        assert_eq!(ran.machine.state().unwrap().level, 1);
        assert_eq!((calls.of("a"), calls.of("c")), (1, 1), "siblings ran once");
    })
    .await;
}

/// A parked task is to run again after a rewind to its step, whatever the time.
#[tokio::test]
async fn a_rewind_forgets_parking() {
    let bench = Bench::memory();
    let (graph, _) = parking(START.plus(MINUTE));
    let id = bench.open(&graph).await;
    let _ = bench.run(&graph, &id).await;
    let ran = bench.reopen(&graph, &id, ReopenFrom::Node("a".to_owned())).await;
    assert_eq!(ran.stop, Stop::Completed);
}

/// E24: what a run waits for is in its head: bounded, and only for as long as it waits. A limit that somebody else has set is told from a time.
#[tokio::test]
async fn the_head_says_what_the_run_waits_for() {
    on_each(async |bench| {
        let ask_many = |context: Ctx| async move {
            let name = format!("{}-{}", context.node(), context.index());
            let request = json!({"question": format!("{name}?"), "draft": {"secret": "hunter2"}});
            context.interrupt::<u8>(&name, &request).map(|_| Add::Level(1))
        };
        let mut graph = Builder::new();
        graph.node("ingest", say);
        for n in 0..20 {
            let name = n.to_string();
            graph.node(&name, ask_many);
            graph.edge("ingest", &name).edge(&name, END);
        }
        graph.entry("ingest");
        let graph = graph.compile().unwrap();
        let id = bench.open(&graph).await;
        assert_eq!(bench.head(&id).await.waiting, None);
        assert!(waits(&bench.run(&graph, &id).await.stop));
        let Some(Waiting::Person { interrupts, more }) = bench.head(&id).await.waiting else {
            panic!()
        };
        assert_eq!((interrupts.len(), more), (8, 12));
        assert!(interrupts.iter().all(|asked| asked.title.ends_with('?')), "{interrupts:?}");
        bench.answer(&id, &interrupts[3].id, 7).await;
        assert_eq!(bench.head(&id).await.waiting, None, "it is to be taken up again");
        assert!(waits(&bench.run(&graph, &id).await.stop));
        let waiting = bench.head(&id).await.waiting;
        assert!(matches!(waiting, Some(Waiting::Person { more: 11, .. })), "{waiting:?}");

        // What is sensitive is shown nowhere, so it is not in the head.
        let secret = |context: Ctx| async move {
            context.interrupt::<u8>("key", &json!({"secret": "hunter2"})).map(|_| Add::Level(1))
        };
        let graph = diamond().replace("a", secret).unwrap();
        let id = bench.open(&graph).await;
        assert!(waits(&bench.run(&graph, &id).await.stop));
        let waiting = bench.head(&id).await.waiting.unwrap().to_string();
        assert_eq!(waiting, r#"person: 2.0.key {"secret":"[redacted]"}"#);

        let calls = Calls::default();
        let limited = Fault::transient("slow down").after(MINUTE);
        let graph = calls.failing(&diamond(), "b", 1, limited);
        let once = graph.tune("b", |node| {
            node.retry(RetryPolicy::none());
        });
        let graph = once.unwrap();
        let id = bench.open(&graph).await;
        let mut ran = bench.run(&graph, &id).await;
        let Stop::Failed(failure) = ran.stop.clone() else { panic!("{:?}", ran.stop) };
        ran.retry_later(&failure, START.plus(MINUTE)).await.unwrap();
        assert_eq!(bench.head(&id).await.waiting, Some(Waiting::Limit));
        let ran = bench.run(&graph, &id).await;
        assert_eq!((ran.stop, bench.head(&id).await.waiting), (Stop::Completed, None));
    })
    .await;
}
