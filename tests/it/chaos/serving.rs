//! `verdict serve`, the real binary, on the same service as the scenario's worker and on a queue of
//! its own: what it says at `/readyz`, and whether it works again afterwards by itself.

use std::{fmt::Display, net::SocketAddr};

use serde_json::{Value, json};
use verdict::graph::{RunStatus, store::Store};

use crate::{
    crash::fixture::repository,
    review::support::Repo,
    server::{post, readiness, serve, stop},
    support::{Emulator, Machine, Process, eventually},
};

pub struct Serving {
    machine: Machine,
    repo: Repo,
    process: Process,
    at: SocketAddr,
}

impl Serving {
    /// Up, and ready. `url` names the queue at RabbitMQ.
    pub async fn rabbit(url: &str) -> Self {
        let machine = Machine::new().set("queue.url", url);
        let machine = machine.set("queue.amqp.timeout", "3s").set("queue.amqp.heartbeat", "3s");
        Self::new(machine).await
    }

    /// The same on Pub/Sub, at the emulator's address or a proxy's.
    pub async fn pubsub(emulator: &Emulator, address: impl Display) -> Self {
        let url = format!("pubsub://{}/reviews?topic=reviews", emulator.project());
        let machine = Machine::new().set("queue.url", &url).set("queue.pubsub.timeout", "3s");
        Self::new(machine.set("queue.pubsub.emulator", &address.to_string())).await
    }

    async fn new(machine: Machine) -> Self {
        let repo = repository();
        let machine = machine.set("forge.local.allow", &repo.path().display().to_string());
        let (process, at) = serve(&machine, "all").await;
        let serving = Self { machine, repo, process, at };
        serving.ready().await;
        serving
    }

    /// Waits until it says that it is ready.
    pub async fn ready(&self) {
        let checks = readiness(self.at, true).await;
        assert_eq!(checks, json!({"queue": "ok", "store": "ok", "worker": "ok"}));
    }

    /// Waits until `/readyz` answers 503 with a reason for this check, about the queue.
    pub async fn not_ready(&self, check: &str) -> String {
        eventually(&format!("/readyz names `{check}`"), async || {
            let checks = readiness(self.at, false).await;
            let why = checks[check].as_str().unwrap();
            (why != "ok").then(|| why.to_owned())
        })
        .await
    }

    /// Asks it for a review: taken, whatever the queue is like. Answers the run.
    pub async fn review(&self) -> String {
        let input = json!({"repo": self.repo.path(), "base": "HEAD~1", "head": "HEAD"});
        let key = format!("{:x}", fastrand::u64(..));
        let job: Value = json!({"workflow": "review", "input": input, "key": key});
        let answer = post(self.at, &job).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub async fn completed(&self, run: &str) {
        let (store, run) = (self.machine.store().await, run.parse().unwrap());
        eventually("the review is complete", async || {
            let head = store.head(&run).await.unwrap().unwrap();
            (head.status == RunStatus::Completed).then_some(())
        })
        .await;
    }

    /// The process that began is ready, does a review, and stops in good order.
    pub async fn ends(mut self) {
        self.ready().await;
        let run = self.review().await;
        self.completed(&run).await;
        assert!(!self.process.has_ended());
        stop(self.process).await;
    }
}
