//! E22, E23: deferred joins and idle timeouts.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::time::sleep;
use verdict_graph::{base::Clock, prelude::*, testing::Checks};

#[derive(Debug, Clone, Serialize)]
struct Names(Vec<String>);

impl State for Names {
    type Input = ();
    type Update = String;

    fn new((): ()) -> Self {
        Self(Vec::new())
    }

    fn merge(&mut self, update: String) {
        self.0.push(update);
    }
}

type Builder = GraphBuilder<Names, ()>;
type Ctx = Context<Names, ()>;

async fn say(context: Ctx) -> Result<String, NodeError> {
    Ok(context.node().to_string())
}

/// `edges` as "from to" pairs; the nodes in `deferred` are.
fn graph(edges: &str, deferred: &[&str]) -> Graph<Names, ()> {
    let mut graph = Builder::new();
    let mut known = vec![START, END];
    for pair in edges.split(", ") {
        let (from, to) = pair.split_once(' ').unwrap();
        for name in [from, to] {
            if !known.contains(&name) {
                known.push(name);
                let node = graph.node(name, say);
                if deferred.contains(&name) {
                    node.deferred();
                }
            }
        }
        graph.edge(from, to);
    }
    graph.compile().unwrap()
}

async fn order(graph: &Graph<Names, ()>) -> String {
    graph.run((), graph.with(())).await.completed().unwrap().0.join(" ")
}

const UNEQUAL: &str = "START a, START b, b c, c d, a join, d join, join END";

#[tokio::test]
async fn a_deferred_join_waits_for_the_longest_branch_and_runs_once() {
    assert_eq!(order(&graph(UNEQUAL, &[])).await, "a b join c d join");
    assert_eq!(order(&graph(UNEQUAL, &["join"])).await, "a b c d join");
}

#[tokio::test]
async fn a_join_waits_only_for_branches_that_lead_to_it() {
    let edges = "START a, START x, a join, x y, y z, z END, join end, end END";
    assert_eq!(order(&graph(edges, &["join"])).await, "a x join y end z");
}

#[tokio::test]
async fn joins_of_joins_run_in_their_order() {
    let edges = "START a, START b, a one, b two, b one, one two, two END";
    assert_eq!(order(&graph(edges, &["one", "two"])).await, "a b one two");
}

/// Two that lead to each other cannot both wait.
#[tokio::test]
async fn joins_in_a_cycle_do_not_block_each_other() {
    let mut graph = Builder::new();
    graph.node("a", say).deferred();
    graph.node("b", say).deferred();
    graph.edge(START, "a").edge(START, "b");
    graph.branch("a", ["b", END], |state| if state.0.len() < 3 { "b" } else { END });
    graph.branch("b", ["a", END], |state| if state.0.len() < 3 { "a" } else { END });
    let ran = order(&graph.compile().unwrap()).await;
    assert!(ran.starts_with("a b"), "{ran}");
}

#[tokio::test]
async fn a_join_survives_every_crash() {
    let checks = Checks {
        graph: graph(UNEQUAL, &["join"]),
        deps: Arc::new(()),
        store: Arc::new(Memory::new(Clock::system())),
        input: || (),
    };
    checks.survives_every_crash().await.unwrap();
}

/// A handler goes on alone, whatever waited.
#[tokio::test]
async fn an_error_handler_leaves_what_was_held() {
    let mut graph = Builder::new();
    for name in ["a", "b", "handler"] {
        graph.node(name, say);
    }
    graph.node("join", say).deferred();
    let broken = |_| async { Err::<String, _>(Fault::permanent("broken").into()) };
    graph.node("broken", broken).on_error_goto("handler");
    graph.edge(START, "a").edge(START, "b").edge("a", "join").edge("b", "broken");
    graph.edge("broken", "join").edge("join", END).edge("handler", END);
    assert_eq!(order(&graph.compile().unwrap()).await, "a b handler");
}

fn timed(limit: u64, steps: u64, every: u64) -> Graph<Names, ()> {
    let mut graph = Builder::new();
    let node = graph.node("fetch", move |context: Ctx| async move {
        for page in 0..steps {
            sleep(Duration::from_secs(every)).await;
            context.progress("page", &page);
        }
        Ok("fetched".to_owned())
    });
    node.idle_timeout(Duration::from_secs(limit)).retry(RetryPolicy::none());
    graph.entry("fetch").edge("fetch", END);
    graph.compile().unwrap()
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_idle_timeout_anew() {
    assert_eq!(order(&timed(5, 10, 4)).await, "fetched");
    let slow = timed(5, 10, 6);
    let ran = slow.run((), slow.with(())).await;
    let fault = ran.completed().unwrap_err();
    assert_eq!(fault, Fault::timeout("node `fetch` gave no sign of life for 5s"));
}

/// The wall time ends it all the same, and a subgraph's nodes speak for its task.
#[tokio::test(start_paused = true)]
async fn idle_and_wall_time_hold_together_and_around_subgraphs() {
    let wall = timed(5, 10, 4)
        .tune("fetch", |node| {
            node.timeout(Duration::from_secs(9));
        })
        .unwrap();
    let ran = wall.run((), wall.with(())).await;
    assert_eq!(ran.completed().unwrap_err(), Fault::timeout("node `fetch` took longer than 9s"));

    for (every, ends) in [(4, true), (6, false)] {
        let inner = timed(3600, 10, every);
        let mut graph = Builder::new();
        let node = graph.subgraph("inner", &inner, |_| Ok(()), |inner| inner.0.join(" "));
        node.idle_timeout(Duration::from_secs(5));
        graph.entry("inner").edge("inner", END);
        let graph = graph.compile().unwrap();
        let ran = graph.run((), graph.with(())).await;
        assert_eq!(ran.completed().is_ok(), ends, "{}", ran.stop);
    }
}
