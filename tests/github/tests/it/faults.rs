//! Faults on demand: what the client sees, and what has happened all the same.

use std::time::Duration;

use fake_github::Fault;
use serde_json::{Value, json};

use crate::site::{Client, Reply, Site, on_pull};

const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

async fn create(client: &Client) -> reqwest::Result<Reply> {
    let body = json!({"event": "COMMENT", "body": "A review"});
    client.try_send("POST", &on_pull("/reviews"), &[], &body).await
}

#[tokio::test]
async fn a_status_is_answered_and_nothing_done() {
    let site = Site::new().await;
    site.github
        .fail(Fault::status(502).on("POST", REVIEWS).skip(1).times(2).header("retry-after", "7"));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let answer = create(&site.bot).await.unwrap();
        statuses.push((answer.status, answer.header("retry-after").to_owned()));
    }
    let expected = [(200, ""), (502, "7"), (502, "7"), (200, "")];
    assert_eq!(statuses, expected.map(|(status, after)| (status, after.to_owned())));
    assert_eq!((site.pull.reviews().len(), site.github.faults_left()), (2, 0));
    let log: Vec<_> =
        site.github.writes().into_iter().map(|request| (request.applied, request.fault)).collect();
    assert_eq!(log[1], (false, Some("status".to_owned())));
}

#[tokio::test]
async fn a_reset_leaves_nothing_behind() {
    let site = Site::new().await;
    site.github.fail(Fault::reset().on("POST", REVIEWS));
    let error = create(&site.bot).await.unwrap_err();
    assert!(!error.is_timeout() && error.status().is_none(), "{error:?}");
    assert!(site.pull.reviews().is_empty());
    create(&site.bot).await.unwrap().ok();
}

#[tokio::test]
async fn what_is_not_answered_is_not_done() {
    let site = Site::new().await;
    let unanswered = Fault::unanswered().on("POST", REVIEWS).starting_at("GET", REVIEWS);
    site.github.fail(unanswered);
    create(&site.bot).await.unwrap().ok();
    site.bot.get(&on_pull("/reviews")).await.ok();
    let given_up = tokio::time::timeout(Duration::from_secs(1), create(&site.bot)).await;
    assert!(given_up.is_err());
    assert_eq!((site.pull.reviews().len(), site.github.faults_left()), (1, 0));
    assert!(!site.github.writes()[1].applied);
}

#[tokio::test]
async fn an_answer_is_lost_after_the_write() {
    let site = Site::new().await;
    site.github.fail(Fault::lost_answer().on("POST", REVIEWS));
    create(&site.bot).await.unwrap_err();
    assert_eq!(site.pull.reviews().len(), 1);
    let logged = &site.github.writes()[0];
    assert_eq!(
        (logged.applied, logged.status, logged.identity.clone()),
        (true, None, format!("installation {}", site.installation))
    );
    assert_eq!(logged.body["body"], "A review");
}

#[tokio::test]
async fn an_error_follows_the_write() {
    let site = Site::new().await;
    site.github.fail(Fault::status(502).after_the_write().on("POST", REVIEWS));
    assert_eq!(create(&site.bot).await.unwrap().status, 502);
    assert_eq!(site.pull.reviews().len(), 1);
    let logged = &site.github.writes()[0];
    assert_eq!((logged.applied, logged.status), (true, Some(502)));
}

#[tokio::test]
async fn an_answer_is_cut() {
    let site = Site::new().await;
    site.github.fail(Fault::truncated().on("GET", "/repos/*/*/pulls/*"));
    let error = site.bot.try_send("GET", &on_pull(""), &[], &Value::Null).await.unwrap_err();
    assert!(error.is_body() || error.is_decode() || error.is_request(), "{error:?}");
    site.bot.get(&on_pull("")).await.ok();
}

#[tokio::test]
async fn a_slow_answer_is_of_a_write_that_is_done() {
    let site = Site::new().await;
    site.github.fail(Fault::slow(Duration::from_secs(3600)).on("POST", REVIEWS));
    let given_up = tokio::time::timeout(Duration::from_secs(3), create(&site.bot)).await;
    assert!(given_up.is_err());
    site.github
        .wait_for_request(|request| request.applied && request.fault.as_deref() == Some("slow"))
        .await;
    assert_eq!(site.pull.reviews().len(), 1);
}

#[tokio::test]
async fn a_late_write_lands_when_it_is_released() {
    let site = Site::new().await;
    site.github.fail(Fault::late_write().on("POST", REVIEWS));
    assert_eq!(create(&site.bot).await.unwrap().status, 504);
    assert_eq!(site.bot.get(&on_pull("/reviews")).await.ok(), json!([]));
    site.github.release_late_writes().await;
    assert_eq!(site.pull.reviews().len(), 1);
}

#[tokio::test]
async fn a_late_write_that_is_never_answered_lands_after_the_client_gave_up() {
    let site = Site::new().await;
    site.github.fail(Fault::late_write().silent().on("POST", REVIEWS));
    let given_up = tokio::time::timeout(Duration::from_secs(3), create(&site.bot)).await;
    assert!(given_up.is_err() && site.pull.reviews().is_empty());
    site.github.release_late_writes().await;
    assert_eq!(site.pull.reviews().len(), 1);
}

#[tokio::test]
async fn a_late_write_lands_by_itself_after_a_while() {
    let site = Site::new().await;
    site.github.fail(Fault::late_write_after(Duration::from_millis(50)).on("POST", REVIEWS));
    assert_eq!(create(&site.bot).await.unwrap().status, 504);
    site.github
        .wait_for_request(|request| {
            request.applied && request.fault.as_deref() == Some("late_write")
        })
        .await;
    assert_eq!(site.pull.reviews().len(), 1);
}

#[tokio::test]
async fn a_fault_hits_one_installation_or_all_until_healed() {
    let site = Site::new().await;
    let other = site.app.install("acme");
    site.github.fail(Fault::status(503).of_installation(other).always());
    create(&site.bot).await.unwrap().ok();
    let acme = site.client(Some(site.app.installation_token(other)));
    for _ in 0..3 {
        assert_eq!(acme.get("/installation/repositories").await.status, 503);
    }
    site.github.clear_faults();
    acme.get("/installation/repositories").await.ok();
}

/// The same over HTTP, for tests in other languages and for people.
#[tokio::test]
async fn faults_are_put_in_by_http() {
    let site = Site::new().await;
    let nobody = site.client(None);
    let fault = json!({"method": "POST", "path": REVIEWS, "effect": {"status": {"code": 500, "headers": {}, "body": {"message": "no"}}}});
    nobody.post("/_fake/faults", fault).await.ok();
    assert_eq!(create(&site.bot).await.unwrap().status, 500);
    nobody.post("/_fake/faults", json!({"effect": "reset", "times": null})).await.ok();
    create(&site.bot).await.unwrap_err();
    nobody.delete("/_fake/faults").await.ok();
    create(&site.bot).await.unwrap().ok();
    let seen = nobody.get("/_fake/requests").await.ok();
    assert_eq!(
        (seen.as_array().unwrap().len(), &seen[0]["status"], &seen[1]["fault"]),
        (3, &json!(500), &json!("reset"))
    );
    assert_eq!(nobody.post("/_fake/faults", json!({"effect": "mischief"})).await.status, 400);
    nobody.post("/_fake/clock", json!({"advance_seconds": 3700})).await.ok();
    assert_eq!(create(&site.bot).await.unwrap().status, 401, "the token has expired");
    let user = nobody
        .post("/_fake/users", json!({"login": "bob", "repository": "octo/demo", "role": "write"}))
        .await
        .ok();
    site.client(user["token"].as_str().map(ToOwned::to_owned)).get("/repos/octo/demo").await.ok();
}
