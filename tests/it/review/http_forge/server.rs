//! The code host at the other end: one change, number 7, in a small API over HTTP that refuses what
//! it is told to refuse.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle};

/// Path, base and head of a file.
type File = (&'static str, Option<&'static str>, &'static str);

#[derive(Default)]
struct Host {
    files: Vec<File>,
    /// What is refused once: path, status, the seconds to wait.
    refusals: Vec<(String, u16, Option<u64>)>,
    requests: Vec<String>,
    /// By idempotency key.
    reviews: BTreeMap<String, Value>,
}

type Shared = Arc<Mutex<Host>>;

pub struct Server {
    pub address: String,
    host: Shared,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Server {
    pub async fn start(files: &[File]) -> Self {
        let host = Arc::new(Mutex::new(Host { files: files.to_vec(), ..Host::default() }));
        let routes = Router::new()
            .route("/changes/7", get(change))
            .route("/changes/7/files", get(listed))
            .route("/changes/7/base", get(base))
            .route("/changes/7/reviews", post(publish))
            .route("/blobs/{*id}", get(blob))
            .layer(axum::middleware::from_fn_with_state(host.clone(), refuse))
            .with_state(host.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async { _ = stopped.await };
            axum::serve(listener, routes).with_graceful_shutdown(stopped).await.unwrap();
        });
        Self { address, host, stop, serving }
    }

    /// Refuses the next request of this path.
    pub fn refuse(&self, path: &str, status: u16, wait: Option<u64>) {
        self.host.lock().unwrap().refusals.push((path.to_owned(), status, wait));
    }

    pub fn reviews(&self) -> Vec<Value> {
        self.host.lock().unwrap().reviews.values().cloned().collect()
    }

    pub fn requests(&self) -> Vec<String> {
        self.host.lock().unwrap().requests.clone()
    }

    pub async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

async fn refuse(
    State(host): State<Shared>,
    request: Request,
    next: axum::middleware::Next,
) -> Response {
    let refusal = {
        let mut host = host.lock().unwrap();
        let path = request.uri().path().to_owned();
        host.requests.push(path.clone());
        let at = host.refusals.iter().position(|(refused, ..)| *refused == path);
        at.map(|at| host.refusals.remove(at))
    };
    let Some((_, status, wait)) = refusal else { return next.run(request).await };
    let mut headers = HeaderMap::new();
    headers.extend(wait.map(|wait| (RETRY_AFTER, wait.into())));
    (StatusCode::from_u16(status).unwrap(), headers).into_response()
}

async fn change() -> String {
    json!({ "base": "base7", "head": "head7", "updated_at": 12 }).to_string()
}

async fn listed(State(host): State<Shared>) -> String {
    let host = host.lock().unwrap();
    let changed = host.files.iter().filter(|(_, base, head)| *base != Some(*head));
    let files = changed.map(|(path, base, head)| {
        json!({
            "path": path,
            "base": base.map(|_| format!("base-{path}")),
            "head": format!("head-{path}"),
            "size": head.len(),
            "patch": patch(base.unwrap_or_default(), head),
        })
    });
    Value::from_iter(files).to_string()
}

/// A patch of one hunk, as code hosts show it: what both have at the end is context.
fn patch(base: &str, head: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (base.lines().collect(), head.lines().collect());
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (gone, come) = (&old[before..], &new[before..]);
    let after = gone.iter().rev().zip(come.iter().rev()).take_while(|(a, b)| a == b).count();
    let start = |lines: &[&str]| usize::from(!lines.is_empty());
    let head = format!("@@ -{},{} +{},{} @@\n", start(&old), old.len(), start(&new), new.len());
    let line = |sign: char| move |line: &&str| format!("{sign}{line}\n");
    let lines = old[..before].iter().map(line(' '));
    let lines = lines.chain(gone[..gone.len() - after].iter().map(line('-')));
    let lines = lines.chain(come[..come.len() - after].iter().map(line('+')));
    let lines = lines.chain(come[come.len() - after..].iter().map(line(' ')));
    std::iter::once(head).chain(lines).collect()
}

async fn base(State(host): State<Shared>) -> String {
    let host = host.lock().unwrap();
    let there = host.files.iter().filter(|(_, base, _)| base.is_some());
    let there = there.map(|(path, ..)| ((*path).to_owned(), json!(format!("base-{path}"))));
    Value::from_iter(there).to_string()
}

async fn blob(State(host): State<Shared>, uri: Uri) -> Response {
    let host = host.lock().unwrap();
    let id = uri.path().trim_start_matches("/blobs/");
    let text = host.files.iter().find_map(|(path, base, head)| match id.split_once('-')? {
        ("base", of) if of == *path => *base,
        ("head", of) if of == *path => Some(head),
        _ => None,
    });
    match text {
        Some(text) => json!({ "text": text }).to_string().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn publish(State(host): State<Shared>, body: Bytes) -> String {
    let mut host = host.lock().unwrap();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let key = review["key"].as_str().unwrap().to_owned();
    host.reviews.entry(key.clone()).or_insert(review);
    let id = host.reviews.keys().position(|known| *known == key).unwrap() + 1;
    json!({ "id": id }).to_string()
}
