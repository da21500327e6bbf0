//! E13–E15: what is told while a run goes on, in order, to whoever listens; and what never is.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tracing::Level;
use tracing_subscriber::{filter::Targets, fmt::MakeWriter, layer::SubscriberExt};
use verdict::{
    base::{Clock, Fault},
    graph::{
        Context, EventEnvelope, Events, Execute, NodeError, Outcome, RetryPolicy, RunEvent, RunId,
        Stop, Timings,
    },
};

use super::{
    bench::{Bench, Calls, on_each},
    support::{Add, TestGraph, Words, diamond, execute, say},
};

type Ctx = Context<Words, ()>;

/// One line per event, as a subscriber would show it.
fn line(told: &EventEnvelope) -> String {
    let what = match &told.event {
        RunEvent::RunStarted { workflow, version } => format!("{workflow} from {version}"),
        RunEvent::NodeStarted { step, node, index } => format!("started {step}.{index} {node}"),
        RunEvent::NodeRetried { step, node, index, attempt, fault, wait_ms } => {
            format!("retried {step}.{index} {node} {attempt} {fault} {wait_ms}ms")
        }
        RunEvent::Progress { step, node, index, name, value } => {
            format!("progress {step}.{index} {node} {name}={value}")
        }
        RunEvent::NodeFinished { step, node, index, attempts, update, fault, .. } => {
            let fault = fault.as_ref().map(|fault| format!(" {fault}")).unwrap_or_default();
            let update = update.as_ref().map(Value::to_string).unwrap_or_default();
            format!("finished {step}.{index} {node} {attempts}x {update}{fault}")
        }
        RunEvent::StepFinished { step, next } => format!("step {step} → {}", next.join(" ")),
        RunEvent::Interrupted { id, node, request } => format!("asks {id} {node} {request}"),
        RunEvent::Parked { node, until, reason } => format!("parked {node} {until} {reason}"),
        RunEvent::RunPaused { why } => format!("paused: {why}"),
        RunEvent::RunFinished { outcome, active_ms } => format!("{outcome:?} {active_ms}ms"),
    };
    format!("{} {what}", told.seq)
}

fn lines(from: &mut broadcast::Receiver<EventEnvelope>) -> String {
    let told = std::iter::from_fn(|| from.try_recv().ok());
    told.map(|told| line(&told)).collect::<Vec<_>>().join("\n")
}

/// The diamond: a reports and asks, b fails once and is tried again.
fn lively() -> TestGraph {
    let graph = diamond()
        .replace("a", |context: Ctx| async move {
            context.progress("found", &json!({"candidates": 65, "secret": "hunter2"}));
            let name: String = context.interrupt("name", &json!({"for": "a", "secret": "x"}))?;
            Ok(Add::Secret(name))
        })
        .unwrap();
    let graph = Calls::default().failing(&graph, "b", 1, Fault::transient("busy"));
    let policy = RetryPolicy { jitter: false, ..RetryPolicy::default() };
    graph
        .tune("b", |node| {
            node.retry(policy);
        })
        .unwrap()
}

/// E13, E15
#[tokio::test(start_paused = true)]
async fn events_come_in_order_and_without_secrets() {
    let bench = Bench::memory();
    let graph = lively();
    let id = bench.open(&graph).await;
    let (to, mut from) = broadcast::channel(100);
    let told = || Events::new(id.clone(), bench.runtime.clock.clone(), to.clone());
    let ran = bench.execute(Execute { events: told(), ..execute(&graph) }, &id).await;
    assert_eq!(ran.stop, Stop::Waiting(None));
    insta::assert_snapshot!(lines(&mut from), @r#"
    1 words from 1
    2 started 1.0 ingest
    3 finished 1.0 ingest 1x {"Word":"ingest"}
    4 step 1 → a b c
    5 started 2.0 a
    6 progress 2.0 a found={"candidates":65,"secret":"[redacted]"}
    7 asks 2.0.name a {"for":"a","secret":"[redacted]"}
    8 started 2.1 b
    9 started 2.2 c
    10 retried 2.1 b 1 busy 1000ms
    11 finished 2.2 c 1x {"Word":"c"}
    12 finished 2.1 b 2x {"Word":"b"}
    13 paused: waits for an answer
    "#);
    bench.answer(&id, "2.0.name", "s3cret").await;
    let ran = bench.execute(Execute { events: told(), ..execute(&graph) }, &id).await;
    assert_eq!(ran.stop, Stop::Completed);
    insta::assert_snapshot!(lines(&mut from), @r#"
    1 words from 7
    2 started 2.0 a
    3 progress 2.0 a found={"candidates":65,"secret":"[redacted]"}
    4 finished 2.0 a 1x {"Secret":"[redacted]"}
    5 step 2 → judge
    6 started 3.0 judge
    7 finished 3.0 judge 1x {"Word":"judge"}
    8 step 3 → 
    9 Completed { revisit: None } 1000ms
    "#);
}

/// E13: whoever is told of a run is told when it will be looked at again.
#[tokio::test]
async fn the_end_tells_of_a_later_visit() {
    let bench = Bench::memory();
    let graph = Calls::default().failing(&diamond(), "b", 9, Fault::permanent("gone"));
    let graph = graph
        .tune("b", |node| {
            node.on_error_continue(|_| Add::Level(0));
        })
        .unwrap();
    let id = bench.open_with(&graph, &["revisit"]).await;
    let (to, mut from) = broadcast::channel(100);
    let events = Events::new(id.clone(), bench.runtime.clock.clone(), to);
    let _ = bench.execute(Execute { events, ..execute(&graph) }, &id).await;
    let last = std::iter::from_fn(|| from.try_recv().ok()).last().unwrap().event;
    let RunEvent::RunFinished { outcome: Outcome::Completed { revisit }, .. } = last else {
        panic!("{last:?}")
    };
    assert_eq!(revisit.unwrap().1, 2);
}

/// E13: somebody who never reads loses old events, keeps the newest, and the run does not wait.
#[tokio::test]
async fn a_slow_subscriber_slows_nobody() {
    on_each(async |bench| {
        let chatty = diamond()
            .replace("a", |context: Ctx| async move {
                for i in 0..10_000 {
                    context.progress("i", &i);
                }
                say(context).await
            })
            .unwrap();
        let id = bench.open(&chatty).await;
        let (to, mut slow) = broadcast::channel(16);
        let events = Events::new(id.clone(), Clock::system(), to);
        let ran = bench.execute(Execute { events, ..execute(&chatty) }, &id).await;
        assert_eq!(ran.stop, Stop::Completed);
        let Err(RecvError::Lagged(lost)) = slow.recv().await else { panic!("nothing was lost") };
        assert!(lost > 9_900, "{lost}");
        let kept: Vec<u64> = std::iter::from_fn(|| slow.try_recv().ok()).map(|t| t.seq).collect();
        assert_eq!(kept.len(), 16);
        assert!(kept.is_sorted(), "{kept:?}");
        assert_eq!(*kept.last().unwrap(), lost + 16, "the last event is among them");
    })
    .await;
}

/// E13: nobody listening, nothing is made.
#[test]
fn unheard_events_are_not_made() {
    let (to, from) = broadcast::channel(1);
    drop(from);
    let events = Events::new(RunId::random(), Clock::system(), to);
    assert!(!events.heard());
    events.emit(|| panic!("made"));
    Events::default().emit(|| panic!("made"));
}

/// What a subscriber of logs wrote.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Runs under a subscriber with this filter; answers what it wrote.
async fn logged(filter: &str, graph: &TestGraph) -> String {
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .without_time()
        .with_ansi(false)
        .with_writer(written.clone())
        .finish()
        .with(filter.parse::<Targets>().unwrap());
    let guard = tracing::subscriber::set_default(subscriber);
    let bench = Bench::memory();
    let id = bench.open(graph).await;
    let _ = bench.run(graph, &id).await;
    drop(guard);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    text.replace(id.as_str(), "RUN")
}

/// E14, E15: transitions are logged when asked for, never with what is sensitive; the end of a run
/// is one line with its timings.
#[tokio::test(start_paused = true)]
async fn transitions_are_logged_if_wanted_and_redacted() {
    let secret = |_: Ctx| async { Ok::<_, NodeError>(Add::Secret("hunter2".to_owned())) };
    let slow = |context: Ctx| async move {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        say(context).await
    };
    let graph = diamond().replace("a", secret).unwrap().replace("b", slow).unwrap();
    let text = logged("verdict::transitions=debug", &graph).await;
    insta::assert_snapshot!(text, @r#"
    DEBUG verdict::transitions: run=RUN step=1 node=ingest index=0 update={"Word":"ingest"}
    DEBUG verdict::transitions: run=RUN step=2 node=a index=0 update={"Secret":"[redacted]"}
    DEBUG verdict::transitions: run=RUN step=2 node=c index=2 update={"Word":"c"}
    DEBUG verdict::transitions: run=RUN step=2 node=b index=1 update={"Word":"b"}
    DEBUG verdict::transitions: run=RUN step=3 node=judge index=0 update={"Word":"judge"}
    "#);
    let text = logged("info", &graph).await;
    insta::assert_snapshot!(text, @r#"INFO verdict_graph::summary: run completed run=RUN workflow=words duration_s=1.5 timings="1500.0 ms · a 0.0 · b 1500.0 · c 0.0 · ingest 0.0 · judge 0.0""#);
}

/// E14: the metadata of a run are those of all its executions, as any process can read them.
#[tokio::test(start_paused = true)]
async fn timings_span_executions() {
    let bench = Bench::memory();
    let graph = lively();
    let id = bench.open(&graph).await;
    let _ = bench.run(&graph, &id).await;
    bench.answer(&id, "2.0.name", "x").await;
    let ran = bench.run(&graph, &id).await;
    let timings = Timings::of(&ran.machine, ran.active);
    assert_eq!(timings.total_ms, 1000.0);
    assert_eq!(timings.order.join(" "), "ingest c b a judge");
    assert_eq!(timings.retries.get("b"), Some(&1));
    let (head, seen) = bench.elsewhere().await.inspect::<Words>(&id).await.unwrap();
    assert_eq!(Timings::of(&seen, head.active), timings);
}
