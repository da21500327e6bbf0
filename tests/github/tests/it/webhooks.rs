//! Webhooks: signed, logged, delivered once and again when asked for.

use aws_lc_rs::hmac;
use serde_json::json;

use crate::site::{EVENTS, Receiver, Site, permissions};

#[tokio::test]
async fn a_delivery_is_signed_over_its_body() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "secret");
    site.pull.comment("alice", "/verdict review");
    let received = receiver.next("issue_comment", "created").await;
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
    let expected = format!("sha256={}", hex::encode(hmac::sign(&key, &received.body)));
    assert_eq!(received.headers["x-hub-signature-256"], expected);
    assert_eq!(received.headers["x-github-hook-installation-target-type"], "integration");
    assert_eq!(received.headers["x-github-hook-installation-target-id"], site.app.id().to_string());
    let body = received.json();
    assert_eq!(
        (&body["installation"]["id"], &body["repository"]["full_name"]),
        (&json!(site.installation), &json!("octo/demo"))
    );
    assert_eq!(body["comment"]["body"], "/verdict review");
}

/// Two Apps get one event under one delivery id.
#[tokio::test]
async fn two_apps_share_the_delivery_id() {
    let site = Site::new().await;
    let (mut one, mut two) = (Receiver::start().await, Receiver::start().await);
    let other = site.github.app("Other", permissions(&[]), &EVENTS);
    other.install("octo");
    site.app.webhook(&one.url, "a");
    other.webhook(&two.url, "b");
    site.pull.close();
    let (one, two) =
        (one.next("pull_request", "closed").await, two.next("pull_request", "closed").await);
    assert_eq!(one.headers["x-github-delivery"], two.headers["x-github-delivery"]);
    assert_ne!(one.headers["x-github-hook-id"], two.headers["x-github-hook-id"]);
}

#[tokio::test]
async fn a_delivery_that_failed_stays_so_until_it_is_sent_again() {
    let site = Site::new().await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nowhere = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    site.app.webhook(&nowhere, "s");
    site.pull.close();
    site.github.webhooks_settled().await;
    let app = site.as_app();
    let listed = app.get("/app/hook/deliveries").await.ok();
    assert_eq!(
        (&listed[0]["status_code"], &listed[0]["event"], &listed[0]["action"]),
        (&json!(0), &json!("pull_request"), &json!("closed"))
    );

    let mut receiver = Receiver::start().await;
    app.patch("/app/hook/config", json!({"url": receiver.url, "secret": "s"})).await.ok();
    let path = format!("/app/hook/deliveries/{}", listed[0]["id"]);
    let whole = app.get(&path).await.ok();
    assert_eq!(whole["request"]["payload"]["pull_request"]["state"], "closed");
    assert_eq!(app.post(&format!("{path}/attempts"), json!({})).await.status, 202);
    let received = receiver.next("pull_request", "closed").await;
    assert_eq!(received.headers["x-github-delivery"], listed[0]["guid"].as_str().unwrap());
    assert_eq!(received.json(), whole["request"]["payload"]);
    site.github.webhooks_settled().await;
    let listed = app.get("/app/hook/deliveries").await.ok();
    assert_eq!((&listed[0]["redelivery"], &listed[0]["status_code"]), (&json!(true), &json!(200)));
    assert_eq!(site.app.deliveries().len(), 2);
}

#[tokio::test]
async fn the_log_has_pages_by_cursor_and_keeps_three_days() {
    let site = Site::new().await;
    let receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    for n in 0..5 {
        site.pull.comment("alice", &format!("comment {n}"));
    }
    site.github.webhooks_settled().await;
    let app = site.as_app();
    let first = app.get("/app/hook/deliveries?per_page=3").await;
    let next = first.header("link").split_once('>').unwrap().0.trim_start_matches('<').to_owned();
    let next = app.get(next.strip_prefix(&site.github.url()).unwrap()).await;
    assert_eq!((first.json.as_array().unwrap().len(), next.header("link")), (3, ""));
    assert_eq!(next.ok().as_array().unwrap().len(), 2);
    assert_eq!(app.get("/app/hook/deliveries?cursor=x").await.status, 422);
    site.github.advance(std::time::Duration::from_hours(72));
    assert_eq!(site.as_app().get("/app/hook/deliveries").await.ok(), json!([]));
}

#[tokio::test]
async fn a_repository_has_webhooks_of_its_own() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.repository.webhook(&receiver.url, Some("s"), &["pull_request"]);
    site.pull.comment("alice", "not asked for");
    site.pull.close();
    let received = receiver.received.recv().await.unwrap();
    assert_eq!(received.headers["x-github-event"], "pull_request");
    assert_eq!(received.headers["x-github-hook-installation-target-type"], "repository");
    assert!(received.json().get("installation").is_none());
}

#[tokio::test]
async fn an_app_hears_only_of_its_installations_and_events() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    let app = site.github.app("Narrow", permissions(&[]), &["pull_request"]);
    app.webhook(&receiver.url, "s");
    site.pull.close();
    let installation = app.install("octo");
    site.pull.comment("alice", "not asked for");
    site.pull.reopen();
    let first = receiver.received.recv().await.unwrap().json();
    let second = receiver.received.recv().await.unwrap().json();
    let actions = [first["action"].clone(), second["action"].clone()];
    assert!(
        actions.contains(&json!("created")) && actions.contains(&json!("reopened")),
        "{actions:?}"
    );
    assert_eq!(app.deliveries().len(), 2);
    app.uninstall(installation);
    assert_eq!(
        receiver.next("installation", "deleted").await.json()["installation"]["id"],
        installation
    );
}
