//! Who may use the API and read the metrics.

use std::{net::SocketAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio_util::sync::CancellationToken;
use verdict::{
    base::Secret,
    server::{Parts, Readiness, Server, ServerOptions},
};

use super::{HOST, ask};

async fn start(token: Option<&str>) -> (SocketAddr, CancellationToken) {
    start_with(token, None).await
}

async fn start_with(token: Option<&str>, read: Option<&str>) -> (SocketAddr, CancellationToken) {
    let (token, read_token) = (token.map(Secret::from), read.map(Secret::from));
    let listen = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions { listen, token, read_token, ..ServerOptions::default() };
    let server = Server::bind(&options).await.unwrap();
    let (address, stop) = (server.address(), CancellationToken::new());
    let metrics = Arc::new(|| "counted 1\n".to_owned());
    let parts = Parts { readiness: Readiness::new([]), api: None, webhooks: None, metrics };
    tokio::spawn(server.run(parts, stop.clone()));
    (address, stop)
}

/// Behind the guard there are metrics, and an API that is not there: it says so, or nothing.
async fn answers(address: SocketAddr, headers: &[&str]) -> [u16; 3] {
    let mut statuses = [0; 3];
    let lines = ["GET /metrics", "POST /api/runs", "GET /api/no/such"];
    for (status, line) in statuses.iter_mut().zip(lines) {
        *status = ask(address, line, headers, "").await.status;
    }
    statuses
}

const IN: [u16; 3] = [200, 404, 404];

#[tokio::test]
async fn with_a_token_whoever_shows_it() {
    let (address, stop) = start(Some("open sesame")).await;
    for wrong in [
        "x: y",
        "authorization: Bearer",
        "authorization: Bearer open",
        "authorization: Bearer open sesame2",
        "authorization: Bearer Open sesame",
        "authorization: Basic open sesame",
        "authorization: open sesame",
    ] {
        assert_eq!(answers(address, &[HOST, wrong]).await, [401; 3], "{wrong}");
    }
    let refused = ask(address, "GET /metrics", &[HOST], "").await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert!(refused.error().contains("server.token"), "{refused:?}");
    for right in ["authorization: Bearer open sesame", "Authorization: bearer open sesame"] {
        assert_eq!(answers(address, &["host: anything.example", right]).await, IN, "{right}");
    }
    assert_eq!(ask(address, "GET /livez", &["host: x"], "").await.status, 200);
    assert_eq!(ask(address, "GET /readyz", &["host: x"], "").await.status, 200);
    stop.cancel();
}

#[tokio::test]
async fn without_one_only_under_this_machines_own_names() {
    let (address, stop) = start(None).await;
    for own in [
        "host: localhost",
        "host: LOCALHOST:8080",
        "host: 127.0.0.1:1",
        "host: 127.9.9.9",
        "host: [::1]",
        "host: [::1]:80",
    ] {
        assert_eq!(answers(address, &[own]).await, IN, "{own}");
    }
    for foreign in [
        "host: evil.example",
        "host: evil.example:8080",
        "host: localhost.evil.example",
        "host: 127.0.0.1.evil.example",
        "host: 10.0.0.1",
        "host: [::2]",
        "host:",
        "host: localhost\r\nhost: evil.example",
    ] {
        let statuses = answers(address, &[foreign]).await;
        assert!(
            statuses.iter().all(|status| [400, 403].contains(status)),
            "{foreign} {statuses:?}"
        );
    }
    let refused = ask(address, "GET /metrics", &["host: evil.example"], "").await;
    assert_eq!(refused.status, 403);
    assert!(refused.error().contains("localhost"), "{refused:?}");
    let absolute = ask(address, "GET http://evil.example/metrics", &[HOST], "").await;
    assert_eq!(absolute.status, 403, "{absolute:?}");
    stop.cancel();
}

/// The token that only reads opens what is read, and nothing else.
#[tokio::test]
async fn the_read_token_reads_and_changes_nothing() {
    let (address, stop) = start_with(Some("open sesame"), Some("peep hole")).await;
    let reading = "authorization: Bearer peep hole";
    assert_eq!(answers(address, &[HOST, reading]).await, [200, 403, 404]);
    for line in ["POST /api/runs/0123/cancel", "DELETE /api/runs/0123", "PUT /api/runs/0123"] {
        let refused = ask(address, line, &[HOST, reading], "").await;
        assert_eq!(refused.status, 403, "{line}");
        assert!(refused.error().contains("server.read_token"), "{refused:?}");
    }
    assert_eq!(answers(address, &[HOST, "authorization: Bearer open sesame"]).await, IN);
    stop.cancel();

    let alone = ServerOptions { read_token: Some("peep hole".into()), ..ServerOptions::default() };
    let refused = alone.check().unwrap_err().to_string();
    assert!(refused.contains("server.token"), "{refused}");
}

/// A browser shows the token as a password.
#[tokio::test]
async fn a_password_is_a_token_too() {
    let (address, stop) = start(Some("open sesame")).await;
    let basic = |text: &str| format!("authorization: Basic {}", STANDARD.encode(text));
    assert_eq!(answers(address, &[HOST, &basic("anybody:open sesame")]).await, IN);
    for wrong in ["open sesame", "anybody:", "open sesame:anybody", ":open"] {
        assert_eq!(answers(address, &[HOST, &basic(wrong)]).await, [401; 3], "{wrong}");
    }
    stop.cancel();
}

/// A page of another site can send a request without asking, and gets nothing done by it.
#[tokio::test]
async fn pages_of_other_sites_change_nothing() {
    let (address, stop) = start(None).await;
    let own = format!("origin: http://{address}");
    let host = format!("host: {address}");
    for foreign in [
        "origin: http://evil.example",
        "origin: null",
        "sec-fetch-site: cross-site",
        "sec-fetch-site: same-site",
    ] {
        assert_eq!(answers(address, &[&host, foreign]).await, [200, 403, 404], "{foreign}");
    }
    for own in [own.as_str(), "sec-fetch-site: same-origin", "sec-fetch-site: none"] {
        assert_eq!(answers(address, &[&host, own]).await, IN, "{own}");
    }
    stop.cancel();
}
