//! Rate limits and conditional requests.

use std::time::Duration;

use fake_github::{Fault, Limits};
use serde_json::{Value, json};

use crate::site::{Site, on_pull};

#[tokio::test]
async fn the_primary_limit_is_counted_and_resets() {
    let site = Site::new().await;
    site.github.limit(Limits { core: Some(3), ..Limits::none() });
    for left in ["2", "1", "0"] {
        let answer = site.bot.get(&on_pull("")).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, left));
    }
    let refused = site.bot.get(&on_pull("")).await;
    assert_eq!(
        (refused.header("x-ratelimit-remaining"), refused.header("x-ratelimit-resource")),
        ("0", "core")
    );
    let reset: i64 = refused.header("x-ratelimit-reset").parse().unwrap();
    assert!((3500..=3600).contains(&(reset - site.github.now())), "{reset}");
    assert!(refused.refused(403).starts_with("API rate limit exceeded"));
    assert_eq!(site.alice.get(&on_pull("")).await.status, 200, "others have a limit of their own");
    let shown = site.bot.get("/rate_limit").await.ok();
    assert_eq!(
        (&shown["resources"]["core"]["remaining"], &shown["rate"]["limit"]),
        (&json!(0), &json!(3))
    );
    site.github.advance(Duration::from_hours(1));
    let again = site.client(Some(site.app.installation_token(site.installation)));
    again.get(&on_pull("")).await.ok();
    site.github.limit(Limits::none());
    assert_eq!(
        again.get("/rate_limit").await.status,
        404,
        "as on an Enterprise Server without limits"
    );
    assert_eq!(again.get(&on_pull("")).await.header("x-ratelimit-limit"), "");
}

#[tokio::test]
async fn creating_content_too_fast_is_refused_without_retry_after() {
    let site = Site::new().await;
    site.github.limit(Limits { content_per_minute: Some(2), ..Limits::default() });
    let create =
        async || site.bot.post("/repos/octo/demo/issues/1/comments", json!({"body": "x"})).await;
    create().await.ok();
    create().await.ok();
    let refused = create().await;
    assert_eq!(refused.header("retry-after"), "");
    assert!(refused.header("x-ratelimit-remaining").parse::<u64>().unwrap() > 4000);
    assert!(refused.refused(403).contains("secondary rate limit"));
    site.bot.get(&on_pull("")).await.ok();
    site.github.advance(Duration::from_secs(61));
    create().await.ok();
    assert_eq!(site.pull.comments().len(), 3);
}

#[tokio::test]
async fn too_many_points_in_a_minute_are_refused_with_retry_after() {
    let site = Site::new().await;
    site.github.limit(Limits { points_per_minute: Some(6), ..Limits::default() });
    site.bot.post("/repos/octo/demo/issues/1/comments", json!({"body": "x"})).await.ok();
    site.bot.get(&on_pull("")).await.ok();
    let refused = site.bot.get(&on_pull("")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (403, "60"));
    site.github.advance(Duration::from_secs(60));
    site.bot.get(&on_pull("")).await.ok();
}

#[tokio::test]
async fn limits_as_they_were_measured() {
    let site = Site::new().await;
    let show = async || site.bot.get(&on_pull("")).await;
    site.github.fail(Fault::secondary_limit(Some(Duration::from_secs(31))));
    let answer = show().await;
    assert_eq!((answer.status, answer.header("retry-after")), (403, "31"));

    site.github.fail(Fault::secondary_limit(None).too_many_requests());
    let answer = show().await;
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.header("x-ratelimit-remaining")),
        (429, "", "4321")
    );
    assert!(answer.header("x-ratelimit-reset").parse::<i64>().unwrap() < site.github.now());

    site.github.fail(Fault::primary_limit(Duration::from_secs(600)));
    let answer = show().await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (403, "0"));
    assert!(answer.header("x-ratelimit-reset").parse::<i64>().unwrap() > site.github.now() + 590);

    site.github.fail(Fault::secondary_limit(None).lasting(Duration::from_secs(72)));
    assert_eq!([show().await.status, show().await.status], [403, 403]);
    site.github.advance(Duration::from_secs(72));
    show().await.ok();
}

#[tokio::test]
async fn what_did_not_change_is_answered_304_and_not_counted() {
    let site = Site::new().await;
    let first = site.bot.get(&on_pull("/reviews")).await;
    let etag = first.header("etag").to_owned();
    let again = async || {
        site.bot.send("GET", &on_pull("/reviews"), &[("if-none-match", &etag)], &Value::Null).await
    };
    let same = again().await;
    assert_eq!((same.status, same.text.as_str()), (304, ""));
    assert_eq!(same.header("x-ratelimit-used"), first.header("x-ratelimit-used"));
    site.pull.review("alice", "New", None);
    assert_eq!(again().await.status, 200);
}
