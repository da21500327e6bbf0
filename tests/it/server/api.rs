//! `POST /api/runs`, with a workflow that takes what the test says.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_util::sync::CancellationToken;
use verdict::{
    app::QueueNotifier,
    base::{Clock, Fault, Result},
    checkpoint::Memory,
    db::{Sqlite, SqliteOptions},
    graph::{
        Context, END, Graph, GraphBuilder, GraphError, NodeError, RunStatus, Runtime, State, Store,
        store::RunFilter,
    },
    queue::{
        Decoded, Queue,
        embedded::{Embedded, Options},
    },
    runs::Runs,
    server::{Api, ApiState, Parts, ROUTES, Readiness, Routes, Server, ServerOptions},
    workflows::{Admission, Bound, Event, Registry, Start, Workflow, read_input},
};

use super::{Answer, HOST, JSON, ask, get, listing, post};

struct Door;

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Input = String;
    type Update = ();
    fn new(_: String) -> Self {
        Self
    }
    fn merge(&mut self, (): ()) {}
}

#[async_trait]
impl Workflow for Door {
    const NAME: &'static str = "door";
    const VERSION: u32 = 1;
    type State = Nothing;
    type Deps = ();

    fn graph() -> Result<Graph<Nothing, ()>, GraphError> {
        let mut graph = GraphBuilder::new();
        graph.node("pass", async |_: Context<Nothing, ()>| Ok::<_, NodeError>(()));
        graph.entry("pass").edge("pass", END);
        graph.compile()
    }

    async fn admit((): &(), event: &Event) -> Result<Admission<String>> {
        let Event::Job { input, key, .. } = event else { unreachable!() };
        let input: String = read_input(Self::NAME, input)?;
        match input.as_str() {
            "ignore" => Ok(Admission::Ignore { reason: "nobody is to be let in".into() }),
            "cancel" => Ok(Admission::Cancel { subject: "a".into() }),
            "busy" => Err(Fault::transient("come back").after(Duration::from_secs(7))),
            "outage" => Err(Fault::outage("nobody answers")),
            "panic" => panic!("the door fell down"),
            _ => Ok(Admission::Start(Start {
                key: key.clone(),
                subject: None,
                order: 0,
                settles: false,
                input,
            })),
        }
    }
}

struct House {
    address: SocketAddr,
    store: Arc<dyn Store>,
    queue: Arc<Embedded>,
    stop: CancellationToken,
    _folder: TempDir,
}

impl House {
    async fn new() -> Self {
        Self::with(ROUTES).await
    }

    /// With these routes.
    async fn with(routes: &[Routes]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("queue.db");
        let db = Sqlite::open(&file, SqliteOptions::default()).await.unwrap();
        let queue = Arc::new(Embedded::open(db, Options::default()));
        let store: Arc<dyn Store> = Arc::new(Memory::new(Clock::system()));
        let runtime = Runtime::new(store.clone(), Clock::system(), "house");
        let workflows = Registry::new().with(Bound::<Door>::new(()).unwrap());
        let notifier = Arc::new(QueueNotifier::new(queue.clone()));
        let runs = Runs::new(runtime, workflows, notifier);
        let options = ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            token: None,
            ..ServerOptions::default()
        };
        let server = Server::bind(&options).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let parts = Parts {
            readiness: Readiness::new([]),
            webhooks: None,
            api: Some(Api {
                state: ApiState { runs, development: false },
                routes: routes.to_vec(),
                queue: None,
            }),
            metrics: Arc::new(String::new),
        };
        tokio::spawn(server.run(parts, stop.clone()));
        Self { address, store, queue, stop, _folder: folder }
    }

    async fn post(&self, body: &Value) -> Answer {
        post(self.address, body).await
    }

    async fn dispatches(&self, headers: &[&str], body: &str) -> Answer {
        ask(self.address, "POST /api/runs", headers, body).await
    }

    async fn runs(&self) -> usize {
        self.store.list(&RunFilter::default()).await.unwrap().len()
    }

    async fn ready(&self) -> Option<u64> {
        self.queue.depth().await.unwrap().ready
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[tokio::test]
async fn a_run_is_stored_and_announced() {
    let house = House::new().await;
    let given = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
    let body = json!({"workflow": "door", "input": "a"}).to_string();
    let answer = house.dispatches(&[HOST, JSON, &format!("traceparent: {given}")], &body).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.json(), json!({"id": id, "status": "queued"}));
    assert_eq!(answer.header("location"), Some(&*format!("/api/runs/{id}")));

    let head = house.store.head(&id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((head.status, head.epoch, &head.lease), (RunStatus::Queued, 0, &None));
    let message = house.queue.consumer().next().await.unwrap().message;
    assert_eq!(message.header("traceparent"), Some(given));
    assert!(matches!(Decoded::of(&message).unwrap(), Decoded::Wake { run } if run == id));
}

#[tokio::test]
async fn a_traceparent_that_is_none_is_replaced() {
    let house = House::new().await;
    let body = json!({"workflow": "door", "input": "a"}).to_string();
    assert_eq!(house.dispatches(&[HOST, JSON, "traceparent: 00-zz"], &body).await.status, 202);
    let message = house.queue.consumer().next().await.unwrap().message;
    let trace = message.header("traceparent").unwrap();
    assert!(trace.parse::<verdict::base::TraceContext>().is_ok(), "{trace}");
}

/// W2: a caller that lost the answer asks again.
#[tokio::test]
async fn one_key_is_one_run_however_often_it_is_sent() {
    let house = House::new().await;
    let keyed = json!({"workflow": "door", "input": "a", "key": "k"});
    let (first, second) = tokio::join!(house.post(&keyed), house.post(&keyed));
    assert_eq!((first.status, second.status), (202, 202));
    assert_eq!(first.json(), second.json());
    assert_eq!(house.runs().await, 1);
    let plain = json!({"workflow": "door", "input": "a"});
    let (first, second) = tokio::join!(house.post(&plain), house.post(&plain));
    assert_ne!(first.json()["id"], second.json()["id"], "without a key each is its own");
    assert_eq!(house.runs().await, 3);
}

#[tokio::test]
async fn what_a_workflow_does_not_take_is_refused_with_the_reason() {
    let house = House::new().await;
    for (input, status, word) in [
        (json!("ignore"), 422, "nobody is to be let in"),
        (json!("cancel"), 422, "asks for an end"),
        (json!({"a": 1}), 422, "does not fit workflow `door`"),
        (json!("busy"), 503, "come back"),
        (json!("outage"), 503, "nobody answers"),
        (json!("panic"), 500, "the log says what"),
    ] {
        let answer = house.post(&json!({"workflow": "door", "input": input})).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.error().contains(word), "{answer:?}");
        let again = match word {
            "come back" => Some("7"),
            "nobody answers" => Some("5"),
            _ => None,
        };
        assert_eq!(answer.header("retry-after"), again, "{answer:?}");
    }
    let answer = house.post(&json!({"workflow": "opera", "input": 1})).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.error(), "there is no workflow `opera` here (known: door)");
    assert_eq!((house.runs().await, house.ready().await), (0, Some(0)), "nothing came of any");
}

#[tokio::test]
async fn what_is_no_job_is_refused_before_anybody_is_asked() {
    let house = House::new().await;
    let good = json!({"workflow": "door", "input": "a"}).to_string();
    let deep = format!(r#"{{"workflow":"door","input":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let long = format!(r#"{{"workflow":"door","input":"{}"}}"#, "a".repeat(1024 * 1024));
    for (headers, body, status, word) in [
        (&[JSON][..], "{", 400, "not as expected"),
        (&[JSON], "", 400, "empty"),
        (&[JSON], "[]", 400, "no JSON object"),
        (&[JSON], r#"{"run":"0123"}"#, 400, "`workflow`"),
        (&[JSON], r#"{"workflow":"door"}"#, 400, "`input`"),
        (&[JSON], r#"{"workflow":"door","input":1,"key":""}"#, 400, "`key`"),
        (&[JSON], &deep, 400, "nested"),
        (&[JSON], &long, 413, "1048576"),
        (&["content-type: application/x-www-form-urlencoded"], &good, 415, "application/json"),
        (&["content-type: text/plain"], &good, 415, "application/json"),
        (&[], &good, 415, "application/json"),
        (&[JSON, "content-encoding: gzip"], &good, 415, "gzip"),
    ] {
        let answer = house.dispatches(&[&[HOST], headers].concat(), body).await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.error().contains(word), "{answer:?}");
    }
    let answer = ask(house.address, "PUT /api/runs", &[HOST], "").await;
    assert_eq!(answer.status, 405, "{answer:?}");
    assert!(!answer.error().is_empty());
    assert_eq!(house.runs().await, 0);
    for kind in ["application/json; charset=utf-8", "application/vnd.verdict.job+json; version=1"] {
        let answer = house.dispatches(&[HOST, &format!("content-type: {kind}")], &good).await;
        assert_eq!(answer.status, 202, "{kind}: {answer:?}");
    }
}

/// A route is one file and one line of the list; guard, limits and refusals are the server's.
#[tokio::test]
async fn a_route_more_is_a_file_and_a_line() {
    let house = House::with(&[ROUTES, &[listing::routes]].concat()).await;
    let posted = house.post(&json!({"workflow": "door", "input": "a", "key": "k"})).await;
    let answer = get(house.address, "/api/listing").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let listed = answer.json();
    let [run] = &listed.as_array().unwrap()[..] else { panic!("{answer:?}") };
    let described = get(house.address, "/api/openapi.json").await.json();
    assert_eq!(described["paths"]["/api/listing"]["get"]["operationId"], "listing");
    assert_eq!(run["id"], posted.json()["id"]);
    assert_eq!((&run["workflow"], &run["key"]), (&json!("door"), &json!("k")));
    for (line, host, status) in [
        ("GET /api/listing", "host: elsewhere.example", 403),
        ("POST /api/listing", HOST, 405),
        ("GET /api/listings", HOST, 404),
    ] {
        let answer = ask(house.address, line, &[host], "").await;
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(!answer.error().is_empty());
    }
}

/// A body that never comes holds nobody up for ever.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let house = House::new().await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let head =
        format!("POST /api/runs HTTP/1.1\r\n{HOST}\r\n{JSON}\r\ncontent-length: 9\r\n\r\n{{");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = tokio::io::AsyncReadExt::read(&mut stream, &mut answer).await.unwrap();
    let answer = Answer::of(std::str::from_utf8(&answer[..read]).unwrap());
    assert_eq!(answer.status, 408, "{answer:?}");
    assert!(answer.error().contains("in time"), "{answer:?}");
}
