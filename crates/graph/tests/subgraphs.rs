//! E21, E26: graphs as nodes of graphs, in memory. `tests/it/graph` has the same on every store.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use verdict_graph::{
    ReopenFrom, StepRef,
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
