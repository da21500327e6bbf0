//! A workflow that does what the test says, and a worker on real parts.
//!
//! The workflow `play` has three nodes, `prepare`, `work` and `publish`. What `work` does is the next
//! [`Act`] the test has put up for the run; when none is left it succeeds.

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use verdict::{
    app::QueueNotifier,
    base::{Clock, Fault, ManualClock, Result, Timestamp, key_value::KeyValueStore},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{
        Context, END, Graph, GraphBuilder, GraphError, Head, NodeError, RetryPolicy, RunId,
        RunStatus, Runtime, State,
        store::{Letter, LetterFilter, LetterState, RunFilter, Store},
    },
    queue::{
        DeadLetter, Depth, JOB_TYPE, Message, Queue,
        embedded::{self, Embedded},
        header, peek_dead,
    },
    runs::{Replayed, Runs},
    worker::{Options, Status, Worker},
    workflows::{Admission, Bound, Event, Registry, Start, Workflow, read_input},
};

use crate::support::eventually;

/// What `work` does next.
#[derive(Debug, Clone)]
pub enum Act {
    Fail(Fault),
    Panic,
    Ask,
    Park(Duration),
    /// Waits for an event by its key, for so long.
    Await(&'static str, Duration),
    /// Stands still until the stage is [opened](Stage::open).
    Stand,
    /// The same, and then fails.
    StandAndFail(Fault),
}

/// A run's input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    pub name: String,
    pub subject: Option<String>,
    pub order: i64,
    pub settles: bool,
    /// `ignore`, `cancel`, or a part to be played.
    pub event: Option<String>,
}

pub fn part(name: &str) -> Part {
    Part { name: name.to_owned(), ..Part::default() }
}

pub fn about(name: &str, subject: &str, order: i64) -> Part {
    Part { subject: Some(subject.to_owned()), order, ..part(name) }
}

#[derive(Debug, Clone, Serialize)]
pub struct Scene {
    pub part: Part,
    pub done: Vec<String>,
}

impl State for Scene {
    type Input = Part;
    type Update = String;

    fn new(part: Part) -> Self {
        Self { part, done: Vec::new() }
    }

    fn merge(&mut self, update: String) {
        self.done.push(update);
    }
}

/// What is to be done, and what was.
pub struct Stage {
    clock: Clock,
    acts: Mutex<HashMap<String, VecDeque<Act>>>,
    refusals: Mutex<HashMap<String, VecDeque<Fault>>>,
    ran: Mutex<Vec<String>>,
    standing: watch::Sender<usize>,
    opened: CancellationToken,
}

impl Stage {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            acts: Mutex::default(),
            refusals: Mutex::default(),
            ran: Mutex::default(),
            standing: watch::Sender::new(0),
            opened: CancellationToken::new(),
        }
    }

    pub fn put_up(&self, name: &str, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().unwrap().entry(name.to_owned()).or_default().extend(acts);
    }

    /// The next admissions of this part fail.
    pub fn refuse(&self, name: &str, faults: impl IntoIterator<Item = Fault>) {
        self.refusals.lock().unwrap().entry(name.to_owned()).or_default().extend(faults);
    }

    /// The nodes that were run for this part, in order.
    pub fn ran(&self, name: &str) -> Vec<String> {
        let ran = self.ran.lock().unwrap();
        let of = |line: &String| Some(line.strip_prefix(name)?.strip_prefix(' ')?.to_owned());
        ran.iter().filter_map(of).collect()
    }

    /// Waits until so many nodes stand still.
    pub async fn stand(&self, nodes: usize) {
        let mut standing = self.standing.subscribe();
        let there = standing.wait_for(|now| *now >= nodes);
        tokio::time::timeout(crate::support::PATIENCE, there).await.unwrap().unwrap();
    }

    /// Lets all go on that stand still, now and later.
    pub fn open(&self) {
        self.opened.cancel();
    }
}

async fn act(context: Context<Scene, Arc<Stage>>) -> Result<String, NodeError> {
    let (stage, name, node) = (context.deps(), &context.state().part.name, context.node());
    stage.ran.lock().unwrap().push(format!("{name} {node}"));
    let next = match &**node {
        "work" => stage.acts.lock().unwrap().get_mut(name).and_then(VecDeque::pop_front),
        _ => None,
    };
    match next {
        None => {}
        Some(Act::Fail(fault)) => return Err(fault.into()),
        Some(Act::Panic) => panic!("as the test wished"),
        Some(Act::Ask) => {
            let _: bool = context.interrupt("go on", &"may it?")?;
        }
        Some(Act::Await(key, within)) => {
            let until = stage.clock.now().plus(within);
            let came = context.wait_for_event::<String>(key, until).inspect_err(|_| {
                // Woken, it waits for the same.
                stage.put_up(name, [Act::Await(key, within)]);
            })?;
            return Ok(format!("{node} {came:?}"));
        }
        Some(Act::Park(by)) => return Err(context.park(stage.clock.now().plus(by), "patience")),
        Some(Act::Stand) => {
            stage.standing.send_modify(|standing| *standing += 1);
            stage.opened.cancelled().await;
        }
        Some(Act::StandAndFail(fault)) => {
            stage.standing.send_modify(|standing| *standing += 1);
            stage.opened.cancelled().await;
            return Err(fault.into());
        }
    }
    Ok(node.to_string())
}

pub struct Play;

#[async_trait]
impl Workflow for Play {
    const NAME: &'static str = "play";
    const VERSION: u32 = 1;
    type State = Scene;
    type Deps = Arc<Stage>;

    fn graph() -> Result<Graph<Scene, Arc<Stage>>, GraphError> {
        let mut graph = GraphBuilder::new();
        for node in ["prepare", "work", "publish"] {
            graph.node(node, act).retry(RetryPolicy::none());
        }
        graph.entry("prepare").edge("prepare", "work").edge("work", "publish").edge("publish", END);
        graph.compile()
    }

    async fn admit(stage: &Arc<Stage>, event: &Event) -> Result<Admission<Part>> {
        let Event::Job { input, .. } = event else {
            return Ok(Admission::Ignore { reason: "no job".into() });
        };
        let part: Part = read_input(Self::NAME, input)?;
        let refusal =
            stage.refusals.lock().unwrap().get_mut(&part.name).and_then(VecDeque::pop_front);
        if let Some(fault) = refusal {
            return Err(fault);
        }
        Ok(match part.event.as_deref() {
            Some("ignore") => Admission::Ignore { reason: "told to".into() },
            Some(_) => Admission::Cancel { subject: part.subject.unwrap_or_default() },
            None => Admission::Start(Start {
                key: part.name.clone(),
                subject: part.subject.clone(),
                order: part.order,
                settles: part.settles,
                input: part,
            }),
        })
    }
}

/// The message that asks for this part.
pub fn message(part: &Part) -> Message {
    let body = json!({"workflow": "play", "input": part}).to_string();
    Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE)
}

/// Store, queue and time of one test.
pub struct Hall {
    pub file: PathBuf,
    pub store: Arc<dyn Store>,
    pub queue: Arc<Embedded>,
    pub runtime: Runtime,
    pub stage: Arc<Stage>,
    pub options: Options,
    hand: ManualClock,
    clock: Clock,
    _folder: TempDir,
}

pub const VISIBILITY: Duration = Duration::from_secs(30);

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Waits until the run has this status and nobody holds it.
pub async fn becomes(store: &dyn Store, name: &str, status: RunStatus) -> Head {
    eventually(&format!("{name} becomes {status}"), async || {
        let head = store.head(&id(name)).await.unwrap()?;
        (head.status == status && head.lease.is_none()).then_some(head)
    })
    .await
}

impl Hall {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verdict.db");
        let (clock, hand) = Clock::manual(Timestamp(1_700_000_000_000));
        let options = SqliteOptions {
            clock: clock.clone(),
            busy_timeout: Duration::from_millis(200),
            ..SqliteOptions::default()
        };
        let db = Sqlite::open(&file, options).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(db.clone()));
        let poll = Duration::from_millis(5);
        let visible =
            embedded::Options { visibility: VISIBILITY, poll, ..embedded::Options::default() };
        Self {
            file,
            runtime: Runtime::new(store.clone(), clock.clone(), "worker"),
            queue: Arc::new(Embedded::open(db, visible)),
            store,
            stage: Arc::new(Stage::new(clock.clone())),
            options: Options {
                concurrency: 4,
                lease: Duration::from_millis(300),
                sweep: Duration::from_millis(20),
                sweep_margin: seconds(5),
                reconcile: Duration::from_millis(20),
                backoff: vec![seconds(10), seconds(60)],
                ..Options::default()
            },
            hand,
            clock,
            _folder: folder,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets the time of store and queue pass.
    pub fn pass(&self, time: Duration) {
        self.hand.advance(time);
    }

    pub fn registry(&self) -> Registry {
        Registry::new().with(Bound::<Play>::new(self.stage.clone()).unwrap())
    }

    pub fn driver(&self) -> Runs {
        let notifier = Arc::new(QueueNotifier::new(self.queue.clone()));
        Runs::new(self.runtime.clone(), self.registry(), notifier)
    }

    /// A worker at work.
    pub fn worker(&self) -> Working {
        let queue: Arc<dyn Queue> = self.queue.clone();
        Working::start(Worker::new(self.driver(), queue, self.options.clone()))
    }

    /// One that sweeps a key-value store, too.
    pub fn worker_beside(&self, key_values: Arc<dyn KeyValueStore>) -> Working {
        let queue: Arc<dyn Queue> = self.queue.clone();
        let worker = Worker::new(self.driver(), queue, self.options.clone());
        Working::start(worker.with_key_values(key_values))
    }

    pub async fn send(&self, part: &Part) {
        self.post(message(part)).await;
    }

    pub async fn post(&self, message: Message) {
        self.queue.publish(message, Duration::ZERO).await.unwrap();
    }

    pub async fn head(&self, name: &str) -> Option<Head> {
        self.store.head(&id(name)).await.unwrap()
    }

    pub async fn becomes(&self, name: &str, status: RunStatus) -> Head {
        becomes(&*self.store, name, status).await
    }

    /// Waits until so many messages wait for their time, and there are no others.
    pub async fn settled(&self, delayed: u64) {
        let wanted = (Some(0), Some(0), Some(delayed));
        eventually(&format!("only {delayed} delayed messages are left"), async || {
            let depth = self.depth().await;
            ((depth.ready, depth.in_hand, depth.delayed) == wanted).then_some(())
        })
        .await;
    }

    /// Waits until so many messages are ready and none is in hand: a consumer that has just gone may
    /// have taken one, and hands it back.
    pub async fn waiting(&self, ready: u64) {
        eventually(&format!("{ready} messages are ready"), async || {
            let depth = self.depth().await;
            ((depth.ready, depth.in_hand) == (Some(ready), Some(0))).then_some(())
        })
        .await;
    }

    /// Waits until the queue is empty, letting time pass: a message that found its run in the
    /// sweep's hands waits for the lease first.
    pub async fn empties(&self) {
        self.empties_passing(Duration::from_millis(10)).await;
    }

    /// The same where a message may have been put off: so much time passes between two looks.
    pub async fn empties_passing(&self, time: Duration) {
        eventually("the queue is empty", async || {
            self.pass(time);
            let depth = self.depth().await;
            let left = [depth.ready, depth.in_hand, depth.delayed];
            (left == [Some(0); 3]).then_some(())
        })
        .await;
    }

    /// The queue's dead letters.
    pub async fn dead(&self) -> Vec<DeadLetter> {
        peek_dead(&*self.queue, 10).await.unwrap()
    }

    pub async fn replay(&self, letter: &str) -> Replayed {
        self.close(letter, LetterState::Replayed).await
    }

    pub async fn discard(&self, letter: &str) -> Replayed {
        self.close(letter, LetterState::Discarded).await
    }

    async fn close(&self, letter: &str, to: LetterState) -> Replayed {
        let mut closed = None;
        self.driver().close_each(&[letter.to_owned()], to, |_, answer| closed = Some(answer)).await;
        closed.unwrap().unwrap()
    }

    pub async fn depth(&self) -> Depth {
        self.queue.depth().await.unwrap()
    }

    /// All letters, the newest first.
    pub async fn all_letters(&self) -> Vec<Letter> {
        self.store.letters(&LetterFilter::default()).await.unwrap()
    }

    /// Waits for the only letter, confirmed by the queue, which shows it too.
    pub async fn only_letter(&self) -> Letter {
        let letter = eventually("a confirmed letter", async || {
            let letters = self.all_letters().await;
            assert!(letters.len() <= 1, "{letters:?}");
            letters.into_iter().find(|letter| letter.confirmed)
        })
        .await;
        let dead = self.dead().await;
        assert_eq!(dead.len(), 1);
        assert_eq!(dead[0].id, letter.id);
        assert_eq!(json!(letter.reason), json!(dead[0].reason));
        self.store.letter(&letter.id).await.unwrap().unwrap()
    }

    pub async fn runs(&self) -> usize {
        self.store.list(&RunFilter::default()).await.unwrap().len()
    }

    /// The kinds of the run's records, in order.
    pub async fn kinds(&self, name: &str) -> Vec<&'static str> {
        let history = self.runtime.history(&id(name)).await.unwrap();
        history.into_iter().map(|entry| entry.meta.kind()).collect()
    }

    /// Whatever the worker could do now is done: something sent later has come to its end.
    pub async fn all_quiet(&self) {
        let last = part(&format!("quiet {}", fastrand::u64(..)));
        self.send(&last).await;
        self.becomes(&last.name, RunStatus::Completed).await;
    }
}

pub fn id(name: &str) -> RunId {
    RunId::of("play", name)
}

/// A worker at work.
pub struct Working {
    pub worker: Worker,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Working {
    pub fn start(worker: Worker) -> Self {
        let stop = CancellationToken::new();
        let (running, until) = (worker.clone(), stop.clone());
        let task = tokio::spawn(async move { running.run(until).await });
        Self { worker, stop, task }
    }

    /// Tells it to stop.
    pub fn told_to_stop(&self) {
        self.stop.cancel();
    }

    /// Stops it and waits for its end.
    pub async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(crate::support::PATIENCE, self.task).await.unwrap().unwrap();
    }

    /// Waits for a status like this.
    pub async fn is(&self, wanted: impl Fn(&Status) -> bool) -> Status {
        let mut status = self.worker.status();
        let found =
            tokio::time::timeout(crate::support::PATIENCE, status.wait_for(|now| wanted(now)));
        found.await.unwrap().unwrap().clone()
    }
}
