//! E21, E26: graphs as nodes of graphs, in memory. `tests/it/graph` has the same on every store.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use verdict_graph::{
    HistoryEntry, Outline, ReopenFrom, StepRef,
    base::Clock,
    prelude::*,
    testing::{Checks, Faults},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Log(Vec<String>);

impl State for Log {
    type Input = Vec<String>;
    type Update = Vec<String>;
    fn new(input: Vec<String>) -> Self {
        Self(input)
    }
    fn merge(&mut self, update: Vec<String>) {
        self.0.extend(update);
    }
}

type Ctx = Context<Log, ()>;
type Flow = Graph<Log, ()>;
type Calls = Arc<Mutex<BTreeMap<String, u32>>>;

fn node(graph: &mut GraphBuilder<Log, ()>, name: &'static str, calls: &Calls) {
    let calls = calls.clone();
    graph.node(name, move |ctx: Ctx| {
        *calls.lock().unwrap().entry(ctx.path().name(ctx.node()).to_string()).or_default() += 1;
        async move { Ok(vec![name.to_owned()]) }
    });
}

/// plan → ask → act.
fn agent(calls: &Calls) -> Flow {
    let mut graph = GraphBuilder::new();
    node(&mut graph, "plan", calls);
    graph.node("ask", |ctx: Ctx| async move {
        let yes: String = ctx.interrupt("go", &format!("from {}", ctx.path()))?;
        Ok(vec![format!("ask={yes}")])
    });
    node(&mut graph, "act", calls);
    graph.entry("plan").edge("plan", "ask").edge("ask", "act").edge("act", END);
    graph.compile().unwrap()
}

fn wrap(inner: &Flow, name: &'static str, calls: &Calls) -> Flow {
    let mut graph = GraphBuilder::new();
    node(&mut graph, "begin", calls);
    node(&mut graph, "finish", calls);
    graph.subgraph(name, inner, |_| Ok(Vec::new()), |inner| inner.0.clone());
    graph.entry("begin").edge("begin", name).edge(name, "finish").edge("finish", END);
    graph.compile().unwrap()
}

fn spec() -> NewSpec<Vec<String>> {
    NewSpec::new("nested", 1, Vec::new())
}

#[tokio::test]
async fn depth_two_asks_once_and_goes_on() {
    let calls = Calls::default();
    let graph = wrap(&wrap(&agent(&calls), "agent", &calls), "team", &calls);
    let runtime = Runtime::in_memory();
    let ran = runtime.run(spec(), graph.with(())).await.unwrap();
    assert_eq!(ran.stop, Stop::Waiting(None));
    let open = &ran.machine.interrupts()[0];
    assert_eq!((&*open.id, open.request.get()), ("2.0/2.0/2.0.go", "\"from 2.team.0/2.agent.0\""));
    let before = calls.lock().unwrap().clone();
    let ran = runtime.answer(&ran.run, "go", &"yes", graph.with(())).await.unwrap();
    assert_eq!(
        ran.completed().unwrap().0,
        ["begin", "begin", "plan", "ask=yes", "act", "finish", "finish"]
    );
    let after = calls.lock().unwrap().clone();
    for (name, times) in &after {
        assert_eq!(*times, 1, "{name}");
    }
    assert!(before.contains_key("team/agent/plan") && !before.contains_key("team/agent/act"));
    // A fork inside.
    let at: StepRef = "2.0/2.0/1".parse().unwrap();
    let fork = runtime.fork::<Vec<String>>(&ran.run, at, false).await.unwrap();
    let forked = runtime.proceed(&fork, graph.with(())).await.unwrap();
    assert_eq!(forked.stop, Stop::Waiting(None));
    let forked = runtime.answer(&fork, "go", &"no", graph.with(())).await.unwrap();
    assert_eq!(
        forked.completed().unwrap().0,
        ["begin", "begin", "plan", "ask=no", "act", "finish", "finish"]
    );
    assert_eq!(calls.lock().unwrap()["team/agent/plan"], 1);
    assert_eq!(calls.lock().unwrap()["team/agent/act"], 2);
}

/// E13, E21: which tasks start follows from the records, those of subgraphs too, and is the same
/// whether the log was followed record by record or read up to one of them.
#[tokio::test]
async fn what_starts_follows_from_the_records() {
    let calls = Calls::default();
    let plain = agent(&calls).tune("act", |node| {
        node.retry(RetryPolicy::none());
    });
    let graph = wrap(&plain.unwrap(), "agent", &calls);
    let runtime = Runtime::in_memory();
    let ran = runtime.run(spec(), graph.with(())).await.unwrap();
    let faults = Faults::default().fail("agent/act", 1, Fault::transient("down"));
    let execute = Execute { faults, ..graph.with(()) };
    let ran = runtime.answer(&ran.run, "go", &"yes", execute).await.unwrap();
    let ran = runtime.proceed(&ran.run, graph.with(())).await.unwrap();
    assert!(ran.completed().is_ok());
    let (_, log) = runtime.store.load(&ran.run, 0).await.unwrap().unwrap();
    let (mut outline, mut starts) = (Outline::default(), Vec::new());
    for (at, record) in log.iter().enumerate() {
        let seq = at as u64 + 1;
        let entry = HistoryEntry::decode(seq, record).unwrap();
        let mut read = Outline::replay(&log[..at]);
        read.skip(outline.reported());
        let new: Vec<_> = std::iter::from_fn(|| outline.next_start()).collect();
        let again: Vec<_> = std::iter::from_fn(|| read.next_start()).collect();
        assert_eq!(new, again, "behind {at} records");
        if Outline::shows_started(&entry) {
            starts.extend(new.into_iter().map(|(_, task)| task.path.name(&task.node).to_string()));
        }
        match Outline::rewinds(&entry) {
            true => outline = Outline::replay(&log[..=at]),
            false => outline.take(seq, record),
        }
    }
    // What was asked about starts again once it is answered, what failed once it is tried again.
    let wanted = [
        "begin",
        "agent",
        "agent/plan",
        "agent/ask",
        "agent/ask",
        "agent/act",
        "agent",
        "agent/act",
        "finish",
    ];
    assert_eq!(starts, wanted);
}

#[tokio::test]
async fn every_crash_and_repeat() {
    let calls = Calls::default();
    let plain = agent(&calls).replace("ask", |_| async { Ok(vec!["ask".to_owned()]) }).unwrap();
    let graph = wrap(&wrap(&plain, "agent", &calls), "team", &calls);
    let checks = Checks {
        graph,
        deps: Arc::new(()),
        store: Arc::new(Memory::new(Clock::system())),
        input: Vec::new,
    };
    let crashes = checks.survives_every_crash().await.unwrap();
    assert!(crashes > 15, "{crashes}");
    assert_eq!(checks.every_node_may_run_twice().await.unwrap(), 9);
    assert_eq!(checks.every_node_may_fail().await.unwrap(), 9);
}

#[tokio::test]
async fn a_failure_inside_is_tried_again_where_it_failed() {
    let calls = Calls::default();
    let plain = agent(&calls).replace("ask", |_| async { Ok(vec!["ask".to_owned()]) }).unwrap();
    let plain = plain
        .tune("act", |node| {
            node.retry(RetryPolicy::none());
        })
        .unwrap();
    let graph = wrap(&wrap(&plain, "agent", &calls), "team", &calls);
    let runtime = Runtime::in_memory();
    let faults = Faults::default().fail("team/agent/act", 1, Fault::transient("down"));
    let execute = Execute { faults, ..graph.with(()) };
    let ran = runtime.run(spec(), execute).await.unwrap();
    let Stop::Failed(failure) = &ran.stop else { panic!("{}", ran.stop) };
    assert_eq!(failure.fault.message, "node `agent`: node `act`: down");
    let ran = runtime.proceed(&ran.run, graph.with(())).await.unwrap();
    assert_eq!(
        ran.completed().unwrap().0,
        ["begin", "begin", "plan", "ask", "act", "finish", "finish"]
    );
    assert_eq!(calls.lock().unwrap()["team/agent/plan"], 1);
    let reopen = Some(("again".to_owned(), ReopenFrom::Node("team".to_owned())));
    let ran = runtime.proceed(&ran.run, Execute { reopen, ..graph.with(()) }).await.unwrap();
    assert_eq!(ran.completed().unwrap().0.len(), 7);
    assert_eq!(calls.lock().unwrap()["team/agent/plan"], 2);
    assert_eq!(calls.lock().unwrap()["begin"], 1);

    // A retry of the node in the same execution.
    let graph = graph
        .tune("team", |node| {
            node.retry(RetryPolicy {
                retries: 1,
                first: std::time::Duration::from_millis(1),
                ..RetryPolicy::default()
            });
        })
        .unwrap();
    let faults = Faults::default().fail("team/agent/act", 1, Fault::transient("down"));
    let ran = runtime.run(spec(), Execute { faults, ..graph.with(()) }).await.unwrap();
    let act = ran.completed().unwrap().0.iter().filter(|n| *n == "act").count();
    assert_eq!(act, 1);
    assert_eq!(calls.lock().unwrap()["team/agent/plan"], 3);
}

/// E21: what a subgraph reads in the state around it is not recorded again.
#[tokio::test]
async fn a_subgraph_sees_the_state_around_it() {
    let mut inner = GraphBuilder::<Log, ()>::new();
    inner.node("look", |ctx: Ctx| async move {
        let again = Vec::from_iter(ctx.around::<Log>().map(|around| around.0.join("+")));
        let _: bool = ctx.interrupt("sure", &again)?;
        Ok(again)
    });
    inner.entry("look").edge("look", END);
    let inner = inner.compile().unwrap();
    let calls = Calls::default();
    let graph = wrap(&wrap(&inner, "deep", &calls), "flat", &calls);
    let runtime = Runtime::in_memory();
    let ran = runtime.run(spec(), graph.with(())).await.unwrap();
    assert_eq!(ran.machine.interrupts()[0].request.get(), r#"["begin"]"#);
    let ran = runtime.answer(&ran.run, "sure", &true, graph.with(())).await.unwrap();
    assert_eq!(ran.completed().unwrap().0, ["begin", "begin", "begin", "finish", "finish"]);
    let mut outermost = GraphBuilder::<Log, ()>::new();
    outermost.node("look", |ctx: Ctx| async move {
        Ok(Vec::from_iter(ctx.around::<Log>().map(|_| "around".to_owned())))
    });
    outermost.entry("look").edge("look", END);
    let outermost = outermost.compile().unwrap();
    let ran = runtime.run(spec(), outermost.with(())).await.unwrap();
    assert!(ran.completed().unwrap().0.is_empty(), "nothing is around the outermost graph");
}
