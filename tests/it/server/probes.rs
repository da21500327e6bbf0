//! The health probes, over real connections.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use verdict::{
    base::Secret,
    server::{Parts, Readiness, Server, ServerError, ServerOptions},
};

struct Running {
    address: std::net::SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

async fn start(readiness: Readiness) -> Running {
    let options = ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        token: None,
        ..ServerOptions::default()
    };
    let server = Server::bind(&options).await.unwrap();
    let (address, stop) = (server.address(), CancellationToken::new());
    let parts = Parts { readiness, api: None, webhooks: None, metrics: Arc::new(String::new) };
    Running { address, stop: stop.clone(), task: tokio::spawn(server.run(parts, stop)) }
}

/// Any name will do: probes are for everybody.
async fn get(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    let answer = super::ask(address, &format!("GET {path}"), &["host: x"], "").await;
    (answer.status, answer.body)
}

#[tokio::test]
async fn ready_once_every_check_is_fine() {
    let readiness = Readiness::new(["queue", "store"]);
    let server = start(readiness.clone()).await;
    assert_eq!(get(server.address, "/livez").await, (200, "ok\n".to_owned()));
    let body = r#"{"ready":false,"checks":{"queue":"starting","store":"starting"}}"#;
    assert_eq!(get(server.address, "/readyz").await, (503, body.to_owned()));

    readiness.set("store", Ok(()));
    readiness.set("queue", Ok(()));
    timeout(Duration::from_secs(10), readiness.ready()).await.unwrap();
    let body = r#"{"ready":true,"checks":{"queue":"ok","store":"ok"}}"#;
    assert_eq!(get(server.address, "/readyz").await, (200, body.to_owned()));

    readiness.set("store", Err("no answer".to_owned()));
    let (status, body) = get(server.address, "/readyz").await;
    assert_eq!(status, 503);
    assert!(body.contains(r#""store":"no answer""#), "{body}");
    assert_eq!(get(server.address, "/livez").await.0, 200, "alive all the while");
    assert_eq!(get(server.address, "/elsewhere").await.0, 404);
    server.stop.cancel();
    server.task.await.unwrap();
}

#[tokio::test]
async fn a_stop_ends_it_even_with_a_connection_that_says_nothing() {
    let server = start(Readiness::new([])).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    silent.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    assert_eq!(get(server.address, "/readyz").await.0, 200, "no checks, nothing to wait for");
    server.stop.cancel();
    timeout(Duration::from_secs(20), server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err(), "the address is free again");
}

#[tokio::test]
async fn a_taken_address_is_named_with_its_setting() {
    let holder = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = holder.local_addr().unwrap();
    let error = Server::bind(&ServerOptions { listen, token: None, ..ServerOptions::default() })
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&listen.to_string()) && text.contains("`server.listen`"), "{text}");
}

#[tokio::test]
async fn beyond_this_machine_only_with_a_token() {
    let open =
        ServerOptions { listen: ([0, 0, 0, 0], 0).into(), token: None, ..ServerOptions::default() };
    let error = Server::bind(&open).await.unwrap_err();
    assert!(matches!(error, ServerError::Open(_)), "{error}");
    let guarded = ServerOptions { token: Some(Secret::from("t")), ..open };
    assert!(Server::bind(&guarded).await.is_ok());
}
