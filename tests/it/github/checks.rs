//! P6: the check run of a head is there from the start, says what it waits for, and ends on every path.

use fake_github::{Check, Fault};

use super::Place;
use crate::{
    server::{serve, stop},
    support::eventually,
};

const FILES: &str = "/repos/*/*/pulls/*/files";
const CHECKS: &str = "/repos/*/*/check-runs/*";

fn only(checks: &[Check]) -> &Check {
    let [check] = checks else { panic!("{checks:?}") };
    check
}

async fn ended(place: &Place, head: &str, conclusion: &str) {
    eventually("the check run ends", async || {
        let checks = place.repository.checks(head);
        let as_it_should = |check: &Check| check.conclusion.as_deref() == Some(conclusion);
        (!checks.is_empty() && checks.iter().all(as_it_should)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_check_is_open_until_the_review_is_published() {
    let place = Place::with_app().await;
    place.github.fail(Fault::status(502).on("GET", FILES).always());
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("waits");
    let checks = place.check_shows("The review waits").await;
    let check = only(&checks);
    assert_eq!((check.status.as_str(), &check.conclusion), ("in_progress", &None));
    assert!(check.summary.as_ref().unwrap().contains("502"), "{check:?}");
    place.github.clear_faults();
    let checks = place.check_shows("Changes requested").await;
    assert_eq!(only(&checks).conclusion.as_deref(), Some("failure"));
    stop(server).await;
    let first = place.github.writes().into_iter().find(|write| write.path.ends_with("/check-runs"));
    let body = first.unwrap().body;
    assert!(body.to_string().contains("- security"), "it waits for its agents: {body}");
    place.nothing_was_refused();
}

#[tokio::test]
async fn a_dead_letter_ends_the_check_and_its_replay_opens_another() {
    let place = Place::with_app().await;
    place.github.fail(Fault::status(404).on("GET", FILES).always());
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("fails");
    let checks = place.check_shows("The review failed").await;
    assert_eq!(only(&checks).conclusion.as_deref(), Some("neutral"));
    place.github.clear_faults();
    let letters = eventually("the letter is confirmed", async || {
        let letters = place.machine.run(&["dlq", "list", "--format", "json"]).json();
        letters.as_array().unwrap().first().cloned()
    })
    .await;
    let done = place.machine.run(&["dlq", "replay", letters["id"].as_str().unwrap()]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    place.check_shows("Changes requested").await;
    assert_eq!(place.pull.reviews().len(), 1);
    stop(server).await;
}

#[tokio::test]
async fn a_newer_head_ends_the_check_of_the_older() {
    let place = Place::with_app().await;
    place.github.fail(Fault::status(502).on("GET", FILES).always());
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("older");
    place.check_shows("The review waits").await;
    let older = place.pull.head();
    place.push("e.js", "function h() { debugger; }\n");
    place.enqueue("newer");
    ended(&place, &older, "cancelled").await;
    place.github.clear_faults();
    place.check_shows("Changes requested").await;
    stop(server).await;
    assert_eq!(place.pull.reviews().len(), 1, "nothing is published of the older head");
}

#[tokio::test]
async fn a_cancelled_review_ends_its_check() {
    let place = Place::with_app().await;
    place.github.fail(Fault::status(502).on("GET", FILES).always());
    let (server, _) = serve(&place.machine, "all").await;
    place.enqueue("cancelled");
    place.check_shows("The review waits").await;
    let runs = place.machine.run(&["runs", "list", "--format", "json"]).json();
    let done = place.machine.run(&["runs", "cancel", runs[0]["id"].as_str().unwrap()]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    ended(&place, &place.pull.head(), "cancelled").await;
    stop(server).await;
}

#[tokio::test]
async fn annotations_arrive_in_batches_and_each_once() {
    let place = Place::with_app_and_findings(120).await;
    place.github.fail(Fault::lost_answer().on("PATCH", CHECKS).skip(1));
    let done = place.review("many");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let checks = place.pull.checks();
    let mut lines: Vec<u64> =
        only(&checks).annotations.iter().map(|one| one["start_line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, Vec::from_iter(1..=120));
    place.nothing_was_refused();
}

#[tokio::test]
async fn only_a_whole_review_without_findings_is_green() {
    let place = Place::with_app_and_nothing_to_say().await;
    assert_eq!(place.review("clean").code, Some(0));
    assert_eq!(only(&place.pull.checks()).conclusion.as_deref(), Some("success"));
}
