//! The HTTP side, over real connections: a server in this process, and the real binary's.

mod api;
mod connections;
mod doctor;
mod events;
mod external;
mod following;
mod guard;
pub mod host;
mod listing;
mod managed;
mod observed;
mod openapi;
mod operating;
mod pages;
mod pausing;
mod probes;
mod roles;
mod wakeups;

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Machine, Process, eventually};

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A header's value.
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut named = lines.filter(|(line, _)| line.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The reason, which every refusal gives.
    fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// Sends these bytes and reads what comes back.
async fn say(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    Answer::of(&answer)
}

/// A request; `headers` are whole lines.
async fn ask(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> Answer {
    let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    say(address, text.as_bytes()).await
}

const HOST: &str = "host: localhost";
const JSON: &str = "content-type: application/json";

pub async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path}"), &[HOST], "").await
}

pub async fn post(address: SocketAddr, body: &Value) -> Answer {
    ask(address, "POST /api/runs", &[HOST, JSON], &body.to_string()).await
}

/// A process that serves, and its address.
pub async fn serve(machine: &Machine, role: &str) -> (Process, SocketAddr) {
    let mut process = machine.start(&["serve", "--role", role]);
    let line = process.says("serving").await;
    let at = line.find("127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
    let end = |c: char| !(c.is_ascii_digit() || c == '.' || c == ':');
    let address = line[at..].split(end).next().unwrap().parse().unwrap();
    (process, address)
}

pub async fn stop(mut process: Process) -> String {
    process.terminate();
    let status = process.ends().await;
    let said = process.said().await;
    assert_eq!(status.code(), Some(0), "{said}");
    said
}

/// Waits until `/readyz` answers so; answers its checks.
pub async fn readiness(address: SocketAddr, ready: bool) -> Value {
    eventually(&format!("ready is {ready}"), async || {
        let answer = get(address, "/readyz").await;
        let report = answer.json();
        assert_eq!(answer.status == 200, report["ready"] == true, "{answer:?}");
        (report["ready"] == ready).then(|| report["checks"].clone())
    })
    .await
}

/// The value of one line of `/metrics`; `None` if there is no such line.
async fn metric(address: SocketAddr, name: &str) -> Option<f64> {
    let answer = get(address, "/metrics").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
    let line = answer.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}
