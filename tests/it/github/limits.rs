//! P8: a limit parks the run until it is over.

use std::{sync::atomic::Ordering, time::Duration};

use fake_github::Fault;
use verdict::{
    graph::{RunStatus, store::Waiting},
    queue::{Message, Queue},
};

use super::clocked::Site;
use crate::support::eventually;

const REVIEWS: &str = "/repos/octo/*/pulls/*/reviews";

/// Whatever GitHub says about a limit, the run parks with the time it wakes, asks nothing meanwhile,
/// then goes on; nothing of it counts as a failed execution.
#[tokio::test]
async fn a_limit_parks_the_run_until_it_is_over() {
    type Limit = fn(&Site) -> Fault;
    let limits: [(&str, Limit, u64); 4] = [
        ("with Retry-After", |_| Fault::secondary_limit(Some(Duration::from_secs(120))), 120),
        ("without", |_| Fault::secondary_limit(None), 60),
        (
            "with a reset in the past",
            |site| {
                let past = (site.place.github.now() - 100).to_string();
                let body = r#"{"message":"You have exceeded a secondary rate limit"}"#;
                Fault::answer(403, serde_json::from_str(body).unwrap())
                    .header("x-ratelimit-remaining", "4000")
                    .header("x-ratelimit-reset", &past)
            },
            60,
        ),
        ("primary", |_| Fault::primary_limit(Duration::from_secs(600)), 600),
    ];
    for (name, limit, seconds) in limits {
        let site = Site::new().await;
        site.place.github.fail(limit(&site).on("POST", REVIEWS));
        site.ask_for("octo/demo#1").await;
        let head = site.run_of("octo/demo#1", RunStatus::Parked).await;
        assert_eq!((head.waiting, head.executions), (Some(Waiting::Limit), 0), "{name}");
        let left = head.not_before.unwrap().since(site.clock.now());
        let expected = Duration::from_secs(seconds);
        assert!(left <= expected && left + Duration::from_secs(20) > expected, "{name}: {left:?}");
        let asked = site.requests_of("octo/demo");
        site.stands.store(true, Ordering::Relaxed);
        let left = head.not_before.unwrap().since(site.clock.now());
        site.hand.advance(left - Duration::from_secs(10));
        site.queue.publish(Message::new("{}"), Duration::ZERO).await.unwrap();
        eventually("the worker has done something since", async || {
            (site.queue.depth().await.unwrap().dead == Some(1)).then_some(())
        })
        .await;
        assert_eq!(site.requests_of("octo/demo"), asked, "{name}: it asks before its time");
        site.stands.store(false, Ordering::Relaxed);
        site.hand.advance(Duration::from_secs(11));
        let head = site.run_of("octo/demo#1", RunStatus::Completed).await;
        assert_eq!((head.executions, site.place.pull.reviews().len()), (0, 1), "{name}");
        site.worker.stop().await;
    }
}

/// A limit is of one installation: the others go on.
#[tokio::test]
async fn the_limit_of_one_installation_holds_up_no_other() {
    let site = Site::new().await;
    let source = site.place.repository.git_dir();
    let other = site.place.github.repository("other/demo", source);
    let pull = other.open_pull("feature", "main");
    let limit = Fault::secondary_limit(Some(Duration::from_secs(3600)));
    site.place.github.fail(limit.on("POST", REVIEWS).always());
    site.ask_for("octo/demo#1").await;
    site.run_of("octo/demo#1", RunStatus::Parked).await;
    site.ask_for("other/demo#1").await;
    site.run_of("other/demo#1", RunStatus::Completed).await;
    assert_eq!((pull.reviews().len(), site.place.pull.reviews().len()), (1, 0));
    site.worker.stop().await;
}
