//! A run followed as server-sent events.

use std::net::SocketAddr;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use verdict::{
    base::Fault,
    graph::{
        Context, Dispatch, END, Graph, GraphBuilder, NewSpec, NodeError, RetryPolicy, RunStatus,
        State, Stop,
    },
};

use super::{HOST, ask, operating::Desk};
use crate::{
    support::PATIENCE,
    worker::hall::{Act, id},
};

/// A reader of events.
pub struct Reader(Lines<BufReader<TcpStream>>);

/// One event: its name, its id, its data.
pub type Told = (String, Option<String>, Value);

impl Reader {
    /// Asks for events; `headers` are whole lines.
    pub async fn of(address: SocketAddr, path: &str, headers: &[&str]) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap(), path, headers).await
    }

    /// The same behind the event of this id.
    pub async fn behind(address: SocketAddr, path: &str, last: &str) -> Self {
        Self::of(address, path, &[&format!("last-event-id: {last}")]).await
    }

    async fn over(mut stream: TcpStream, path: &str, headers: &[&str]) -> Self {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\n{HOST}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = Self(BufReader::new(stream).lines());
        assert_eq!(reader.line().await.as_deref(), Some("HTTP/1.1 200 OK"));
        let mut head = Vec::new();
        while let Some(line) = reader.line().await.filter(|line| !line.is_empty()) {
            head.push(line.to_ascii_lowercase());
        }
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
        reader
    }

    async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.0.next_line()).await.unwrap().unwrap()
    }

    /// The next event; `None` once the stream has ended. Sizes of chunks and comments are no events.
    pub async fn next(&mut self) -> Option<Told> {
        let mut told: Told = (String::new(), None, Value::Null);
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", name)) => told.0 = name.to_owned(),
                Some(("id", id)) => told.1 = Some(id.to_owned()),
                Some(("data", data)) => told.2 = serde_json::from_str(data).unwrap(),
                _ if line.is_empty() && !told.0.is_empty() => return Some(told),
                // The chunk of size 0 ends the answer; the connection would stay open.
                _ if line == "0" => return None,
                _ => {}
            }
        }
    }

    /// The events up to the one that `last` is true of, and that.
    pub async fn up_to(&mut self, mut last: impl FnMut(&Told) -> bool) -> Vec<Told> {
        let mut all = Vec::new();
        loop {
            let told = self.next().await.unwrap_or_else(|| panic!("not in {all:#?}"));
            let over = last(&told);
            all.push(told);
            if over {
                return all;
            }
        }
    }

    pub async fn all(mut self) -> Vec<Told> {
        let mut all = Vec::new();
        while let Some(told) = self.next().await {
            all.push(told);
        }
        all
    }
}

/// The data of the events of this name.
pub fn named<'t>(told: &'t [Told], name: &str) -> Vec<&'t Value> {
    told.iter().filter(|told| told.0 == name).map(|told| &told.2).collect()
}

/// E13: each record and each start once, in order, as it comes, then the end, and the stream ends.
#[tokio::test]
async fn records_are_told_as_they_come_and_the_end_is_the_end() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Stand]);
    let path = format!("{}/events", desk.start("one").await);
    let mut reader = Reader::of(desk.address, &path, &[]).await;
    let (name, id, started) = reader.next().await.unwrap();
    let first = (name.as_str(), id.as_deref(), &started["kind"]);
    assert_eq!(first, ("record", Some("1"), &"started".into()), "before anybody works on it");
    let worker = desk.hall.worker();
    desk.hall.stage.stand(1).await;
    let mut all = vec![(name, id, started)];
    all.extend(reader.up_to(|told| told.0 == "node_started" && told.2["node"] == "work").await);
    let ids: Vec<_> = all.iter().map(|told| told.1.as_deref().unwrap()).collect();
    assert_eq!(ids, ["1", "1.1", "2", "3", "3.1"], "while the second node is at work");
    let (_, _, begun) = &all[1];
    let place = (&begun["node"], &begun["step"], &begun["index"], begun.get("path"));
    assert_eq!(place, (&"prepare".into(), &1.into(), &0.into(), None));
    desk.hall.stage.open();
    desk.hall.becomes("one", RunStatus::Completed).await;
    all.extend(reader.all().await);
    let (name, id, run) = all.last().unwrap();
    assert_eq!((name.as_str(), id, &run["status"]), ("ended", &None, &"completed".into()));
    let history = desk.seen(&path.replace("events", "history")).await;
    assert_eq!(json!(named(&all, "record")), history);
    let starts: Vec<_> = named(&all, "node_started").into_iter().map(|t| &t["node"]).collect();
    assert_eq!(starts, ["prepare", "work", "publish"]);
    worker.stop().await;
}

/// E13: a record of a task that failed says how; whoever reads later is told the same starts.
#[tokio::test]
async fn a_node_that_fails_is_told_with_its_fault() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Fail(Fault::permanent("it is broken"))]);
    let path = format!("{}/events", desk.start("one").await);
    let worker = desk.hall.worker();
    desk.hall.becomes("one", RunStatus::Failed).await;
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    let tasks = named(&all, "record").into_iter().filter(|row| row["kind"] == "task_finished");
    let tasks: Vec<_> = tasks.map(|row| (&row["node"], row.get("fault"))).collect();
    let fault = json!({"kind": "permanent", "message": "it is broken"});
    assert_eq!(tasks.len(), 2, "{all:#?}");
    assert_eq!(tasks[0], (&json!("prepare"), None));
    assert_eq!(tasks[1].0, "work");
    for field in ["kind", "message"] {
        assert_eq!(tasks[1].1.unwrap()[field], fault[field]);
    }
    let starts: Vec<_> = named(&all, "node_started").into_iter().map(|t| &t["node"]).collect();
    assert_eq!(starts, ["prepare", "work"]);
    worker.stop().await;
}

/// Whoever comes back, behind a record or a start, is told what it has not seen, and that once.
#[tokio::test]
async fn a_reader_who_comes_back_misses_nothing() {
    let desk = Desk::new(false).await;
    let path = format!("{}/events", desk.start("one").await);
    let worker = desk.hall.worker();
    desk.hall.becomes("one", RunStatus::Completed).await;
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    assert_eq!(Reader::behind(desk.address, &path, "0").await.all().await, all);
    let seen: Vec<_> = all.iter().filter_map(|told| told.1.clone()).collect();
    let (last, before) = seen.split_last().unwrap();
    for (at, seen) in before.iter().enumerate() {
        let late = Reader::behind(desk.address, &path, seen).await.all().await;
        assert_eq!(late, all[at + 1..], "behind {seen}");
        if !seen.contains('.') {
            let path = format!("{path}?after={seen}");
            assert_eq!(Reader::of(desk.address, &path, &[]).await.all().await, late);
        }
    }
    let header = format!("last-event-id: {last}");
    let done = ask(desk.address, &format!("GET {path}"), &[HOST, &header], "").await;
    assert_eq!(done.status, 204, "a browser stops asking: {done:?}");
    for bad in ["x", "1.x", "1.", ".1", "-1"] {
        let header = format!("last-event-id: {bad}");
        let bad = ask(desk.address, &format!("GET {path}"), &[HOST, &header], "").await;
        assert_eq!(bad.status, 400, "{bad:?}");
    }
    worker.stop().await;
}

/// What the graphs below add up.
#[derive(Clone, Serialize)]
struct Sum(u32);

impl State for Sum {
    type Input = u32;
    type Update = u32;

    fn new(sum: u32) -> Self {
        Self(sum)
    }

    fn merge(&mut self, more: u32) {
        self.0 += more;
    }
}

/// Where the events of a whole run of this graph are.
async fn run(desk: &Desk, graph: &Graph<Sum, ()>) -> String {
    let ran = desk.hall.runtime.run(NewSpec::new("sum", 1, 0), graph.with(())).await.unwrap();
    assert_eq!(ran.stop, Stop::Completed);
    format!("/api/runs/{}/events", ran.run)
}

/// E13, E21: what happens in a subgraph is told with the tasks it is in.
#[tokio::test]
async fn subgraphs_are_told_with_their_path() {
    let desk = Desk::new(false).await;
    let mut inner = GraphBuilder::<Sum, ()>::new();
    let broken = |_| async { Err::<u32, NodeError>(Fault::permanent("no").into()) };
    inner.node("act", broken).retry(RetryPolicy::none()).on_error_continue(|_| 7);
    inner.entry("act").edge("act", END);
    let inner = inner.compile().unwrap();
    let mut graph = GraphBuilder::<Sum, ()>::new();
    graph.subgraph("agent", &inner, |ctx| Ok(ctx.state().0), |inner| inner.0);
    graph.entry("agent").edge("agent", END);
    let path = run(&desk, &graph.compile().unwrap()).await;
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    let starts =
        named(&all, "node_started").into_iter().map(|task| (task.get("path"), &task["node"]));
    let inside = json!("1.0");
    let wanted = [(None, &json!("agent")), (Some(&inside), &json!("agent/act"))];
    assert_eq!(Vec::from_iter(starts), wanted);
    let failed = named(&all, "record").into_iter().find(|row| row.get("fault").is_some()).unwrap();
    assert_eq!((&failed["path"], &failed["node"]), (&inside, &json!("agent/act")));
    assert!(failed["duration_ms"].is_number(), "{failed}");
}

/// One that does not read holds up neither the run nor another reader.
#[tokio::test]
async fn a_reader_that_does_not_read_costs_nobody_anything() {
    let desk = Desk::new(false).await;
    let path = format!("{}/events", desk.start("one").await);
    let _idle = Reader::of(desk.address, &path, &[]).await;
    let worker = desk.hall.worker();
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    assert_eq!(all.last().unwrap().0, "ended");
    worker.stop().await;
}

/// One whose connection is full of what it has not read holds up nobody either, and gets all of it
/// once it reads.
#[tokio::test]
async fn a_reader_that_falls_behind_holds_up_nobody_and_loses_nothing() {
    let desk = Desk::new(false).await;
    // Many and long events: more than the buffers of a connection hold.
    let (name, tasks) = ("x".repeat(500), 8_000_u32);
    let mut graph = GraphBuilder::<Sum, ()>::new();
    graph.node("begin", |_| async { Ok(0_u32) });
    graph.node(
        &name,
        |ctx: Context<Sum, ()>| async move { Ok::<_, NodeError>(ctx.input::<u32>()?) },
    );
    let sent = name.clone();
    graph.entry("begin").fan_out("begin", [name.as_str()], move |_| {
        (0..tasks).map(|task| Dispatch::with(sent.as_str(), &task)).collect()
    });
    graph.edge(&name, END);
    let path = run(&desk, &graph.compile().unwrap()).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = socket.connect(desk.address).await.unwrap();
    let slow = Reader::over(stream, &path, &[]).await;
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    assert_eq!(named(&all, "node_started").len(), 1 + tasks as usize);
    assert_eq!(desk.get("/api/runs").await.status, 200);
    assert!(slow.all().await == all, "the same, in the same order");
}

#[tokio::test]
async fn a_run_that_is_deleted_ends_its_readers() {
    let desk = Desk::new(false).await;
    let location = desk.start("one").await;
    let mut reader = Reader::of(desk.address, &format!("{location}/events"), &[]).await;
    assert_eq!(reader.next().await.unwrap().0, "record");
    assert_eq!(desk.does(&format!("DELETE {location}?force=true")).await.status, 204);
    let rest = reader.all().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!((rest[0].0.as_str(), &rest[0].2["id"]), ("deleted", &id("one").as_str().into()));
    let gone = desk.get(&format!("{location}/events")).await;
    assert_eq!(gone.status, 404, "{gone:?}");
}
