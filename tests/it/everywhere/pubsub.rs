//! Google's Pub/Sub emulator as a place: a project of its own, whose subscription gives a message up
//! at the fifth delivery that nobody acknowledged.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use google_cloud_auth::credentials::{Credentials, anonymous};
use google_cloud_pubsub::{
    client::{Publisher, SubscriptionAdmin, TopicAdmin},
    model,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use verdict::queue::{
    Message, Queue,
    pubsub::{Options, PubSub},
};

use super::site::{HEADERS, Place, distinct, millis};
use crate::support::{Emulator, eventually};

const NAME: &str = "verdict";
const DEAD: &str = "verdict-dead";
const ATTEMPTS: u32 = 5;
const BACKOFF: Duration = millis(100);
/// Bytes that the service takes in a request.
const LARGEST: usize = 10_000_000;
/// How long what must be there may take to come.
const LONG: Duration = Duration::from_secs(30);
const DEADLINE: Duration = Duration::from_secs(10);

pub struct Project {
    emulator: Emulator,
    foreign: Foreign,
}

pub async fn place() -> Project {
    let emulator = Emulator::shared();
    let foreign = Foreign { endpoint: emulator.endpoint(), project: emulator.project().to_owned() };
    Project { emulator, foreign }
}

/// Google's client, used as anybody would.
#[derive(Clone)]
pub struct Foreign {
    endpoint: String,
    project: String,
}

fn nobody() -> Credentials {
    anonymous::Builder::new().build()
}

impl Foreign {
    fn topic(&self, name: &str) -> String {
        format!("projects/{}/topics/{name}", self.project)
    }

    fn subscription(&self, name: &str) -> String {
        format!("projects/{}/subscriptions/{name}", self.project)
    }

    /// Publishes to verdict's topic. The error is the client's.
    pub async fn publish(
        &self,
        attributes: BTreeMap<String, String>,
        body: impl Into<bytes::Bytes>,
    ) -> Result<String, String> {
        let publisher = Publisher::builder(self.topic(NAME));
        let publisher = publisher.with_endpoint(&self.endpoint).with_credentials(nobody());
        let publisher = publisher.build().await.unwrap();
        let message = model::Message::new().set_data(body).set_attributes(attributes);
        publisher.publish(message).await.map_err(|error| error.to_string())
    }

    async fn post(&self, subscription: &str, verb: &str, body: Value) -> Value {
        let url = format!("{}/v1/{}:{verb}", self.endpoint, self.subscription(subscription));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = http.post(url).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// Whatever is there now, one request after the other: a stream that ends may keep messages
    /// from everybody for a while.
    async fn pull(&self, subscription: &str) -> Vec<Received> {
        let ask = json!({"maxMessages": 1000, "returnImmediately": true});
        let pulled = self.post(subscription, "pull", ask).await;
        serde_json::from_value::<Pulled>(pulled).unwrap().received_messages
    }

    async fn give_back(&self, subscription: &str, ids: Vec<String>) {
        if !ids.is_empty() {
            let ask = json!({"ackIds": ids, "ackDeadlineSeconds": 0});
            self.post(subscription, "modifyAckDeadline", ask).await;
        }
    }

    /// Receives as many as `least`, and on until nothing new has come for as long as `patience`;
    /// gives everything back.
    async fn look(&self, subscription: &str, least: usize, patience: Duration) -> Vec<Message> {
        let (mut seen, mut held, mut last) = (BTreeMap::new(), Vec::new(), Instant::now());
        eventually("nothing more comes", async || {
            for Received { ack_id, message } in self.pull(subscription).await {
                held.push(ack_id);
                if seen.insert(message.message_id.clone(), message).is_none() {
                    last = Instant::now();
                }
            }
            let patience = if seen.len() < least { LONG } else { patience };
            (last.elapsed() >= patience).then_some(())
        })
        .await;
        self.give_back(subscription, held).await;
        seen.into_values().map(Foreign::message).collect()
    }

    fn message(carried: Carried) -> Message {
        let body = BASE64_STANDARD.decode(carried.data).unwrap();
        Message { headers: carried.attributes, body: body.into() }
    }

    async fn topics(&self) -> TopicAdmin {
        let admin = TopicAdmin::builder().with_endpoint(&self.endpoint);
        admin.with_credentials(nobody()).build().await.unwrap()
    }

    async fn subscriptions(&self) -> SubscriptionAdmin {
        let admin = SubscriptionAdmin::builder().with_endpoint(&self.endpoint);
        admin.with_credentials(nobody()).build().await.unwrap()
    }

    /// Receives and gives back, until it is given up. Answers after how many deliveries.
    async fn give_back_until_dead(&self) -> usize {
        let mut deliveries = 0;
        eventually("it is given up", async || {
            let pulled = self.pull(NAME).await;
            deliveries += pulled.len();
            self.give_back(NAME, pulled.into_iter().map(|received| received.ack_id).collect())
                .await;
            // The emulator moves it when it would deliver it once more.
            (!self.look(DEAD, 0, Duration::ZERO).await.is_empty()).then_some(())
        })
        .await;
        deliveries
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pulled {
    #[serde(default)]
    received_messages: Vec<Received>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    ack_id: String,
    message: Carried,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Carried {
    message_id: String,
    #[serde(default)]
    data: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

#[async_trait(?Send)]
impl Place for Project {
    fn limit(&self) -> usize {
        ATTEMPTS as usize
    }

    async fn open(&self) -> Arc<dyn Queue> {
        let options = Options {
            dead_topic: Some(DEAD.to_owned()),
            dead_subscription: Some(DEAD.to_owned()),
            delivery_attempts: ATTEMPTS,
            min_backoff: BACKOFF,
            max_backoff: BACKOFF,
            ack_deadline: DEADLINE,
            emulator: Some(self.emulator.address().to_owned()),
            ..Options::default()
        };
        let project = self.emulator.project();
        Arc::new(PubSub::open(project, NAME, Some(NAME), options, 4).unwrap())
    }

    /// Longer than anything could be in hand that was neither settled nor extended.
    async fn left(&self, least: usize) -> usize {
        self.foreign.look(NAME, least, DEADLINE + Duration::from_secs(4)).await.len()
    }

    async fn dead(&self, least: usize) -> Vec<Message> {
        distinct(self.foreign.look(DEAD, least, millis(2500)).await, "verdict_letter")
    }

    /// What one sees, others do not, until it ends.
    fn reconcile(&self) -> Duration {
        Duration::from_secs(8)
    }

    fn stragglers(&self) -> Duration {
        DEADLINE + Duration::from_secs(3)
    }

    async fn refuse_dead(&self) {
        let delete = self.foreign.topics().await;
        delete.delete_topic().set_topic(self.foreign.topic(DEAD)).send().await.unwrap();
    }

    /// A subscription does not find back to a topic that was deleted: verdict makes both again.
    async fn take_dead(&self) {
        let delete = self.foreign.subscriptions().await.delete_subscription();
        delete.set_subscription(self.foreign.subscription(DEAD)).send().await.unwrap();
    }

    async fn leave(&self, message: Message) {
        self.foreign.publish(message.headers, message.body).await.unwrap();
    }

    /// What verdict publishes at most, headers included, and what the service takes.
    fn sizes(&self) -> Vec<usize> {
        vec![LARGEST - 16 * 1024 - HEADERS, LARGEST - HEADERS]
    }

    async fn give_up(&self, message: Message) {
        self.foreign.publish(message.headers, message.body).await.unwrap();
        let deliveries = self.foreign.give_back_until_dead().await;
        assert!(deliveries >= ATTEMPTS as usize, "given up after {deliveries} deliveries");
    }

    async fn finish(self: Box<Self>) {}
}
