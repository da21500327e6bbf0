//! A workflow that costs next to nothing, and what must be true of its runs in the end.
//!
//! What a run publishes is a line in a file, marked with the task's idempotency key, as a forge's
//! comment would be. Every node leaves a line in another file as it begins. An event is a number,
//! which is its run's key.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use verdict::{
    base::{Clock, Fault, Result},
    graph::{
        Context, END, Graph, GraphBuilder, GraphError, HistoryEntry, Meta, NodeError, RunStatus,
        Runtime, State,
        store::{LetterFilter, RunFilter},
    },
    queue::{JOB_TYPE, Message, Queue, header},
    workflows::{Admission, Event, Start, Workflow, read_input},
};

use crate::support::{PATIENCE, pass, until};

/// Numbers from here on stand still in `ingest` until the [gate](open_gate) is open.
pub const HELD: u64 = 1_000_000;
/// Numbers from here on then fail for good in `judge`.
pub const FAILING: u64 = 2_000_000;

/// The nodes of the workflow.
const NODES: [&str; 7] = ["ingest", "a", "b", "c", "d", "judge", "publish"];

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Count {
    number: u64,
    seen: Vec<String>,
}

impl State for Count {
    type Input = u64;
    type Update = String;

    fn new(number: u64) -> Self {
        Self { number, seen: Vec::new() }
    }

    fn merge(&mut self, update: String) {
        self.seen.push(update);
    }
}

/// ingest → four side by side → judge → publish, each waiting as if for somebody else. Works in a
/// folder.
pub struct Counting;

async fn node(context: Context<Count, PathBuf>) -> Result<String, NodeError> {
    let number = context.state().number;
    let now = Clock::system().now().0;
    append(&context.deps().join("begun"), &format!("{number} {} {now}\n", context.node()));
    pass(Duration::from_millis(5 + number % 20)).await;
    match &**context.node() {
        "ingest" if number >= HELD => {
            let gate = context.deps().join("gate");
            until("the gate opens", || gate.exists()).await;
        }
        "judge" if number >= FAILING => return Err(Fault::permanent("as wanted").into()),
        "publish" => {
            let line = format!("{number} {}\n", context.idempotency_key());
            append(&context.deps().join("published"), &line);
        }
        _ => {}
    }
    Ok(format!("{} {number}", context.node()))
}

/// One write, so that lines of several processes stay whole.
fn append(file: &Path, line: &str) {
    let file = fs::File::options().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).unwrap();
}

#[async_trait]
impl Workflow for Counting {
    const NAME: &'static str = "counting";
    const VERSION: u32 = 1;
    type State = Count;
    type Deps = PathBuf;

    fn graph() -> Result<Graph<Count, PathBuf>, GraphError> {
        let mut graph = GraphBuilder::new();
        for name in NODES {
            graph.node(name, node);
        }
        graph.entry("ingest").edge("judge", "publish").edge("publish", END);
        for agent in ["a", "b", "c", "d"] {
            graph.edge("ingest", agent).edge(agent, "judge");
        }
        graph.compile()
    }

    async fn admit(_: &PathBuf, event: &Event) -> Result<Admission<u64>> {
        let Event::Job { input, .. } = event else {
            return Ok(Admission::Ignore { reason: "no job".into() });
        };
        let input: u64 = read_input(Self::NAME, input)?;
        let key = input.to_string();
        Ok(Admission::Start(Start { key, subject: None, order: 0, settles: false, input }))
    }
}

/// An event.
fn message(number: u64) -> Message {
    let body = json!({"workflow": Counting::NAME, "input": number}).to_string();
    Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE)
}

/// Publishes an event again and again, until the queue has taken it: twice is once, its key says so.
pub async fn put(queue: &dyn Queue, number: u64) {
    put_and(queue, number, || {}).await;
}

/// The same; tells of each time the queue did not.
pub async fn put_and(queue: &dyn Queue, number: u64, refused: impl Fn()) {
    let began = Instant::now();
    while let Err(error) = queue.publish(message(number), Duration::ZERO).await {
        assert!(error.is_transient(), "not for good, but: {error}");
        assert!(began.elapsed() < PATIENCE, "event {number} is refused: {error}");
        refused();
        pass(Duration::from_millis(10)).await;
    }
}

/// Lets the runs go on that stand still in this folder.
pub fn open_gate(folder: &Path) {
    fs::write(folder.join("gate"), "").unwrap();
}

/// Every one of these events, and nothing else, has one completed run; no task finished twice, none
/// was begun again after it had finished, nothing holds a lease, nothing was given up, and every
/// result was published under one key. Answers how many lines were written again, under that key.
pub async fn check(runtime: &Runtime, folder: &Path, events: &BTreeSet<u64>) -> usize {
    let heads = runtime.store.list(&RunFilter::default()).await.unwrap();
    let keys: BTreeSet<u64> = heads.iter().map(|head| head.key.parse().unwrap()).collect();
    assert_eq!((heads.len(), &keys), (events.len(), events));
    let begun = begun(&folder.join("begun"));
    for head in &heads {
        assert_eq!(head.status, RunStatus::Completed, "{head:?}");
        assert_eq!((&head.lease, head.executions), (&None, 0));
        let mut finished = BTreeSet::new();
        for HistoryEntry { at, meta, .. } in runtime.history(&head.id).await.unwrap() {
            if let Meta::TaskFinished { node, .. } = meta {
                let last = begun[&(head.key.parse().unwrap(), node.to_string())];
                assert!(last <= at.0, "{node} of {} began at {last}, finished at {at:?}", head.key);
                assert!(finished.insert(node), "finished twice: {head:?}");
            }
        }
        assert_eq!(finished.len(), NODES.len(), "{head:?}");
    }
    assert_eq!(runtime.store.letters(&LetterFilter::default()).await.unwrap(), []);
    check_published(&folder.join("published"), events)
}

/// When each node of each run last began.
fn begun(file: &Path) -> HashMap<(u64, String), i64> {
    let mut begun = HashMap::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        let [number, node, at] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (number, at): (u64, i64) = (number.parse().unwrap(), at.parse().unwrap());
        let last = begun.entry((number, node.to_owned())).or_insert(at);
        *last = at.max(*last);
    }
    begun
}

/// A line may stand there twice with its key, when the worker died or lost its run between writing
/// it and recording that: that is what the key is for.
fn check_published(file: &Path, events: &BTreeSet<u64>) -> usize {
    let text = fs::read_to_string(file).unwrap();
    let mut keys: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for line in text.lines() {
        let (number, key) = line.split_once(' ').unwrap();
        keys.entry(number.parse().unwrap()).or_default().push(key);
    }
    assert!(keys.keys().eq(events), "some event was never published, or one that never was");
    for (number, keys) in &keys {
        assert!(keys.iter().all(|key| *key == keys[0]), "{number}: {keys:?}");
    }
    keys.values().map(|keys| keys.len() - 1).sum()
}
