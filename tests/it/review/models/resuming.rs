//! What a review lacks is asked for later, and only that.

use std::time::Duration;

use fake_models::Reply;
use serde_json::{Value, json};
use verdict::{graph::State, workflows::review::ReviewState};

use super::support::{AGENTS, Site, asked_by, nothing, report, task_of};

/// R4, N6: a refused key makes a dead letter once the rest is shown; replayed, only what failed is asked again, and the same
/// review becomes whole.
#[tokio::test]
async fn a_replayed_letter_asks_only_what_failed() {
    // Nothing comes again by itself, however slow the machine is: calls are counted.
    let site = Site::new().with("worker.lease", "10m").with("queue.visibility", "10m");
    site.models.script(asked_by("security"), [Reply::status(401)]);
    site.enqueue();
    site.machine.serve_all().await;
    let letters = site.machine.run(&["dlq", "list", "--format", "json"]).json();
    let letter = &letters[0];
    assert_eq!(letter["reason"], "permanent", "{letters:#}");
    assert!(letter["error"].to_string().contains("401 (unauthorized)"), "{letters:#}");
    let run = letter["run"].as_str().unwrap().to_owned();
    let state = || site.machine.run(&["runs", "show", &run, "--format", "json"]).json();
    assert_eq!(state()["state"]["judgement"]["verdict"], "incomplete");
    site.models.script(asked_by("security"), [nothing()]);
    assert_eq!(site.machine.run(&["dlq", "replay", letter["id"].as_str().unwrap()]).code, Some(0));
    site.machine.serve_all().await;
    let run = state();
    assert_eq!(
        (&run["status"], &run["state"]["judgement"]["verdict"]),
        (&json!("completed"), &json!("clean"))
    );
    let calls = site.models.calls();
    for agent in AGENTS {
        let asked = calls.iter().filter(|call| call.says(task_of(agent))).count();
        assert_eq!(asked, if agent == "security" { 2 } else { 1 }, "{agent}");
    }
}

/// R3, N4: a review that models left incomplete is woken, a few times and ever later; a whole one is not.
#[test]
fn an_incomplete_review_is_woken() {
    let site = Site::new();
    site.models.script(asked_by("style"), [Reply::status(503)]);
    let run = report(&site.review())["run"].as_str().unwrap().to_owned();
    let shown = site.machine.run(&["runs", "show", &run, "--format", "json"]).json();
    assert!(shown["not_before"].is_string(), "{shown:#}");
    let state = |value: &Value| serde_json::from_value::<ReviewState>(value.clone()).unwrap();
    let waits: Vec<Option<Duration>> =
        (0..5).map(|times| state(&shown["state"]).revisit(times)).collect();
    let minutes = |minutes: u64| Some(Duration::from_secs(minutes * 60));
    assert_eq!(waits, [minutes(5), minutes(30), minutes(120), minutes(480), None]);
    site.models.script(asked_by("style"), [nothing()]);
    site.repo.write("src/b.py", "b = 1\n").commit("whole");
    let run = report(&site.review())["run"].as_str().unwrap().to_owned();
    let shown = site.machine.run(&["runs", "show", &run, "--format", "json"]).json();
    assert!(shown["not_before"].is_null() && state(&shown["state"]).revisit(0).is_none());
}
