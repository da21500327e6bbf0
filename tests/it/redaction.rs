//! What a state marks as sensitive is shown nowhere: not in events, logs, looks at the run, refusals
//! or dead letters.

use std::{
    io,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::to_raw_value};
use tokio::sync::broadcast;
use tracing::Level;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt};
use verdict::{
    app::QueueNotifier,
    base::{Clock, Result},
    checkpoint::Memory,
    db::{Sqlite, SqliteOptions},
    graph::{
        Context, END, Envelope, Events, Graph, GraphBuilder, GraphError, LeasedRun, NodeError,
        RunId, Runtime, State, Stop, Store,
    },
    queue::embedded::{Embedded, Options as QueueOptions},
    runs::Runs,
    workflows::{
        Admission, AnyWorkflow, Bound, Event, Options, Registry, Start, Workflow, read_input,
    },
};

const SECRET: &str = "hunter2";

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Opening {
    name: String,
    pin: String,
    tries: u32,
}

#[derive(Debug, Clone, Serialize)]
struct Safe {
    opening: Opening,
    inner: Vec<Opening>,
}

impl State for Safe {
    type Input = Opening;
    type Update = Opening;
    const SENSITIVE: &'static [&'static str] = &["pin"];

    fn new(opening: Opening) -> Self {
        Self { opening, inner: Vec::new() }
    }

    fn merge(&mut self, update: Opening) {
        self.inner.push(update);
    }
}

struct Vault;

#[async_trait]
impl Workflow for Vault {
    const NAME: &'static str = "vault";
    const VERSION: u32 = 1;
    type State = Safe;
    type Deps = ();

    fn graph() -> std::result::Result<Graph<Safe, ()>, GraphError> {
        let mut graph = GraphBuilder::new();
        graph.node("open", |context: Context<Safe, ()>| async move {
            let opening = context.state().opening.clone();
            context.progress("opening", &opening);
            Ok::<_, NodeError>(opening)
        });
        graph.node("ask", |context: Context<Safe, ()>| async move {
            let opening = &context.state().opening;
            context.interrupt::<Opening>("key", &json!({"for": opening}))
        });
        graph.entry("open").edge("open", "ask").edge("ask", END);
        graph.compile()
    }

    fn render(state: &Safe) -> Option<String> {
        Some(format!("{state:?}"))
    }

    async fn admit((): &(), event: &Event) -> Result<Admission<Opening>> {
        let Event::Job { input, key, .. } = event else {
            return Ok(Admission::Ignore { reason: "no job".into() });
        };
        let input = read_input(Self::NAME, input)?;
        Ok(Admission::Start(Start {
            key: key.clone(),
            subject: None,
            order: 0,
            settles: false,
            input,
        }))
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn opening() -> Value {
    json!({"name": "front", "pin": SECRET, "tries": 1})
}

/// A turn at the run; answers how it ended and what was told.
async fn turn(vault: &Bound<Vault>, runtime: &Runtime, held: LeasedRun) -> (Stop, String) {
    let sender = broadcast::Sender::new(100);
    let mut told = sender.subscribe();
    let events = Events::new(held.lease.run.clone(), Clock::system(), sender);
    let options = Options { events, ..Options::default() };
    let ran = vault.execute(runtime, held, options).await.unwrap();
    let stop = ran.stop().clone();
    drop(ran);
    let mut text = String::new();
    while let Ok(event) = told.try_recv() {
        text += &serde_json::to_string(&event).unwrap();
        text += &format!("{event:?}\n");
    }
    (stop, text)
}

fn clean(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "{what}: {text}");
}

/// Everything of the run that can be looked at from outside.
async fn looks(vault: &Bound<Vault>, runtime: &Runtime, run: &RunId) -> String {
    let seen = vault.inspect(runtime, run).await.unwrap();
    let shown = format!("{seen:?} {}", seen.state);
    let start = vault.checkpoint(runtime, run, 0).await.unwrap();
    let history = runtime.history(run).await.unwrap();
    format!("{shown} {start} {history:?}")
}

/// E15: a run that asks, is answered with what does not fit, and fails.
#[tokio::test]
async fn what_is_sensitive_is_shown_nowhere() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_writer(move || writer.clone())
        .finish()
        .with(Targets::new().with_target("verdict", Level::TRACE));
    let _guard = tracing::subscriber::set_default(subscriber);

    let vault = Bound::<Vault>::new(()).unwrap();
    let store: Arc<dyn Store> = Arc::new(Memory::new(Clock::system()));
    let runtime = Runtime::new(store, Clock::system(), "test");
    let input = to_raw_value(&opening()).unwrap().into();
    let start = Start { key: "k".to_owned(), subject: None, order: 0, settles: false, input };
    let begun = vault.open(&runtime, start, None, None).await.unwrap();
    let run = begun.head.id.clone();
    let (stop, told) = turn(&vault, &runtime, begun.held.unwrap()).await;
    assert_eq!(stop, Stop::Waiting(None));
    assert_eq!(told.matches("[redacted]").count(), 6, "progress, update and request: {told}");
    clean("events", &told);
    let shown = looks(&vault, &runtime, &run).await;
    assert!(shown.matches("[redacted]").count() >= 4, "{shown}");
    clean("looks", &shown);
    assert_eq!(vault.inspect(&runtime, &run).await.unwrap().rendered, None);

    let unfit = json!({"name": "front", "pin": "x", "tries": SECRET});
    let unfit = to_raw_value(&unfit).unwrap();
    let _ = runtime.resume(&run, "2.0.key", &unfit).await.unwrap();
    let how = verdict::graph::ClaimHow { early: true, reopen: false };
    let claimed = runtime.claim(&run, how).await.unwrap();
    let verdict::graph::store::Claimed::Yours(lease, _) = claimed else { panic!("{claimed:?}") };
    let (stop, told) = turn(&vault, &runtime, lease.into()).await;
    let Stop::Failed(failure) = stop else { panic!("{stop:?}") };
    let why = "the answer to `key` is unfit: invalid type: string, expected u32";
    assert!(failure.fault.to_string().contains(why), "{failure:?}");
    clean("events", &told);
    clean("looks", &looks(&vault, &runtime, &run).await);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("verdict::transitions"), "{log}");
    clean("log", &log);
}

/// What is refused at the door, and what is given up, is told without what was sent.
#[tokio::test]
async fn refusals_and_letters_keep_it_to_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let db = Sqlite::open(folder.path().join("q.db"), SqliteOptions::default()).await.unwrap();
    let workflows = Registry::new().with(Bound::<Vault>::new(()).unwrap());
    let store: Arc<dyn Store> = Arc::new(Memory::new(Clock::system()));
    let runtime = Runtime::new(store, Clock::system(), "test");
    let queue = Arc::new(Embedded::open(db, QueueOptions::default()));
    let notifier = Arc::new(QueueNotifier::new(queue));
    let runs = Runs::new(runtime, workflows.clone(), notifier);
    let input = to_raw_value(&json!({"name": "front", "pin": "x", "tries": SECRET})).unwrap();
    let job = (input.into(), Some("k".to_owned()));
    let refused = runs.submit("vault", job, Envelope::default()).await.unwrap_err().to_string();
    let why = "the input does not fit workflow `vault`: invalid type: string, expected u32";
    assert!(refused.starts_with(why), "{refused}");
    clean("refusal", &refused);

    let body = json!({"workflow": "vault", "input": opening()}).to_string();
    let shown = workflows.readable(Some("vault"), body.as_bytes());
    assert_eq!(shown, body.replace(SECRET, "[redacted]"));
    for (workflow, body) in [(None, &*body), (Some("other"), &body), (Some("vault"), "{ \"a\": 1}")]
    {
        assert_eq!(workflows.readable(workflow, body.as_bytes()), body, "as it came");
    }
}
