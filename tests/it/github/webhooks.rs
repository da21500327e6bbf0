//! R1, W6: from a webhook to a review.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{Place, fast};
use crate::{
    server::{serve, stop},
    support::{Machine, eventually},
};

const SECRET: &str = "old secret, new secret";

/// The machine of the place, which takes webhooks.
fn receiving(place: Place) -> Place {
    let machine = fast(&place.github)
        .set("github.token", &place.github.token("reviewer"))
        .set("github.webhook_secret", SECRET)
        .set("worker.quiet", "0s");
    Place { machine, ..place }
}

fn signed(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let bytes = mac.finalize().into_bytes();
    format!("sha256={}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

async fn deliver(
    at: std::net::SocketAddr,
    delivery: &str,
    signature: Option<&str>,
    body: &str,
) -> (u16, Value) {
    send(at, ("pull_request", delivery), signature, body).await
}

/// Any event, signed with `secret`.
pub async fn deliver_event(
    at: std::net::SocketAddr,
    event: &str,
    delivery: &str,
    body: &str,
) -> (u16, Value) {
    send(at, (event, delivery), Some(&signed("secret", body)), body).await
}

async fn send(
    at: std::net::SocketAddr,
    (event, delivery): (&str, &str),
    signature: Option<&str>,
    body: &str,
) -> (u16, Value) {
    let mut request = reqwest::Client::new()
        .post(format!("http://{at}/webhooks/github"))
        .header("content-type", "application/json")
        .header("x-github-event", event)
        .header("x-github-delivery", delivery)
        .body(body.to_owned());
    if let Some(signature) = signature {
        request = request.header("x-hub-signature-256", signature);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

/// What GitHub sends is reviewed; a push supersedes, and each head has one review.
#[tokio::test]
async fn each_head_of_a_pull_request_gets_one_review() {
    let place = receiving(Place::new().await);
    let (server, at) = serve(&place.machine, "all").await;
    let url = format!("http://{at}/webhooks/github");
    place.repository.webhook(&url, Some("new secret"), &["pull_request"]);
    place.push("e.js", "function h() { debugger; }\n");
    eventually("the new head is reviewed", async || {
        (place.pull.reviews().len() == 1).then_some(())
    })
    .await;
    place.push("f.js", "function i() { debugger; }\n");
    eventually("the next head is reviewed", async || {
        (place.pull.reviews().len() == 2).then_some(())
    })
    .await;
    let heads: Vec<_> = place.pull.reviews().iter().map(|review| review.commit.clone()).collect();
    assert_eq!(heads[1], place.pull.head());
    assert_ne!(heads[0], heads[1]);
    stop(server).await;
    place.nothing_was_refused();
}

/// Only what GitHub signed is taken, and a delivery once.
#[tokio::test]
async fn only_signed_deliveries_are_taken_and_each_once() {
    let place = receiving(Place::new().await);
    let (server, at) = serve(&place.machine, "gateway").await;
    let body = json!({
        "action": "opened", "number": 1, "unused": "x".repeat(1000),
        "pull_request": {"number": 1, "head": {"sha": place.pull.head()}},
        "repository": {"full_name": "octo/demo"},
    })
    .to_string();
    let (status, answer) = deliver(at, "d1", None, &body).await;
    assert_eq!(status, 401, "{answer}");
    let (status, answer) = deliver(at, "d1", Some(&signed("other", &body)), &body).await;
    assert_eq!(status, 401, "{answer}");
    let tampered = body.replace("opened", "closed");
    let (status, _) = deliver(at, "d1", Some(&signed("old secret", &body)), &tampered).await;
    assert_eq!(status, 401);
    for (secret, expected) in [("old secret", "queued"), ("new secret", "known")] {
        let (status, answer) = deliver(at, "d1", Some(&signed(secret, &body)), &body).await;
        assert_eq!((status, &answer["status"]), (202, &json!(expected)));
    }
    let not_json = "action=opened";
    let (status, _) = deliver(at, "d2", Some(&signed("old secret", not_json)), not_json).await;
    assert_eq!(status, 400);
    stop(server).await;
}

/// An address that others reach takes no unsigned events: the process says so and does not start.
#[tokio::test]
async fn an_open_address_needs_a_secret() {
    let place = Place::new().await;
    let machine = Machine::new()
        .set("github.url", &place.github.url())
        .set("server.listen", "0.0.0.0:0")
        .set("server.token", "t");
    let done = machine.run(&["serve"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("github.webhook_secret"), "{}", done.stderr);
}
