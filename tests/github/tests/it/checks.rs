//! Check runs: annotations in batches, never opened again, stale after two weeks.

use std::time::Duration;

use fake_github::Level;
use serde_json::{Value, json};

use crate::site::{EVENTS, Receiver, Site, permissions};

const PATH: &str = "/repos/octo/demo/check-runs";

fn annotations(count: usize) -> Value {
    let one = json!({"path": "code.rs", "start_line": 4, "end_line": 4, "annotation_level": "warning", "message": "m"});
    Value::Array(vec![one; count])
}

#[tokio::test]
async fn annotations_are_appended_fifty_at_a_time() {
    let site = Site::new().await;
    let output = |count| json!({"title": "t", "summary": "s", "annotations": annotations(count)});
    let run = json!({"name": "verdict", "head_sha": site.pull.head(), "status": "in_progress", "output": output(50)});
    let made = site.bot.post(PATH, run).await.ok();
    let path = format!("{PATH}/{}", made["id"]);
    site.bot.patch(&path, json!({"output": output(20)})).await.ok();
    assert_eq!(site.pull.checks()[0].annotations.len(), 70);
    let listed = site.bot.get(&format!("{path}/annotations?per_page=100")).await.ok();
    assert_eq!(listed.as_array().unwrap().len(), 70);
    let answer = site.bot.patch(&path, json!({"output": output(51)})).await;
    assert!(answer.refused(422).contains("maximum quantity of 50"));
    assert_eq!(site.pull.checks()[0].annotations.len(), 70);
}

#[tokio::test]
async fn a_completed_run_is_not_opened_again() {
    let site = Site::new().await;
    let made =
        site.bot.post(PATH, json!({"name": "verdict", "head_sha": site.pull.head()})).await.ok();
    assert_eq!(made["status"], "queued");
    let path = format!("{PATH}/{}", made["id"]);
    let ended = site.bot.patch(&path, json!({"conclusion": "neutral"})).await.ok();
    assert_eq!((&ended["status"], ended["completed_at"].is_string()), (&json!("completed"), true));
    assert!(
        site.bot
            .patch(&path, json!({"status": "in_progress"}))
            .await
            .refused(422)
            .contains("cannot be reopened")
    );
    site.bot.patch(&path, json!({"conclusion": "success"})).await.ok();
    assert_eq!(site.pull.checks()[0].conclusion.as_deref(), Some("success"));
}

#[tokio::test]
async fn what_github_refuses() {
    let site = Site::new().await;
    let with = |more: Value| {
        let mut run = json!({"name": "verdict", "head_sha": site.pull.head()});
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run
    };
    let annotated = |annotation: Value| {
        with(json!({"output": {"title": "t", "summary": "s", "annotations": [annotation]}}))
    };
    let action = |label: &str| json!({"label": label, "description": "d", "identifier": "i"});
    let refused = [
        json!({"name": "verdict"}),
        json!({"head_sha": site.pull.head()}),
        with(json!({"head_sha": "0".repeat(40)})),
        with(json!({"status": "completed"})),
        with(json!({"status": "sleeping"})),
        with(json!({"conclusion": "stale"})),
        with(json!({"output": {"title": "no summary"}})),
        with(json!({"output": {"summary": "no title"}})),
        with(json!({"output": {"title": "t", "summary": "x".repeat(65_536)}})),
        with(json!({"output": {"title": "t", "summary": "s", "text": "x".repeat(65_536)}})),
        with(json!({"actions": [action("a"), action("b"), action("c"), action("d")]})),
        with(json!({"actions": [action("longer than twenty characters")]})),
        annotated(
            json!({"path": "a", "start_line": 2, "end_line": 1, "annotation_level": "notice", "message": "m"}),
        ),
        annotated(
            json!({"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "loud", "message": "m"}),
        ),
        annotated(
            json!({"path": "a", "start_line": 1, "end_line": 2, "start_column": 1, "annotation_level": "notice", "message": "m"}),
        ),
        annotated(json!({"path": "a", "annotation_level": "notice", "message": "m"})),
        annotated(
            json!({"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice"}),
        ),
    ];
    for body in refused {
        assert_eq!(site.bot.post(PATH, body.clone()).await.status, 422, "{body}");
    }
    assert!(site.pull.checks().is_empty());
    site.bot
        .post(PATH, with(json!({"output": {"title": "t", "summary": "x".repeat(65_535)}})))
        .await
        .ok();
}

#[tokio::test]
async fn only_its_app_changes_a_run() {
    let site = Site::new().await;
    let made =
        site.bot.post(PATH, json!({"name": "verdict", "head_sha": site.pull.head()})).await.ok();
    let other = site.github.app("Other", permissions(&[("checks", Level::Write)]), &EVENTS);
    let token = other.installation_token(other.install("octo"));
    let answer = site
        .client(Some(token))
        .patch(&format!("{PATH}/{}", made["id"]), json!({"status": "in_progress"}))
        .await;
    assert!(answer.refused(403).contains("can only be modified by the GitHub App that created it"));
}

#[tokio::test]
async fn an_incomplete_run_turns_stale() {
    let site = Site::new().await;
    site.bot
        .post(
            PATH,
            json!({"name": "verdict", "head_sha": site.pull.head(), "status": "in_progress"}),
        )
        .await
        .ok();
    site.github.advance(Duration::from_hours(14 * 24));
    assert_eq!(site.pull.checks()[0].conclusion.as_deref(), Some("stale"));
}

#[tokio::test]
async fn the_latest_run_of_a_name_is_listed_and_asked_for_again() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    let action = json!({"label": "Again", "description": "Review again", "identifier": "again"});
    let run = json!({"name": "verdict", "head_sha": site.pull.head(), "actions": [action]});
    site.bot.post(PATH, run.clone()).await.ok();
    let latest = site.bot.post(PATH, run).await.ok();
    let path = format!("/repos/octo/demo/commits/{}/check-runs", site.pull.head());
    let listed = site.bot.get(&path).await.ok();
    assert_eq!(
        (&listed["total_count"], &listed["check_runs"][0]["id"]),
        (&json!(1), &latest["id"])
    );
    assert_eq!(site.bot.get(&format!("{path}?filter=all")).await.ok()["total_count"], 2);
    let id = latest["id"].as_u64().unwrap();
    site.pull.rerequest_check(id);
    assert_eq!(receiver.next("check_run", "rerequested").await.json()["check_run"]["id"], id);
    site.pull.press_button(id, "again");
    let pressed = receiver.next("check_run", "requested_action").await.json();
    assert_eq!(pressed["requested_action"]["identifier"], "again");
}

#[tokio::test]
async fn a_merge_group_asks_for_checks_on_a_commit_of_its_own() {
    let site = Site::new().await;
    let mut receiver = Receiver::start().await;
    site.app.webhook(&receiver.url, "s");
    let group = site.pull.enqueue();
    let asked = receiver.next("merge_group", "checks_requested").await.json();
    assert_eq!(asked["merge_group"]["head_sha"], group.head_sha);
    let name = asked["merge_group"]["head_ref"].as_str().unwrap();
    assert!(name.starts_with("refs/heads/gh-readonly-queue/main/pr-1-"), "{name}");
    site.bot
        .post(PATH, json!({"name": "verdict", "head_sha": group.head_sha, "conclusion": "success"}))
        .await
        .ok();
    assert_eq!(group.checks()[0].conclusion.as_deref(), Some("success"));
    group.destroy("merged");
    assert_eq!(receiver.next("merge_group", "destroyed").await.json()["reason"], "merged");
}
