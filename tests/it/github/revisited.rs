//! R3, N4: what models left out of a published review they are asked for later, and the same review is made whole. No answer is
//! paid twice.

use std::{sync::atomic::Ordering, time::Duration};

use fake_github::{IssueComment, Review};
use fake_models::{ModelServer, Reply, When};
use serde_json::json;
use verdict::{
    graph::{
        RunStatus,
        store::{RunFilter, Store},
    },
    model::ModelOptions,
};

use super::clocked::Site;
use crate::{
    review::models::support::{JUDGE, asked_by, finds, none_paid_twice, nothing, task_of},
    support::eventually,
};

/// How long after an incomplete review models are asked again for the first time.
const FIRST_WAIT: Duration = Duration::from_secs(300);

/// A review that was published without what a model says for `security`. The time stands still since then.
async fn partly_reviewed(models: &ModelServer) -> Site {
    models.script(When::any(), [nothing()]);
    models.script(When::says(JUDGE), [Reply::json(json!({"rulings": []}))]);
    models.script(asked_by("logic"), [finds(&[("d/e.py", "return x")])]);
    models.script(asked_by("security"), [Reply::status(503)]);
    let options = ModelOptions {
        chain: vec![models.openai("m")],
        retries: vec![Duration::from_millis(1); 3],
        small_change: 0,
        ..ModelOptions::default()
    };
    let site = Site::asking(Some(options)).await;
    site.ask_for("octo/demo#1").await;
    let head = site.run_of("octo/demo#1", RunStatus::Completed).await;
    site.stands.store(true, Ordering::Relaxed);
    let left = head.not_before.unwrap().since(site.clock.now());
    assert!(!left.is_zero() && left <= FIRST_WAIT, "{left:?}");
    assert_eq!(asked(models, task_of("security")), 4, "it was tried again");
    site
}

/// Lets the wait pass, until the review lacks nothing any more.
async fn made_whole(site: &Site) {
    site.stands.store(false, Ordering::Relaxed);
    site.hand.advance(FIRST_WAIT);
    eventually("the review is whole", async || {
        let heads = site.store.list(&RunFilter::default()).await.unwrap();
        let [head] = &heads[..] else { panic!("{heads:?}") };
        let ended = head.status == RunStatus::Completed && head.lease.is_none();
        (ended && head.not_before.is_none()).then_some(())
    })
    .await;
}

/// How many requests have these words.
fn asked(models: &ModelServer, words: &str) -> usize {
    models.calls().iter().filter(|call| call.says(words)).count()
}

fn only_summary(site: &Site) -> IssueComment {
    let comments = site.place.pull.comments();
    let [summary] = &comments[..] else { panic!("{comments:?}") };
    summary.clone()
}

fn only_review(site: &Site) -> Review {
    let reviews = site.place.pull.reviews();
    let [review] = &reviews[..] else { panic!("{reviews:?}") };
    review.clone()
}

/// How the head's only check run ended.
fn check(site: &Site) -> (Option<String>, Option<String>) {
    let checks = site.place.pull.checks();
    let [check] = &checks[..] else { panic!("{checks:?}") };
    (check.conclusion.clone(), check.title.clone())
}

#[tokio::test]
async fn a_gap_is_filled_in_the_same_review() {
    let models = ModelServer::start().unwrap();
    let site = partly_reviewed(&models).await;
    let (review, summary) = (only_review(&site), only_summary(&site));
    assert!(review.body.contains("## verdict: incomplete"), "{}", review.body);
    assert!(summary.body.contains("Missing from this review"), "{}", summary.body);
    assert!(summary.body.contains("security, its model"), "{}", summary.body);
    let (conclusion, title) = check(&site);
    assert_eq!(conclusion.as_deref(), Some("neutral"));
    assert!(title.unwrap().starts_with("Incomplete"));
    let comments = site.place.pull.review_comments().len();

    models.script(asked_by("security"), [nothing()]);
    made_whole(&site).await;
    let (whole, told) = (only_review(&site), only_summary(&site));
    assert_eq!((whole.id, told.id), (review.id, summary.id));
    assert!(whole.body.contains("## verdict: changes requested"), "{}", whole.body);
    assert!(!told.body.contains("Missing from this review"), "{}", told.body);
    assert_eq!(check(&site).1.as_deref(), Some("Changes requested"));
    assert_eq!(site.place.pull.review_comments().len(), comments, "nothing is said again");
    for agent in ["logic", "pattern", "style"] {
        assert_eq!(asked(&models, task_of(agent)), 1, "{agent}");
    }
    assert_eq!((asked(&models, task_of("security")), asked(&models, JUDGE)), (5, 1));
    none_paid_twice(&models);
    let paid = models.paid();
    let bill = format!("{} calls, {} + {} tokens", paid.calls, paid.input, paid.output);
    assert!(told.body.contains(&bill), "{bill}: {}", told.body);
    site.place.nothing_was_refused();
    site.worker.stop().await;
}

/// What is found only then is one comment more; the review itself says so and stays the only one of its head.
#[tokio::test]
async fn what_is_found_later_joins_the_review() {
    let models = ModelServer::start().unwrap();
    let site = partly_reviewed(&models).await;
    let (review, comments) = (only_review(&site), site.place.pull.review_comments());
    models.script(asked_by("security"), [finds(&[("a.py", "def f(path):")])]);
    made_whole(&site).await;
    let reviews = site.place.pull.reviews();
    let (first, later) = reviews.split_first().unwrap();
    assert_eq!(first.id, review.id);
    assert!(first.body.contains("## verdict: changes requested"), "{}", first.body);
    let marked = reviews.iter().filter(|review| review.body.contains("## verdict: "));
    assert_eq!(marked.count(), 1, "{reviews:#?}");
    let [later] = later else { panic!("{reviews:#?}") };
    assert!(later.body.contains("More of the [review]"), "{}", later.body);
    let on: Vec<_> = later.comments.iter().map(|one| (one.path.as_str(), one.line)).collect();
    assert_eq!(on, [("a.py", Some(2))]);
    assert_eq!(site.place.pull.review_comments().len(), comments.len() + 1);
    assert_eq!(asked(&models, JUDGE), 2, "there is one claim more");
    none_paid_twice(&models);
    site.place.nothing_was_refused();
    site.worker.stop().await;
}
