//! Whole runs of the engine on every store: values that something on the way may treat in a way of
//! its own, a large state, many tasks in one step. One worker begins, another, which shares nothing
//! with it but the store, goes on.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use verdict::graph::{
    Command, Context, Dispatch, END, Execute, Graph, GraphBuilder, NewSpec, NodeError, RunId,
    Runtime, State, Stop, testing::Faults,
};

use super::harness::ODD;
use crate::graph::bench::{Bench, claim, on_each};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Everything {
    texts: BTreeMap<String, String>,
    numbers: Vec<f64>,
    integers: Vec<i64>,
    large: Vec<u64>,
    flags: Vec<Option<bool>>,
    parts: Vec<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Update {
    Text(String, String),
    Numbers(Vec<f64>, Vec<i64>, Vec<u64>, Vec<Option<bool>>),
    Part(u32),
}

impl State for Everything {
    type Input = String;
    type Update = Update;

    fn new(input: String) -> Self {
        Self { texts: [(input.clone(), input)].into(), ..Self::default() }
    }

    fn merge(&mut self, update: Update) {
        match update {
            Update::Text(key, text) => drop(self.texts.insert(key, text)),
            Update::Numbers(numbers, integers, large, flags) => {
                (self.numbers, self.integers) = (numbers, integers);
                (self.large, self.flags) = (large, flags);
            }
            Update::Part(part) => self.parts.push(part),
        }
    }
}

async fn odd(_: Context<Everything, ()>) -> Result<Update, NodeError> {
    Ok(Update::Text(ODD.to_owned(), ODD.repeat(20_000)))
}

async fn numbers(_: Context<Everything, ()>) -> Result<Update, NodeError> {
    Ok(Update::Numbers(
        vec![0.0, -0.0, 0.1, f64::MIN, f64::MAX, f64::MIN_POSITIVE, f64::EPSILON],
        vec![i64::MIN, -1, 0, i64::MAX],
        vec![0, 1 << 53, (1 << 53) + 1, u64::MAX],
        vec![None, Some(true), Some(false)],
    ))
}

const MANY: u32 = 5_000;

async fn fan(_: Context<Everything, ()>) -> Result<Command<Update>, NodeError> {
    let dispatch = |n: u32| Dispatch::with("part", &n);
    Ok(Command::goto((0..MANY).map(dispatch)))
}

async fn part(context: Context<Everything, ()>) -> Result<Update, NodeError> {
    Ok(Update::Part(context.input()?))
}

type Flow = Graph<Everything, ()>;

async fn opened(runtime: &Runtime, graph: &Flow) -> RunId {
    let new = NewSpec::new("everything", 1, ODD.to_owned());
    runtime.open(graph, new).await.unwrap().head.id
}

async fn executed(runtime: &Runtime, execute: Execute<Everything, ()>, id: &RunId) -> Stop {
    let lease = claim(runtime, id).await;
    runtime.execute(execute, lease).await.unwrap().stop
}

/// Executed by one worker until it dies behind its `records`-th record, then by another. Answers the
/// state that a third one sees.
async fn taken_over(bench: &Bench, graph: &Flow, records: u64) -> Arc<Everything> {
    let (one, other) = (&bench.runtime, bench.elsewhere().await);
    let id = opened(one, graph).await;
    let execute = || Execute::new(graph.clone(), Arc::new(()));
    let crash = Execute { faults: Faults::default().crash_after(records), ..execute() };
    assert_eq!(executed(one, crash, &id).await, Stop::Crashed);
    assert_eq!(one.store.head(&id).await.unwrap().unwrap().version, records);
    assert_eq!(executed(&other, execute(), &id).await, Stop::Completed);
    let (_, seen) = bench.elsewhere().await.inspect::<Everything>(&id).await.unwrap();
    seen.state().unwrap().clone()
}

/// E7: a state with every odd character and number is the same on another worker, field by field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_characters_and_numbers_survive() {
    let mut graph = GraphBuilder::<Everything, ()>::new();
    graph.node("odd", odd);
    graph.node("numbers", numbers);
    graph.entry("odd").edge("odd", "numbers").edge("numbers", END);
    let graph = graph.compile().unwrap();
    on_each(async |bench| {
        let state = taken_over(bench, &graph, 3).await;
        assert_eq!(state.texts, [(ODD.to_owned(), ODD.repeat(20_000))].into());
        let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        let expected = [0.0, -0.0, 0.1, f64::MIN, f64::MAX, f64::MIN_POSITIVE, f64::EPSILON];
        assert_eq!(bits(&state.numbers), bits(&expected));
        assert_eq!(state.integers, [i64::MIN, -1, 0, i64::MAX]);
        assert_eq!(state.large, [0, 1 << 53, (1 << 53) + 1, u64::MAX]);
        assert_eq!(state.flags, [None, Some(true), Some(false)]);
    })
    .await;
}

/// E6, E7: five thousand tasks in one step, cut off in the middle; another worker does the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_tasks_in_one_step() {
    let mut graph = GraphBuilder::<Everything, ()>::new();
    graph.node("fan", fan);
    graph.node("part", part);
    graph.entry("fan").dispatches("fan", ["part"]).edge("part", END);
    let graph = graph.compile().unwrap();
    on_each(async |bench| {
        let state = taken_over(bench, &graph, 2_500).await;
        assert_eq!(state.parts, (0..MANY).collect::<Vec<_>>());
    })
    .await;
}

const LARGE: usize = 20 << 20;

/// Of every printable character that nothing escapes: it does not get much smaller.
fn noise() -> String {
    let mut random = fastrand::Rng::with_seed(20);
    std::iter::repeat_with(|| random.char('#'..='[')).take(LARGE).collect()
}

async fn large(_: Context<Everything, ()>) -> Result<Update, NodeError> {
    Ok(Update::Text("large".to_owned(), noise()))
}

/// What another worker has in hand is the same, or this node fails.
async fn compared(context: Context<Everything, ()>) -> Result<Update, NodeError> {
    assert!(context.state().texts["large"] == noise(), "it came back changed");
    Ok(Update::Part(1))
}

/// E7: a state of 20 MiB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_of_twenty_mebibytes_survives() {
    let mut graph = GraphBuilder::<Everything, ()>::new();
    graph.node("large", large);
    graph.node("compared", compared);
    graph.entry("large").edge("large", "compared").edge("compared", END);
    let graph = graph.compile().unwrap();
    on_each(async |bench| {
        let state = taken_over(bench, &graph, 3).await;
        assert_eq!(state.texts.len(), 2);
        assert_eq!(state.texts[ODD], ODD);
        assert!(state.texts["large"] == noise(), "it came back changed");
        assert_eq!(state.parts, [1]);
    })
    .await;
}
