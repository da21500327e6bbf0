//! Headers are attributes, within what Pub/Sub takes.

use std::time::Duration;

use google_cloud_pubsub::client::Publisher;
use serde_json::{Value, json};
use verdict::queue::{DeadLetter, Message, Queue, Settlement, note, peek_dead};

use super::bench::{Admin, open, options};
use crate::{queue::bench::within, support::Emulator};

async fn publisher(emulator: &Emulator, topic: &str) -> Publisher {
    let nobody = google_cloud_auth::credentials::anonymous::Builder::new().build();
    let builder = Publisher::builder(Admin::of(emulator).await.topic(topic));
    builder.with_endpoint(emulator.endpoint()).with_credentials(nobody).build().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_up_to_the_limits_pass_and_beyond_are_refused_by_name() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, options(&emulator), 8);
    let mut largest = Message::new("body").with(&"n".repeat(256), "v".repeat(1024));
    for n in 1..96 {
        largest = largest.with(&format!("header-{n}"), "ü");
    }
    queue.publish(largest.clone(), Duration::ZERO).await.unwrap();
    let delivery = within(queue.consumer().next()).await.unwrap();
    assert!(delivery.message == largest, "it came back changed");
    delivery.settle(Settlement::Ack).await.unwrap();

    let long = "n".repeat(257);
    for (message, named) in [
        (largest.with("one-more", ""), "97 headers"),
        (Message::new("").with(&long, ""), "256 bytes"),
        (Message::new("").with("wordy", "v".repeat(1025)), "`wordy`"),
        (Message::new("").with("", "x"), "no name"),
        (Message::new("").with("google", "x"), "`google`"),
        (Message::new("").with("verdict_sent", "1"), "`verdict_sent`"),
    ] {
        let error = queue.publish(message, Duration::ZERO).await.unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert!(!error.is_transient());
    }
}

/// What others publish: names in any case, Pub/Sub's own attributes, no attribute of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_others_come_with_their_headers_in_lower_case() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, options(&emulator), 8);
    queue.check().await.unwrap();
    let before = verdict::base::Clock::system().now();
    let foreign = google_cloud_pubsub::model::Message::new()
        .set_data("{}")
        .set_attributes([("X-GitHub-Event", "Push"), ("Content-Type", "application/json")]);
    publisher(&emulator, "work").await.publish(foreign).await.unwrap();
    let delivery = within(queue.consumer().next()).await.unwrap();
    let expected = Message::new("{}").with("x-github-event", "Push");
    assert_eq!(delivery.message, expected.with("content-type", "application/json"));
    assert!(delivery.enqueued_at.since(before) < Duration::from_secs(30));
    assert!(before.since(delivery.enqueued_at) < Duration::from_secs(2));
    assert_eq!(delivery.deliveries, 1);
}

/// Whatever a queue can have delivered has a place among the dead letters, if not all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_keep_what_fits() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, options(&emulator), 8);
    let mut message = Message::new(vec![7; 10_000_000])
        .with("wordy", "v".repeat(2000))
        .with("content-type", "application/json");
    for n in 0..200 {
        message = message.with(&format!("header-{n:03}"), "x");
    }
    let letter = DeadLetter {
        id: "letter".to_owned(),
        reason: "ü".repeat(1000),
        by_broker: false,
        notes: Vec::new(),
        message,
    };
    queue.publish_dead(letter).await.unwrap();
    let shown = peek_dead(&queue, 10).await.unwrap();
    let [shown] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((shown.id.as_str(), shown.by_broker), ("letter", false));
    assert_eq!(shown.reason, "ü".repeat(512));
    assert_eq!(shown.message.header("content-type"), Some("application/json"));
    assert_eq!(shown.message.header("x-verdict-body"), Some("in the store"));
    assert_eq!(shown.message.header("wordy"), None);
    assert!(shown.message.body.is_empty() && shown.message.headers.len() > 80);
}

/// Who pulls from the dead letters' subscription sees why a letter is there; its message is what it
/// was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_attributes_for_people() {
    let emulator = Emulator::shared();
    let queue = open(&emulator, options(&emulator), 8);
    let letter = DeadLetter {
        id: "letter".to_owned(),
        reason: "permanent".to_owned(),
        by_broker: false,
        notes: vec![(note::ERROR, "no such commit".to_owned()), (note::ATTEMPTS, "3".to_owned())],
        message: Message::new("body").with("x-github-event", "push"),
    };
    queue.publish_dead(letter.clone()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let dead = format!(
        "{}/v1/projects/{}/subscriptions/work-dead",
        emulator.endpoint(),
        emulator.project()
    );
    let ask = async |what: &str, body: Value| -> Value {
        let asked = client.post(format!("{dead}:{what}")).body(body.to_string());
        let text = asked.send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let pulled = ask("pull", json!({"maxMessages": 1})).await;
    let received = &pulled["receivedMessages"][0];
    let said = &received["message"]["attributes"];
    let names = ["verdict_letter", "verdict_reason", note::ERROR, note::ATTEMPTS, "x-github-event"];
    assert_eq!(
        names.map(|name| &said[name]),
        ["letter", "permanent", "no such commit", "3", "push"]
    );
    ask("modifyAckDeadline", json!({"ackIds": [received["ackId"]], "ackDeadlineSeconds": 0})).await;
    assert_eq!(peek_dead(&queue, 9).await.unwrap(), [DeadLetter { notes: Vec::new(), ..letter }]);
}
