//! Webhooks a second through the gateway of the real binary to the embedded queue, each durable
//! before it is answered: rate, latency, and whether each that was answered is on the queue, also
//! when the gateway is killed in the middle. Prints; judges only the last.
//!
//! `cargo bench --bench gateway [-- SECONDS]`, on one core: `taskset -c 0 …`. Bodies are GitHub's
//! examples of `pull_request` events if `tests/github/setup` was run, else one of 24 KiB.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a benchmark")]

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use verdict::{
    db::{Sqlite, SqliteOptions},
    queue::{Queue as _, embedded},
};

const SECRET: &str = "secret";
const CLIENTS: usize = 64;

#[tokio::main]
async fn main() {
    let seconds = std::env::args().filter_map(|arg| arg.parse().ok()).next().unwrap_or(10);
    let bodies: Arc<[(String, String)]> = bodies().into();
    println!("{CLIENTS} connections, {} bodies, {seconds} s", bodies.len());
    for (name, kill) in [("undisturbed", false), ("killed in the middle", true)] {
        let folder = tempfile::tempdir().unwrap();
        let (mut gateway, url) = start(folder.path());
        let time = Duration::from_secs(seconds);
        let until = Instant::now() + time;
        let taken = Arc::new(AtomicU64::new(0));
        let latencies = Arc::new(Mutex::new(Vec::new()));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (url, bodies) = (url.clone(), bodies.clone());
                let (taken, latencies) = (taken.clone(), latencies.clone());
                tokio::spawn(async move {
                    let http = reqwest::Client::new();
                    let mut own = Vec::new();
                    for nth in 0_u64.. {
                        if Instant::now() >= until {
                            break;
                        }
                        let (body, signature) =
                            &bodies[(client + usize::try_from(nth).unwrap()) % bodies.len()];
                        let began = Instant::now();
                        let request = http
                            .post(&url)
                            .header("content-type", "application/json")
                            .header("x-github-event", "pull_request")
                            .header("x-github-delivery", format!("{client}-{nth}"))
                            .header("x-hub-signature-256", signature)
                            .body(body.clone());
                        match request.send().await {
                            Ok(answer) if answer.status().as_u16() == 202 => {
                                taken.fetch_add(1, Ordering::Relaxed);
                                own.push(began.elapsed());
                            }
                            Ok(answer) => panic!("{}", answer.status()),
                            // Killed.
                            Err(_) => break,
                        }
                    }
                    latencies.lock().unwrap().extend(own);
                })
            })
            .collect();
        if kill {
            tokio::time::sleep(time / 2).await;
            gateway.kill().unwrap();
        }
        for client in clients {
            client.await.unwrap();
        }
        let _ = gateway.kill();
        gateway.wait().unwrap();
        let taken = taken.load(Ordering::Relaxed);
        let queued = queued(folder.path()).await;
        let mut all = latencies.lock().unwrap().clone();
        all.sort_unstable();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        let share = if kill { 2.0 } else { 1.0 };
        println!(
            "{name}: {taken} taken, {:.0} a second, p50 {:.1?}, p99 {:.1?}; {queued} on the queue",
            taken as f64 / time.as_secs_f64() * share,
            at(0.5),
            at(0.99)
        );
        assert!(queued >= taken, "an event that was taken is lost");
    }
}

/// Bodies and their signatures.
fn bodies() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let index = "target/octokit/node_modules/@octokit/webhooks-examples/api.github.com/index.json";
    let examples = std::fs::read(folder.join(index)).unwrap_or_default();
    let kinds: Vec<Value> = serde_json::from_slice(&examples).unwrap_or_default();
    let pulls = kinds.iter().filter(|kind| kind["name"] == "pull_request");
    let mut bodies: Vec<String> = pulls
        .flat_map(|kind| kind["examples"].as_array().unwrap())
        .map(ToString::to_string)
        .collect();
    if bodies.is_empty() {
        let body = json!({
            "action": "opened", "number": 1, "repository": {"full_name": "octo/demo"},
            "pull_request": {"number": 1, "body": "x".repeat(24 << 10)},
        });
        bodies.push(body.to_string());
    }
    let sign = |body: String| {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        (body, signature)
    };
    bodies.into_iter().map(sign).collect()
}

/// A gateway whose state is in the folder, and where it takes webhooks.
fn start(folder: &Path) -> (Child, String) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gateway = Command::new(env!("CARGO_BIN_EXE_verdict"))
        .args(["serve", "--role", "gateway"])
        .env("XDG_STATE_HOME", folder)
        .env("HOME", folder)
        .env("VERDICT__SERVER__LISTEN", format!("127.0.0.1:{port}"))
        .env("VERDICT__GITHUB__TOKEN", "nobody's")
        .env("VERDICT__GITHUB__WEBHOOK_SECRET", SECRET)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    (gateway, format!("http://127.0.0.1:{port}/webhooks/github"))
}

async fn queued(folder: &Path) -> u64 {
    let file = folder.join("verdict/verdict.db");
    let db = Sqlite::open(file, SqliteOptions::default()).await.unwrap();
    let queue = embedded::Embedded::open(db, embedded::Options::default());
    queue.depth().await.unwrap().ready.unwrap()
}
