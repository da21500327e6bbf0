//! What the tests share: a repository on disk, a client, and a receiver of webhooks.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use axum::{Router, extract::State, http::HeaderMap};
use fake_github::{App, FakeGitHub, Level, Permissions, PullRequest, Repository};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A git repository with a working tree.
pub struct Work {
    folder: TempDir,
}

impl Work {
    /// One with the branches `main` and `feature`, which changes `code.rs` in two hunks, renames a file and adds one.
    pub fn new() -> Self {
        let work = Self { folder: tempfile::tempdir().unwrap() };
        work.git(&["init", "--quiet", "--initial-branch=main"]);
        let lines: Vec<_> = (1..=40).map(|n| format!("line {n}")).collect();
        work.commit(&[
            ("code.rs", &lines.join("\n")),
            ("old name.txt", &"same\n".repeat(9)),
            ("gone.txt", "x\n"),
        ]);
        work.git(&["checkout", "--quiet", "-b", "feature"]);
        let changed =
            lines.join("\n").replace("line 3\n", "LINE 3\nline 3b\n").replace("line 30\n", "");
        work.git(&["mv", "old name.txt", "new name.txt"]);
        work.git(&["rm", "--quiet", "gone.txt"]);
        work.commit(&[("code.rs", &changed), ("added.txt", "one\ntwo\n")]);
        work
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs git; its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }

    /// Writes files and commits them on the current branch. The commit.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, text) in files {
            let path = self.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "A change"]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

/// Runs git in a folder, without the machine's settings.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0");
    command.args([
        "-c",
        "user.name=alice",
        "-c",
        "user.email=alice@example.com",
        "-c",
        "protocol.version=2",
    ]);
    let output = command.arg("-C").arg(folder).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub text: String,
    pub json: Value,
}

impl Reply {
    /// The body, of an answer that succeeded.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text);
        self.json
    }

    /// The errors of a 422 in GitHub's words.
    #[track_caller]
    pub fn refused(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let errors = &self.json["errors"];
        let text = errors[0].as_str().or(errors[0]["message"].as_str()).map(ToOwned::to_owned);
        text.unwrap_or_else(|| self.json["message"].as_str().unwrap().to_owned())
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A client with a token.
#[derive(Clone)]
pub struct Client {
    pub url: String,
    token: Option<String>,
    http: reqwest::Client,
}

impl Client {
    pub fn new(github: &FakeGitHub, token: Option<String>) -> Self {
        let none = reqwest::redirect::Policy::none();
        let http = reqwest::Client::builder().no_proxy().redirect(none).build().unwrap();
        Self { url: github.url(), token, http }
    }

    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> reqwest::Result<Reply> {
        let mut request = self.http.request(method.parse().unwrap(), format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let headers = response.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        let text = response.text().await?;
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Reply { status, headers, text, json })
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Reply {
        self.try_send(method, path, headers, body).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], &Value::Null).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, &[], &body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send("PATCH", path, &[], &body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send("PUT", path, &[], &body).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], &Value::Null).await
    }

    /// The data of a GraphQL query, or its errors.
    pub async fn graphql(&self, query: &str, variables: Value) -> Result<Value, Value> {
        let body =
            self.post("/graphql", json!({"query": query, "variables": variables})).await.ok();
        if body["errors"].is_null() {
            Ok(body["data"].clone())
        } else {
            Err(body["errors"].clone())
        }
    }
}

/// Permissions from `name=level` pairs.
pub fn permissions(pairs: &[(&str, Level)]) -> Permissions {
    pairs.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect()
}

pub const EVENTS: [&str; 9] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "check_run",
    "merge_group",
    "installation",
    "push",
];

/// A fake with a repository, a pull request, and an App installed on it.
pub struct Site {
    pub github: FakeGitHub,
    pub work: Work,
    pub repository: Repository,
    pub pull: PullRequest,
    pub app: App,
    pub installation: u64,
    /// As the App's installation.
    pub bot: Client,
    /// As a person who may write.
    pub alice: Client,
}

impl Site {
    pub async fn new() -> Self {
        let github = FakeGitHub::start().await;
        let work = Work::new();
        let repository = github.repository("octo/demo", work.path());
        let pull = repository.open_pull("feature", "main");
        let write = ["pull_requests", "checks", "issues"].map(|name| (name, Level::Write));
        let app = github.app(
            "Verdict",
            permissions(
                &[&write[..], &[("contents", Level::Read), ("metadata", Level::Read)]].concat(),
            ),
            &EVENTS,
        );
        let installation = app.install("octo");
        let bot = Client::new(&github, Some(app.installation_token(installation)));
        repository.collaborator("alice", fake_github::Role::Write);
        let alice = Client::new(&github, Some(github.token("alice")));
        Self { github, work, repository, pull, app, installation, bot, alice }
    }

    /// A client with a token, or without one.
    pub fn client(&self, token: Option<String>) -> Client {
        Client::new(&self.github, token)
    }

    /// As the App itself.
    pub fn as_app(&self) -> Client {
        self.client(Some(self.app.jwt()))
    }
}

/// The URL of a path of the pull request.
pub fn on_pull(rest: &str) -> String {
    format!("/repos/octo/demo/pulls/1{rest}")
}

/// A webhook received.
#[derive(Debug)]
pub struct Received {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Something that receives webhooks, and answers them with a status.
pub struct Receiver {
    pub url: String,
    pub received: mpsc::UnboundedReceiver<Received>,
    task: tokio::task::JoinHandle<()>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hooks", listener.local_addr().unwrap());
        let (sender, received) = mpsc::unbounded_channel();
        let router = Router::new().fallback(receive).with_state(sender);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, received, task }
    }

    /// The next webhook of an event and action, whatever comes before it.
    pub async fn next(&mut self, event: &str, action: &str) -> Received {
        loop {
            let received = self.received.recv().await.unwrap();
            let fits = received.headers["x-github-event"] == event;
            if fits && (action.is_empty() || received.json()["action"] == action) {
                return received;
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn receive(
    State(sender): State<mpsc::UnboundedSender<Received>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let _ = sender.send(Received { headers, body: body.to_vec() });
}
