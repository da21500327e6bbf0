//! RabbitMQ: the node of the whole test run, or one of a test's own that it may break.
//!
//! Either way a test has a virtual host of its own. [`Broker::finish`] ends every test: it fails if
//! a connection is still open, and deletes the virtual host with all in it. A private node is
//! killed when its broker is dropped, also after a panic.

use std::thread;

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{PATIENCE, eventually, service::Service};

/// A virtual host on a broker.
pub struct Broker {
    amqp: String,
    api: String,
    vhost: String,
    http: reqwest::Client,
    service: Option<Service>,
    open: bool,
}

/// A queue, as the broker's statistics show it: up to some hundred milliseconds ago.
#[derive(Debug, Clone, Deserialize)]
pub struct Queue {
    pub name: String,
    /// Ready and unacknowledged messages.
    pub messages: u64,
    #[serde(rename = "messages_ready")]
    pub ready: u64,
    #[serde(rename = "messages_unacknowledged")]
    pub unacknowledged: u64,
    #[serde(default)]
    pub consumers: u64,
    pub durable: bool,
    /// `x-queue-type` and the like, as JSON.
    pub arguments: Value,
}

impl Broker {
    /// On the node of the whole test run.
    pub async fn shared() -> Self {
        let (amqp, api) =
            (super::told("VERDICT_TEST_AMQP"), super::told("VERDICT_TEST_RABBITMQ_API"));
        Self::at(amqp, api, None).await
    }

    /// On a node of this test's own: up in some seconds.
    pub async fn private() -> Self {
        let mut service = Service::new("rabbitmq");
        let told = service.start().await;
        let [amqp, api] = ["VERDICT_TEST_AMQP", "VERDICT_TEST_RABBITMQ_API"];
        Self::at(told[amqp].clone(), told[api].clone(), Some(service)).await
    }

    async fn at(amqp: String, api: String, service: Option<Service>) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        let broker = Self { amqp, api, vhost: super::unique(), http, service, open: true };
        let (vhosts, permissions) =
            (broker.path("vhosts", ""), broker.path("permissions", "guest"));
        broker.ask(Method::PUT, &vhosts, json!({})).await;
        let all = json!({ "configure": ".*", "write": ".*", "read": ".*" });
        broker.ask(Method::PUT, &permissions, all).await;
        broker
    }

    /// `amqp://guest:guest@HOST:PORT/VHOST`.
    pub fn url(&self) -> String {
        format!("{}/{}", self.amqp, self.vhost)
    }

    /// The same behind another address, of a proxy.
    pub fn url_through(&self, address: impl std::fmt::Display) -> String {
        format!("amqp://guest:guest@{address}/{}", self.vhost)
    }

    /// `HOST:PORT` of AMQP: the target of a proxy.
    pub fn address(&self) -> &str {
        self.amqp.rsplit_once('@').unwrap().1
    }

    pub fn vhost(&self) -> &str {
        &self.vhost
    }

    /// The queue, if it is there.
    pub async fn queue(&self, name: &str) -> Option<Queue> {
        self.queues().await.into_iter().find(|queue| queue.name == name)
    }

    /// Every queue of the virtual host, once all of them have statistics.
    pub async fn queues(&self) -> Vec<Queue> {
        let path = self.path("queues", "");
        eventually("every queue has statistics", async || {
            serde_json::from_value(self.ask(Method::GET, &path, Value::Null).await).ok()
        })
        .await
    }

    /// Deletes the queue with all its messages, whoever consumes from it, and whatever the user of
    /// this broker's URL may.
    pub async fn delete_queue(&self, name: &str) {
        let user = format!("/api/users/{}", self.vhost);
        let permissions = format!("/api/permissions/{0}/{0}", self.vhost);
        let all = json!({ "configure": ".*", "write": ".*", "read": ".*" });
        let login = json!({ "password": "guest", "tags": "administrator" });
        self.ask(Method::PUT, &user, login).await;
        self.ask(Method::PUT, &permissions, all).await;
        self.ask_as(&self.vhost, Method::DELETE, &self.path("queues", name), "null".into()).await;
        self.ask(Method::DELETE, &user, Value::Null).await;
    }

    /// Makes a durable queue, as somebody would by hand.
    pub async fn create_queue(&self, name: &str, arguments: &Value) {
        let body = json!({ "durable": true, "arguments": arguments });
        self.ask(Method::PUT, &self.path("queues", name), body).await;
    }

    /// A queue takes no message, by an operator's policy, or it takes them again.
    pub async fn refuse(&self, name: &str, refused: bool) {
        let path = self.path("policies", &format!("refuse-{name}"));
        let pattern = format!("^{}$", name.replace('.', "\\."));
        let definition = json!({ "max-length": 0, "overflow": "reject-publish" });
        let policy = json!({ "pattern": pattern, "definition": definition, "apply-to": "queues" });
        let method = if refused { Method::PUT } else { Method::DELETE };
        self.ask(method, &path, policy).await;
    }

    /// Waits until nothing is left of the queue `name` and of those that belong to it: nothing ready,
    /// nothing in anybody's hands, nothing delayed, no dead letter.
    pub async fn empty(&self, name: &str) {
        let mut last = Vec::new();
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                last = self.queues().await;
                let ours = last.iter().filter(|queue| queue.name.starts_with(name));
                if ours.clone().count() > 0 && ours.clone().all(|queue| queue.messages == 0) {
                    return;
                }
                super::pass(std::time::Duration::from_millis(50)).await;
            }
        });
        let found = found.await;
        if found.is_err() {
            let raw = self.ask(Method::GET, &self.path("queues", ""), Value::Null).await;
            panic!("something is left: {last:#?}\n{raw}");
        }
    }

    /// Whether the user may declare and delete things in the virtual host, or only use them.
    pub async fn allow_declaring(&self, allowed: bool) {
        let configure = if allowed { ".*" } else { "" };
        let what = json!({ "configure": configure, "write": ".*", "read": ".*" });
        self.ask(Method::PUT, &self.path("permissions", "guest"), what).await;
    }

    /// The names of the open connections.
    pub async fn connections(&self) -> Vec<String> {
        let path = format!("/api/vhosts/{}/connections", self.vhost);
        let list = self.ask(Method::GET, &path, Value::Null).await;
        let list = list.as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|entry| Some(entry["name"].as_str()?.to_owned())).collect()
    }

    /// The broker closes every connection, `count` or more: waits until it knows of as many.
    pub async fn close_connections(&self, count: usize) {
        let names = eventually("the connections are known", async || {
            let names = self.connections().await;
            (names.len() >= count).then_some(names)
        });
        for name in names.await {
            let mut url = self.url_of("/api/connections");
            url.path_segments_mut().unwrap().push(&name);
            let answer = self.http.delete(url).basic_auth("guest", Some("guest")).send().await;
            let status = answer.unwrap().status();
            assert!(status.is_success() || status == StatusCode::NOT_FOUND, "{name}: {status}");
        }
    }

    /// Ends the test's use of it: fails if a connection is still open, and deletes the virtual host.
    pub async fn finish(mut self) {
        self.open = false;
        eventually("every connection is closed", async || {
            self.connections().await.is_empty().then_some(())
        })
        .await;
        self.ask(Method::DELETE, &self.path("vhosts", ""), Value::Null).await;
        if let Some(service) = &mut self.service {
            service.kill().await;
        }
    }

    /// Whether the node still has the virtual host of that name.
    pub async fn has_vhost(&self, name: &str) -> bool {
        let all = self.ask(Method::GET, "/api/vhosts", Value::Null).await;
        all.as_array().unwrap().iter().any(|vhost| vhost["name"] == name)
    }

    fn path(&self, kind: &str, name: &str) -> String {
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        format!("/api/{kind}/{}{name}", self.vhost)
    }

    fn url_of(&self, path: &str) -> url::Url {
        format!("{}{path}", self.api).parse().unwrap()
    }

    /// Publishes to a queue, with these headers as JSON.
    pub async fn publish(&self, queue: &str, body: &str, headers: &str) {
        let [queue, body] = [queue, body].map(|text| json!(text).to_string());
        let what = format!(
            "{{\"routing_key\":{queue},\"payload\":{body},\"payload_encoding\":\"string\",\
             \"properties\":{{\"headers\":{headers}}}}}"
        );
        let path = format!("/api/exchanges/{}/amq.default/publish", self.vhost);
        let answer = self.ask_as("guest", Method::POST, &path, what).await;
        assert_eq!(answer["routed"], true, "{answer}");
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> Value {
        self.ask_as("guest", method, path, body.to_string()).await
    }

    async fn ask_as(&self, user: &str, method: Method, path: &str, body: String) -> Value {
        let request = self.http.request(method.clone(), self.url_of(path));
        let request = request.basic_auth(user, Some("guest"));
        let request = request.header("content-type", "application/json").body(body);
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
}

/// For a private node only.
impl Broker {
    /// Stops the node in good order: it closes its connections first.
    pub async fn stop(&mut self) {
        self.own().stop().await;
    }

    /// SIGKILL. Comes back when nobody listens at its address any more.
    pub async fn kill(&mut self) {
        self.own().kill().await;
        eventually("the address is free", async || {
            TcpStream::connect(self.address()).await.is_err().then_some(())
        })
        .await;
    }

    /// Starts the node again: same address, same data.
    pub async fn start(&mut self) {
        let told = self.own().start().await;
        assert_eq!(told["VERDICT_TEST_AMQP"], self.amqp);
    }

    pub async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// Connections stay open, and nothing answers.
    pub fn freeze(&self) {
        self.service.as_ref().unwrap().freeze();
    }

    /// The node goes on where it stood.
    pub fn thaw(&self) {
        self.service.as_ref().unwrap().thaw();
    }

    /// Raises or clears the disk alarm: while it is on, the node reads nothing from publishers.
    pub async fn disk_alarm(&self, on: bool) {
        let limit = if on { "1000000GB" } else { "10MB" };
        let service = self.service.as_ref().unwrap();
        service.control("ctl", &["set_disk_free_limit", limit]).await;
        eventually("the alarm is as wanted", async || {
            let nodes = self.ask(Method::GET, "/api/nodes", Value::Null).await;
            (nodes[0]["disk_free_alarm"] == on).then_some(())
        })
        .await;
    }

    fn own(&mut self) -> &mut Service {
        self.service.as_mut().unwrap()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        if self.service.is_none() {
            delete(self.url_of(&self.path("vhosts", "")));
        }
        assert!(thread::panicking(), "a test must end its use of a broker with `finish`");
    }
}

/// Outside the test's runtime, which may be on its way down.
fn delete(url: url::Url) {
    let work = async move {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let _ = http.delete(url).basic_auth("guest", Some("guest")).send().await;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _ = thread::spawn(move || runtime.unwrap().block_on(work)).join();
}
