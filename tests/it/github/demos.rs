//! N9: six demonstrations, each one command: `tests/demo NAME` prints what happened.

use std::time::Duration;

use fake_github::Fault;
use fake_models::{ModelServer, Reply, When};
use serde_json::json;

use super::Place;
use crate::{
    review::models::support::{AGENTS, JUDGE, asked_by, finds, none_paid_twice, nothing},
    server::{serve, stop},
    support::eventually,
};

const FILES: &str = "/repos/*/*/pulls/*/files";
const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

/// Pull requests that are opened at once.
const BURST: usize = 57;

fn tell(text: impl std::fmt::Display) {
    println!("  {text}");
}

fn reviews(place: &Place) -> usize {
    let reviews = place.pull.reviews();
    tell(format_args!("reviews on octo/demo#1: {}", reviews.len()));
    for review in &reviews {
        let verdict = review.body.lines().find(|line| line.starts_with("## ")).unwrap_or_default();
        let (head, comments) = (&review.commit[..12], review.comments.len());
        tell(format_args!("  of {head}: {verdict:?}, {comments} comments on lines"));
    }
    reviews.len()
}

fn count_refused(place: &Place) -> usize {
    let requests = place.github.requests();
    requests.iter().filter(|request| request.status == Some(503)).count()
}

/// Waits until GitHub has refused so many requests in all.
async fn refused(place: &Place, at_least: usize) {
    let asked = eventually("GitHub was asked several times", async || {
        Some(count_refused(place)).filter(|refused| *refused >= at_least)
    })
    .await;
    tell(format_args!("asked {asked} times, refused {asked} times; an hour passes"));
}

/// There is one review, each agent ran once, and nothing was given up.
async fn nothing_was_lost(place: &Place) {
    eventually("the review is there", async || (!place.pull.reviews().is_empty()).then_some(()))
        .await;
    assert_eq!(reviews(place), 1);
    let runs = place.machine.run(&["runs", "list", "--format", "json"]).json();
    let id = runs[0]["id"].as_str().unwrap();
    let history = place.machine.run(&["runs", "history", id, "--format", "json"]).json();
    for agent in ["style", "security", "logic", "pattern"] {
        let rows = history.as_array().unwrap().iter();
        let ran = rows.filter(|row| row["kind"] == "task_finished" && row["node"] == agent).count();
        tell(format_args!("{agent} ran {ran} time"));
        assert_eq!(ran, 1);
    }
    let letters = place.machine.run(&["dlq", "list", "--format", "json"]).json();
    tell(format_args!("dead letters: {}", letters.as_array().unwrap().len()));
    assert_eq!(letters.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn outage() {
    let hour = Duration::from_secs(3600);
    let place = Place::new().await;
    place.github.fail(Fault::status(503).on("GET", FILES).lasting(hour));
    tell("GitHub answers 503 for an hour, from the moment the review is to be published");
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("outage");
    refused(&place, 4).await;
    place.github.advance(hour);
    nothing_was_lost(&place).await;
    stop(server).await;
    outage_with_models(hour).await;
}

/// The same, twice in one review: while models answer, and when it is to be published.
async fn outage_with_models(hour: Duration) {
    let models = ModelServer::start().unwrap();
    models.script(When::any(), [nothing().held()]);
    models.script(When::says(JUDGE), [Reply::json(json!({"rulings": []}))]);
    models.script(asked_by("logic"), [finds(&[("d/e.py", "return x")]).held()]);
    let place = Place::new().await;
    let machine =
        place.machine.set("model.chain", &models.openai("m")).set("model.small_change", "0");
    // Nothing comes again by itself, however slow the machine is: calls are counted.
    let machine = machine.set("worker.lease", "10m").set("queue.visibility", "10m");
    let place = Place { machine, ..place };
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("outage");
    eventually("four models are asked", async || {
        (models.most_in_hand() == AGENTS.len()).then_some(())
    })
    .await;
    tell("with a language model: GitHub answers 503 for an hour, from the moment it is asked");
    place.github.fail(Fault::status(503).on("*", "/repos/**").lasting(hour));
    models.release();
    refused(&place, 4).await;
    assert_eq!(models.calls().len(), AGENTS.len(), "the judge waits for GitHub");
    tell("then for another hour, from the moment the review is to be published");
    place.github.fail(Fault::status(503).on("GET", FILES).lasting(hour));
    let before = count_refused(&place);
    place.github.advance(hour);
    refused(&place, before + 4).await;
    place.github.advance(hour);
    nothing_was_lost(&place).await;
    stop(server).await;
    let paid = models.paid();
    tell(format_args!("calls of models: {}, {} tokens", paid.calls, paid.input + paid.output));
    assert_eq!(models.calls().len(), AGENTS.len() + 1, "four agents and the judge, each once");
    none_paid_twice(&models);
}

#[tokio::test]
async fn burst() {
    let place = Place::new().await;
    let pulls: Vec<_> = (1..BURST)
        .map(|number| {
            let branch = format!("feature{number}");
            place.branch(&branch);
            place.repository.open_pull(&branch, "main")
        })
        .chain([place.pull.clone()])
        .collect();
    for limit in 0..12 {
        let limit = Fault::secondary_limit(Some(Duration::from_secs(1))).skip(limit * 9);
        place.github.fail(limit.on("POST", "/repos/**"));
    }
    tell(format_args!("{BURST} pull requests; GitHub limits every ninth write for a second"));
    let (server, _) = serve(&place.machine, "all").await;
    for pull in &pulls {
        place.enqueue_pull(pull.number(), "burst");
    }
    for pull in &pulls {
        eventually("it is reviewed", async || (!pull.reviews().is_empty()).then_some(())).await;
    }
    stop(server).await;
    let count: usize = pulls.iter().map(|pull| pull.reviews().len()).sum();
    let limited = place.github.requests().iter().filter(|r| r.fault.is_some()).count();
    tell(format_args!("refused by a limit: {limited}; reviews: {count}"));
    assert_eq!(count, BURST);
}

#[tokio::test]
async fn leftover_draft() {
    let place = Place::new().await;
    place.pull.pending_review("reviewer", "<!-- verdict review -->\nleft by a crash", None);
    tell("a pending review of our own is left over: while it exists GitHub takes no other");
    assert_eq!(place.review("draft").code, Some(0));
    assert_eq!(reviews(&place), 1);
}

#[tokio::test]
async fn force_push() {
    let place = Place::new().await;
    assert_eq!(place.review("first").code, Some(0));
    let before = place.pull.review_comments().len();
    reviews(&place);
    place.rebase();
    tell("the branch is rebased and pushed with force; GitHub moves the review's commit_id");
    for fresh in ["second", "third"] {
        assert_eq!(place.review(fresh).code, Some(0));
    }
    tell("the new head is reviewed, twice");
    assert_eq!(reviews(&place), 2);
    assert_eq!(place.pull.review_comments().len(), before, "nothing is said again");
    tell(format_args!("comments on lines: {before} before, {before} now"));
}

#[tokio::test]
async fn lost_answer() {
    let place = Place::new().await;
    place.github.fail(Fault::lost_answer().on("POST", REVIEWS));
    tell("GitHub makes the review, and its answer is lost");
    assert_eq!(place.review("lost").code, Some(0));
    let posted = place.github.writes().into_iter().filter(|write| write.path.ends_with("/reviews"));
    tell(format_args!("reviews posted: {}", posted.count()));
    assert_eq!(reviews(&place), 1);
}

#[tokio::test]
async fn dedup() {
    let place = Place::new().await;
    tell("no model is configured: what is the same is decided by rule, path and code");
    for number in 1..=3 {
        assert_eq!(place.review(&format!("review {number}")).code, Some(0));
        let comments = place.pull.review_comments().len();
        tell(format_args!("after review {number} of {}: {comments} comments", place.pull.head()));
        place.push(&format!("more{number}.txt"), "x\n");
    }
    let comments = place.pull.review_comments();
    let mut said: Vec<_> =
        comments.iter().map(|comment| comment.body.lines().next().unwrap()).collect();
    said.sort_unstable();
    said.dedup();
    tell(format_args!("{} comments, {} different findings", comments.len(), said.len()));
    assert_eq!(said.len(), comments.len());
}
