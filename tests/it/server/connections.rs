//! Connections that waste a place: those that send nothing, or never finish what they send.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use verdict::graph::{RunStatus, Store};

use super::{get, post, serve, stop};
use crate::{
    crash::fixture::repository,
    support::{Machine, eventually},
};

/// P9, W3: idle connections give their places to those who ask something. With more of them than
/// there are places, and few descriptors, probes answer and a job is done.
#[tokio::test]
async fn idle_connections_cost_nobody_else_anything() {
    let (repo, machine) = (repository(), Machine::new());
    let machine = machine.set("server.max_connections", "40").set("server.header_timeout", "10m");
    let (server, at) = serve(&machine, "all").await;
    let mut idle = Vec::new();
    for n in 0..200 {
        let mut stream = TcpStream::connect(at).await.unwrap();
        if n % 2 == 0 {
            // It may have lost its place already.
            let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nhost: loc").await;
        }
        idle.push(stream);
    }
    assert_eq!(get(at, "/livez").await.status, 200);
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let answer = post(at, &json!({"workflow": "review", "input": input})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let run = answer.json()["id"].as_str().unwrap().parse().unwrap();
    let store = machine.store().await;
    eventually("the run completes", async || {
        let head = store.head(&run).await.unwrap().unwrap();
        (head.status == RunStatus::Completed).then_some(())
    })
    .await;
    assert_eq!(get(at, "/readyz").await.status, 200);
    stop(server).await;
}

/// A connection whose request never comes whole is closed.
#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let machine = Machine::new().set("server.header_timeout", "200ms");
    let (server, at) = serve(&machine, "gateway").await;
    let mut slow = TcpStream::connect(at).await.unwrap();
    slow.write_all(b"GET /livez HTTP/1.1\r\nhost: loc").await.unwrap();
    let mut rest = Vec::new();
    timeout(Duration::from_secs(30), slow.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(get(at, "/livez").await.status, 200);
    stop(server).await;
}
