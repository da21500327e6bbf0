//! Whole runs of the engine.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use verdict::{
    base::Clock,
    graph::{
        ClaimHow, Command, Context, END, Execute, Graph, GraphBuilder, NewSpec, NodeError, RunId,
        Runtime, Send, State, Stop,
        store::{Claimed, Letter, NewRun, Store},
        testing::Faults,
    },
};

use super::super::harness::*;
use crate::support::Firestore;

/// Characters that a store, a wire or a parser may treat in a way of its own.
const ODD: &str = "\0\u{1}\u{7f}\t\r\n\"'\\`$%/.~*[]<>&=; \u{85}\u{a0}\u{ad}ß\u{301}é\u{200b}\u{200e}\
    \u{202e}\u{2028}\u{2029}\u{2066}\u{feff}\u{e000}\u{fffd}\u{ffff}\u{1f469}\u{200d}\u{1f680}\u{10ffff}";

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
    let send = |n: u32| Send::with("part", &n);
    Ok(Command::goto((0..MANY).map(send).collect::<Result<Vec<_>, _>>()?))
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
    let runtime = runtime.clone().with_known_dead(|_| true);
    let how = ClaimHow { early: true, reopen: true };
    match runtime.claim(id, how).await.unwrap() {
        Claimed::Yours(lease, _) => runtime.execute(execute, lease).await.unwrap().stop,
        refused => panic!("{refused:?}"),
    }
}

/// Two workers that share nothing but the service.
async fn workers(server: &Firestore) -> [Runtime; 2] {
    let [one, other] = [super::on(server).await, super::on(server).await];
    [Runtime::new(one, Clock::system(), "one"), Runtime::new(other, Clock::system(), "other")]
}

/// E7: a state with every odd character and number is the same after a crash, on another worker,
/// field by field.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_characters_and_numbers_survive() {
    let server = Firestore::shared();
    let [one, other] = workers(&server).await;
    let mut graph = GraphBuilder::<Everything, ()>::new();
    graph.node("odd", odd);
    graph.node("numbers", numbers);
    graph.entry("odd").edge("odd", "numbers").edge("numbers", END);
    let graph = graph.compile().unwrap();
    let id = opened(&one, &graph).await;
    let execute = || Execute::new(graph.clone(), Arc::new(()));
    let crash = Execute { faults: Faults::default().crash_after(3), ..execute() };
    assert_eq!(executed(&one, crash, &id).await, Stop::Crashed);
    assert_eq!(executed(&other, execute(), &id).await, Stop::Completed);
    let (_, seen) = one.inspect::<Everything>(&id).await.unwrap();
    let state = seen.state().unwrap();
    assert_eq!(state.texts, [(ODD.to_owned(), ODD.repeat(20_000))].into());
    let bits = |numbers: &[f64]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    let expected = [0.0, -0.0, 0.1, f64::MIN, f64::MAX, f64::MIN_POSITIVE, f64::EPSILON];
    assert_eq!(bits(&state.numbers), bits(&expected));
    assert_eq!(state.integers, [i64::MIN, -1, 0, i64::MAX]);
    assert_eq!(state.large, [0, 1 << 53, (1 << 53) + 1, u64::MAX]);
    assert_eq!(state.flags, [None, Some(true), Some(false)]);
}

/// E6, E7: five thousand tasks in one step, cut off in the middle; another worker does the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_tasks_in_one_step() {
    let server = Firestore::shared();
    let [one, other] = workers(&server).await;
    let mut graph = GraphBuilder::<Everything, ()>::new();
    graph.node("fan", fan);
    graph.node("part", part);
    graph.entry("fan").sends("fan", ["part"]).edge("part", END);
    let graph = graph.compile().unwrap();
    let id = opened(&one, &graph).await;
    let execute = || Execute::new(graph.clone(), Arc::new(()));
    let crash = Execute { faults: Faults::default().crash_after(2_500), ..execute() };
    assert_eq!(executed(&one, crash, &id).await, Stop::Crashed);
    assert_eq!(one.store.head(&id).await.unwrap().unwrap().version, 2_500);
    assert_eq!(executed(&other, execute(), &id).await, Stop::Completed);
    let (head, seen) = one.inspect::<Everything>(&id).await.unwrap();
    assert_eq!(seen.state().unwrap().parts, (0..MANY).collect::<Vec<_>>());
    // started, fan, step, the tasks, step, finished
    assert!(head.version >= u64::from(MANY) + 4, "{}", head.version);
}

/// Every text of a head and of a letter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_characters_survive_in_heads_and_letters() {
    let server = Firestore::shared();
    let store = open_firestore(&server, None).await;
    let new = NewRun {
        workflow: ODD.into(),
        key: ODD.into(),
        subject: Some(ODD.into()),
        claim: Some(by(ODD)),
        asks: vec![(ODD.into(), Some(ODD.into()))],
        ..run("a")
    };
    let opened = store.open(new).await.unwrap();
    let mut op = append(&opened.lease.unwrap(), 1, &[ODD]);
    op.head.error = Some(ODD.into());
    let letter = Letter {
        id: ODD.into(),
        run: Some(id("a")),
        workflow: Some(ODD.into()),
        node: Some(ODD.into()),
        error: ODD.into(),
        headers: [(ODD.to_owned(), ODD.to_owned()), (String::new(), String::new())].into(),
        payload: ODD.into(),
        ..letter("l")
    };
    op.letter = Some(Box::new(letter.clone()));
    store.append(op).await.unwrap();
    let (head, records) =
        open_firestore(&server, None).await.load(&id("a"), 0).await.unwrap().unwrap();
    assert_eq!((head.workflow.as_str(), head.key.as_str()), (ODD, ODD));
    assert_eq!((head.subject.as_deref(), head.error.as_deref()), (Some(ODD), Some(ODD)));
    assert_eq!(head.lease.unwrap().owner, ODD);
    assert_eq!(records, [record("started"), record(ODD)]);
    assert_eq!(store.letter(ODD).await.unwrap(), Some(letter));
}
