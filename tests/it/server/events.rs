//! A run followed as server-sent events.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    time::timeout,
};
use verdict::graph::RunStatus;

use super::{HOST, ask, operating::Desk};
use crate::{
    support::PATIENCE,
    worker::hall::{Act, id},
};

/// A reader of events.
struct Reader(Lines<BufReader<TcpStream>>);

/// One event: its name, its id, its data.
type Told = (String, Option<u64>, Value);

impl Reader {
    /// Asks for events; `headers` are whole lines.
    async fn of(address: SocketAddr, path: &str, headers: &[&str]) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
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
    async fn next(&mut self) -> Option<Told> {
        let mut told: Told = (String::new(), None, Value::Null);
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", name)) => told.0 = name.to_owned(),
                Some(("id", number)) => told.1 = Some(number.parse().unwrap()),
                Some(("data", data)) => told.2 = serde_json::from_str(data).unwrap(),
                _ if line.is_empty() && !told.0.is_empty() => return Some(told),
                // The chunk of size 0 ends the answer; the connection would stay open.
                _ if line == "0" => return None,
                _ => {}
            }
        }
    }

    async fn all(mut self) -> Vec<Told> {
        let mut all = Vec::new();
        while let Some(told) = self.next().await {
            all.push(told);
        }
        all
    }
}

/// E13: each record once, in order, as it comes, then the end, and the stream ends.
#[tokio::test]
async fn records_are_told_as_they_come_and_the_end_is_the_end() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("one", [Act::Stand]);
    let path = format!("{}/events", desk.start("one").await);
    let mut reader = Reader::of(desk.address, &path, &[]).await;
    let (name, number, started) = reader.next().await.unwrap();
    assert_eq!((name.as_str(), number, &started["kind"]), ("record", Some(1), &"started".into()));
    let worker = desk.hall.worker();
    desk.hall.stage.stand(1).await;
    let (_, number, first) = reader.next().await.unwrap();
    assert_eq!((number, &first["node"]), (Some(2), &"prepare".into()), "before the run has ended");
    desk.hall.stage.open();
    desk.hall.becomes("one", RunStatus::Completed).await;
    let rest = reader.all().await;
    let (last, rest) = rest.split_last().unwrap();
    assert_eq!((last.0.as_str(), last.1, &last.2["status"]), ("ended", None, &"completed".into()));
    let history = desk.seen(&path.replace("events", "history")).await;
    let told: Vec<_> =
        [started, first].into_iter().chain(rest.iter().map(|r| r.2.clone())).collect();
    assert_eq!(Value::from(told), history);
    let numbers: Vec<_> = rest.iter().map(|record| record.1.unwrap()).collect();
    assert_eq!(numbers, Vec::from_iter(3..3 + rest.len() as u64));
    worker.stop().await;
}

/// Whoever comes back is told what it has not seen, by any server of the store.
#[tokio::test]
async fn a_reader_who_comes_back_misses_nothing() {
    let desk = Desk::new(false).await;
    let path = format!("{}/events", desk.start("one").await);
    let worker = desk.hall.worker();
    desk.hall.becomes("one", RunStatus::Completed).await;
    let all = Reader::of(desk.address, &path, &[]).await.all().await;
    let records = all.len() as u64 - 1;
    for seen in 0..records {
        let header = format!("last-event-id: {seen}");
        let late = Reader::of(desk.address, &path, &[&header]).await.all().await;
        assert_eq!(late, all[seen as usize..], "behind {seen}");
        let path = format!("{path}?after={seen}");
        assert_eq!(Reader::of(desk.address, &path, &[]).await.all().await, late);
    }
    let header = format!("last-event-id: {records}");
    let done = ask(desk.address, &format!("GET {path}"), &[HOST, &header], "").await;
    assert_eq!(done.status, 204, "a browser stops asking: {done:?}");
    let bad = ask(desk.address, &format!("GET {path}"), &[HOST, "last-event-id: x"], "").await;
    assert_eq!(bad.status, 400, "{bad:?}");
    worker.stop().await;
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
