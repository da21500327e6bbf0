//! E1, E3–E5, E9–E11, E14, E16: runs without a store.

use std::{sync::Arc, time::Duration};

use tokio::sync::Barrier;
use verdict::{
    base::{Fault, FaultKind},
    graph::{Command, Control, Dispatch, END, Execute, NodeError, RetryPolicy, Stop, Timings},
};

use super::support::{Add, Builder, diamond, execute, nothing, run, say, words};

/// E5: updates merge in task order, whatever the order in which tasks end.
#[tokio::test]
async fn the_order_of_merging_does_not_depend_on_who_ends_first() {
    let ran = run(&diamond()).await;
    assert_eq!(ran.stop, Stop::Completed);
    assert_eq!(words(&ran), ["ingest", "a", "b", "c", "judge"]);
    let order: Vec<_> = ran.machine.history().iter().map(|task| &*task.node).collect();
    assert_eq!(order, ["ingest", "b", "a", "c", "judge"], "b had nothing to wait for");
}

/// E5: tasks of one step run side by side: each waits for all of them.
#[tokio::test]
async fn tasks_of_one_step_meet() {
    let barrier = Arc::new(Barrier::new(3));
    let mut graph = Builder::new();
    graph.node("start", nothing);
    graph.entry("start");
    for name in ["a", "b", "c"] {
        let barrier = barrier.clone();
        graph.node(name, move |_| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(Command::nothing())
            }
        });
        graph.edge("start", name).edge(name, END);
    }
    let ran = run(&graph.compile().unwrap()).await;
    assert_eq!(ran.stop, Stop::Completed);
}

/// E1: a branch, and a cycle that it leaves.
#[tokio::test]
async fn a_cycle_runs_until_its_branch_leaves_it() {
    let mut graph = Builder::new();
    graph.node("more", |_| async { Ok(Add::Level(10)) });
    graph.entry("more").branch("more", ["more", END], |s| if s.level < 50 { "more" } else { END });
    let ran = run(&graph.compile().unwrap()).await;
    assert_eq!(ran.machine.state().unwrap().level, 50);
    assert_eq!(ran.machine.history().len(), 5);
}

/// E16
#[tokio::test]
async fn a_runaway_cycle_meets_the_recursion_limit() {
    let mut graph = Builder::new();
    graph.node("again", nothing);
    graph.entry("again").branch("again", ["again", END], |_| "again").recursion_limit(7);
    let ran = run(&graph.compile().unwrap()).await;
    let Stop::Failed(failure) = ran.stop else { panic!("{:?}", ran.stop) };
    assert_eq!(
        failure.fault.message,
        "the run has taken 7 steps, its recursion limit; next would be again"
    );
    assert_eq!(ran.machine.history().len(), 7);
}

fn fan(count: usize, by_command: bool) -> super::support::TestGraph {
    let dispatches = move || (0..count).map(|i| Dispatch::with("work", &i)).collect::<Vec<_>>();
    let mut graph = Builder::new();
    if by_command {
        graph.node("plan", move |_| async move { Ok(Command::goto(dispatches())) });
        graph.dispatches("plan", ["work"]);
    } else {
        graph.node("plan", nothing);
        graph.fan_out("plan", ["work"], move |_| dispatches());
    }
    graph.node("work", |context| async move {
        let input: usize = context.input()?;
        Ok(Add::Word(format!("{input}")))
    });
    graph.node("join", say);
    graph.entry("plan").edge("work", "join").edge("join", END);
    if count == 0 && !by_command {
        graph.edge("plan", END);
    }
    graph.compile().unwrap()
}

/// E1: 0, 1 and many tasks, emitted by a node or by an edge, each with its own input.
#[tokio::test]
async fn dynamic_tasks_each_get_their_input() {
    for by_command in [true, false] {
        for count in [0, 1, 200] {
            let ran = run(&fan(count, by_command)).await;
            assert_eq!(ran.stop, Stop::Completed);
            let mut wanted: Vec<String> = (0..count).map(|i| i.to_string()).collect();
            if count > 0 {
                wanted.push("join".to_owned());
            }
            assert_eq!(words(&ran), wanted, "{count} by_command {by_command}");
        }
    }
}

/// E1: targets nobody declared are a failure that names both nodes.
#[tokio::test]
async fn an_undeclared_target_fails_the_run() {
    let mut graph = Builder::new();
    graph.node("a", |_| async { Ok(Command::goto([Dispatch::to("b")])) });
    graph.node("b", say);
    graph.entry("a").edge("a", "b").edge("b", END);
    let Stop::Failed(failure) = run(&graph.compile().unwrap()).await.stop else { panic!() };
    let wanted = "node `a` goes to `b`, which it did not declare as a target";
    assert_eq!(failure.fault.message, wanted);
}

/// E4: an invalid update names field and expectation, merges nothing, and fails its node.
#[tokio::test]
async fn an_invalid_update_is_its_nodes_failure() {
    let graph = diamond().replace("b", |_| async { Ok(Add::Word(String::new())) }).unwrap();
    let ran = run(&graph).await;
    let Stop::Failed(failure) = &ran.stop else { panic!() };
    assert_eq!(failure.node.as_deref(), Some("b"));
    assert_eq!(failure.fault.message, "invalid update: field `words`: expected a non-empty string");
    assert_eq!(words(&ran), ["ingest"], "the step's updates are not merged");
}

/// E4: an invariant that two updates break together leaves the state as it was.
#[tokio::test]
async fn a_broken_invariant_leaves_the_previous_state() {
    let level = |_| async { Ok(Add::Level(60)) };
    let graph = diamond().replace("a", level).unwrap().replace("c", level).unwrap();
    let ran = run(&graph).await;
    let Stop::Failed(failure) = &ran.stop else { panic!() };
    assert_eq!(failure.fault.message, "invalid update: field `level`: expected at most 100");
    assert_eq!(ran.machine.state().unwrap().level, 0);
    assert_eq!(words(&ran), ["ingest"]);
}

fn flaky(fault: Fault) -> Builder {
    let mut graph = Builder::new();
    graph.node("flaky", move |context| {
        let fault = fault.clone();
        async move {
            if context.attempt() < 4 { Err(fault.into()) } else { Ok(Add::Word("ok".to_owned())) }
        }
    });
    graph.entry("flaky").edge("flaky", END);
    graph
}

fn without_jitter() -> RetryPolicy {
    RetryPolicy { jitter: false, ..RetryPolicy::default() }
}

/// E9: 1 s, 2 s, 4 s.
#[tokio::test(start_paused = true)]
async fn transient_faults_are_retried_with_exponential_backoff() {
    let graph = flaky(Fault::transient("busy")).compile().unwrap();
    let graph = graph
        .tune("flaky", |node| {
            node.retry(without_jitter());
        })
        .unwrap();
    let began = tokio::time::Instant::now();
    let ran = run(&graph).await;
    assert_eq!(ran.stop, Stop::Completed);
    assert_eq!(began.elapsed().as_secs(), 7);
    assert_eq!(ran.machine.history()[0].attempts, 4);
}

/// E9: jitter adds up to as much again, and is on by default.
#[tokio::test(start_paused = true)]
async fn jitter_is_on_by_default() {
    let graph = flaky(Fault::transient("busy")).compile().unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(run(&graph).await.stop, Stop::Completed);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(7) && took < Duration::from_secs(15), "{took:?}");
}

/// E9: a server's wish wins when it is longer, and a wish beyond patience ends the tries.
#[tokio::test(start_paused = true)]
async fn retry_after_wins_when_longer() {
    let fault = Fault::transient("slow down").after(Duration::from_millis(2500));
    let graph = flaky(fault).compile().unwrap();
    let graph = graph
        .tune("flaky", |node| {
            node.retry(without_jitter());
        })
        .unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(run(&graph).await.stop, Stop::Completed);
    assert_eq!(began.elapsed(), Duration::from_millis(2500 + 2500 + 4000));

    let fault = Fault::transient("come back tomorrow").after(Duration::from_secs(86_400));
    let began = tokio::time::Instant::now();
    let Stop::Failed(failure) = run(&flaky(fault).compile().unwrap()).await.stop else { panic!() };
    assert_eq!(failure.fault.retry_after, Some(Duration::from_secs(86_400)));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// E9
#[tokio::test(start_paused = true)]
async fn permanent_faults_are_not_retried() {
    let ran = run(&flaky(Fault::permanent("no such file")).compile().unwrap()).await;
    assert!(matches!(ran.stop, Stop::Failed(_)));
    assert_eq!(ran.machine.history()[0].attempts, 1);
}

/// E10: a node over time is cancelled and told apart; the others keep their results.
#[tokio::test(start_paused = true)]
async fn a_node_over_time_is_cancelled_and_the_others_kept() {
    let graph = diamond()
        .replace("a", |_| std::future::pending::<Result<Add, NodeError>>())
        .unwrap()
        .tune("a", |node| {
            node.timeout(Duration::from_secs(30))
                .retry(RetryPolicy::none())
                .on_error_continue(|fault| Add::Word(format!("{:?}", fault.kind)));
        })
        .unwrap();
    let began = tokio::time::Instant::now();
    let ran = run(&graph).await;
    assert_eq!(ran.stop, Stop::Completed);
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert_eq!(words(&ran), ["ingest", "Timeout", "b", "c", "judge"]);
    assert_eq!(ran.machine.failures()[0].fault.message, "node `a` took longer than 30s");
}

/// E10: the run's own limit of active time.
#[tokio::test(start_paused = true)]
async fn a_run_over_its_active_time_fails() {
    let pending = |_| std::future::pending::<Result<Add, NodeError>>();
    let graph = diamond().replace("a", pending).unwrap();
    let limited = Execute { timeout: Some(Duration::from_secs(60)), ..execute(&graph) };
    let ran = graph.run(Vec::new(), limited).await;
    let Stop::Failed(failure) = &ran.stop else { panic!() };
    assert_eq!(failure.fault.message, "the run was active for longer than 1m");
    assert_eq!(ran.machine.history().len(), 3, "ingest, b and c ended and are kept");
}

/// E11: `fail` lets siblings end; the panic of one is that one's fault.
#[tokio::test]
async fn a_panic_is_caught_and_its_siblings_end() {
    let graph = diamond()
        .replace("b", |_| async { if true { panic!("oh no") } else { Ok(Add::Level(1)) } })
        .unwrap();
    let ran = run(&graph).await;
    let Stop::Failed(failure) = &ran.stop else { panic!() };
    assert_eq!(failure.fault, Fault::permanent("node `b` panicked: oh no"));
    assert_eq!(ran.machine.history().len(), 4);
}

/// E11: a panic behind an await is caught just the same.
#[tokio::test]
async fn a_late_panic_is_caught() {
    let graph = diamond()
        .replace("b", |_| async {
            tokio::task::yield_now().await;
            if true { panic!("{} {}", "oh", "dear") } else { Ok(Add::Level(1)) }
        })
        .unwrap();
    let Stop::Failed(failure) = run(&graph).await.stop else { panic!() };
    assert_eq!(failure.fault.message, "node `b` panicked: oh dear");
}

/// E11: `go to the error handler`, and nowhere else; it finds what failed.
#[tokio::test]
async fn a_handler_takes_over_and_finds_the_failure() {
    let mut graph = Builder::new();
    graph.node("start", say);
    graph.node("bad", |_| async {
        if true { Err(Fault::permanent("broken").into()) } else { Ok(Add::Level(1)) }
    });
    graph.node("good", say);
    graph.node("next", say);
    graph.node("handler", |context| async move {
        let failure = &context.failures()[0];
        let node = failure.node.as_deref().unwrap_or_default();
        Ok(Add::Word(format!("{node}: {}", failure.fault)))
    });
    graph.entry("start").edge("start", "bad").edge("start", "good");
    graph.edge("bad", "next").edge("good", "next").edge("next", END).edge("handler", END);
    let graph = graph
        .compile()
        .err()
        .map(|error| assert!(error.to_string().contains("`handler`")))
        .and_then(|()| None::<super::support::TestGraph>);
    assert!(graph.is_none(), "a handler nobody goes to is unreachable");
}

/// E11
#[tokio::test]
async fn control_goes_to_the_handler_and_siblings_are_merged() {
    let mut graph = Builder::new();
    graph.node("start", say);
    graph
        .node("bad", |_| async {
            if true { Err(Fault::permanent("broken").into()) } else { Ok(Add::Level(1)) }
        })
        .on_error_goto("handler");
    graph.node("good", say);
    graph.node("next", say);
    graph.node("handler", |context| async move {
        let failure = &context.failures()[0];
        let node = failure.node.as_deref().unwrap_or_default();
        Ok(Add::Word(format!("{node}: {}", failure.fault)))
    });
    graph.entry("start").edge("start", "bad").edge("start", "good");
    graph.edge("bad", "next").edge("good", "next").edge("next", END).edge("handler", END);
    let ran = run(&graph.compile().unwrap()).await;
    assert_eq!(ran.stop, Stop::Completed);
    assert_eq!(words(&ran), ["start", "good", "bad: broken"]);
}

/// E11: a node may say that its failure cancels its siblings.
#[tokio::test]
async fn a_failure_cancels_siblings_only_if_told_to() {
    let graph = diamond()
        .replace("a", |_| std::future::pending::<Result<Add, NodeError>>())
        .unwrap()
        .replace("b", |_| async {
            tokio::task::yield_now().await;
            if true { Err(Fault::permanent("broken").into()) } else { Ok(Add::Level(1)) }
        })
        .unwrap()
        .tune("b", |node| {
            node.cancels_siblings();
        })
        .unwrap();
    let Stop::Failed(failure) = run(&graph).await.stop else { panic!() };
    assert_eq!(failure.node.as_deref(), Some("b"));
}

/// W5: cancelling from outside cuts short what runs.
#[tokio::test]
async fn a_cancelled_execution_stops() {
    let (control, seen) = (Control::default(), Control::default().cancel);
    let told = seen.clone();
    let graph = diamond()
        .replace("a", move |_| {
            told.cancel();
            std::future::pending::<Result<Add, NodeError>>()
        })
        .unwrap();
    let running = Execute { control: control.clone(), ..execute(&graph) };
    let (ran, ()) = tokio::join!(graph.run(Vec::new(), running), async {
        seen.cancelled().await;
        control.cancel.cancel();
    });
    assert_eq!(ran.stop, Stop::Drained);
}

/// E14
#[tokio::test(start_paused = true)]
async fn timings_tell_nodes_order_and_retries() {
    let graph = flaky(Fault::transient("busy")).compile().unwrap();
    let graph = graph
        .tune("flaky", |node| {
            node.retry(without_jitter());
        })
        .unwrap();
    let ran = run(&graph).await;
    let timings = Timings::of(&ran.machine, ran.active);
    assert_eq!(timings.line(), "7000.0 ms · flaky 7000.0 (3 retried)");
    assert_eq!(timings.order, ["flaky".into()]);
}

/// E9: an outage and a timeout are worth another try.
#[test]
fn what_is_worth_another_try() {
    let mut waits = without_jitter().waits();
    for (fault, tried) in [
        (Fault::transient("x"), true),
        (Fault::timeout("x"), true),
        (Fault::outage("x"), true),
        (Fault::permanent("x"), false),
    ] {
        assert_eq!(waits.after(&fault).is_some(), tried, "{:?}", fault.kind);
    }
    let mut patient = RetryPolicy { timeouts: false, ..without_jitter() }.waits();
    assert_eq!(patient.after(&Fault::timeout("x")), None);
    assert_eq!(Fault::timeout("x").kind, FaultKind::Timeout);
}
