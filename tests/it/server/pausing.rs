//! W8: workflows and repositories paused, many runs and letters acted on at once.

use std::sync::Arc;

use serde_json::{Value, json};
use verdict::{
    base::Fault,
    graph::{RunStatus, store::LetterState},
};

use super::operating::Desk;
use crate::{
    support::eventually,
    worker::hall::{Act, about, id, part, seconds},
};

/// What a bulk action told: how many were selected, then each line.
fn told(answer: &super::Answer) -> (u64, Vec<Value>) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let lines = answer.body.lines().filter(|line| line.starts_with('{'));
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let count = lines.next().unwrap()["selected"].as_u64().unwrap();
    (count, lines.collect())
}

/// A paused workflow's runs are stored and put off, with the reason; those in hand go on. Ended, the
/// pause leaves nothing behind.
#[tokio::test]
async fn a_paused_workflow_takes_runs_and_begins_none() {
    let desk = Desk::new(false).await;
    desk.hall.stage.put_up("in hand", [Act::Stand]);
    let worker = desk.worker();
    desk.start("in hand").await;
    desk.hall.stage.stand(1).await;
    let pause = json!({"workflow": "play", "reason": "the model is dear"});
    let paused = desk.tell("POST /api/pauses", &pause).await;
    assert_eq!((paused.status, &paused.json()["workflow"]), (200, &json!("play")), "{paused:?}");

    // By HTTP and by the queue alike.
    desk.start("later").await;
    desk.hall.send(&part("sent")).await;
    for name in ["later", "sent"] {
        let waiting = eventually("the run is put off", async || {
            let head = desk.hall.head(name).await?;
            head.waiting.filter(|_| head.status == RunStatus::Queued && head.lease.is_none())
        });
        let text = waiting.await.to_string();
        assert_eq!(text, "time: workflow play is paused: the model is dear");
        assert!(desk.hall.stage.ran(name).is_empty());
    }
    desk.hall.stage.open();
    desk.hall.becomes("in hand", RunStatus::Completed).await;

    let listed = desk.seen("/api/pauses").await;
    assert_eq!(listed[0]["reason"], "the model is dear", "{listed}");
    for status in [204, 404] {
        let ended = desk.does("DELETE /api/pauses?workflow=play").await;
        assert_eq!(ended.status, status, "{ended:?}");
    }
    desk.hall.pass(seconds(30));
    for name in ["later", "sent"] {
        let done = desk.hall.becomes(name, RunStatus::Completed).await;
        assert_eq!(done.executions, 0, "a pause is nobody's failure");
    }
    worker.stop().await;
}

#[tokio::test]
async fn a_paused_repository_leaves_others_alone() {
    let desk = Desk::new(false).await;
    let worker = desk.worker();
    let pause = desk.tell("POST /api/pauses", &json!({"repository": "owner/repo"})).await;
    assert_eq!(pause.status, 200, "{pause:?}");
    desk.hall.send(&about("one", "github.com/owner/repo#7", 1)).await;
    desk.hall.send(&about("two", "github.com/owner/repo2#7", 1)).await;
    desk.hall.becomes("two", RunStatus::Completed).await;
    let head = eventually("the run is put off", async || {
        desk.hall.head("one").await.filter(|head| head.waiting.is_some())
    });
    assert_eq!(head.await.status, RunStatus::Queued);
    worker.stop().await;
    for (body, status) in [
        (json!({"workflow": "opera"}), 404),
        (json!({"repository": " "}), 422),
        (json!({"reason": "none"}), 400),
        (json!({}), 400),
    ] {
        assert_eq!(desk.tell("POST /api/pauses", &body).await.status, status, "{body}");
    }
    for query in ["", "?workflow=play&repository=owner/repo"] {
        assert_eq!(desk.does(&format!("DELETE /api/pauses{query}")).await.status, 400, "{query}");
    }
}

/// The count comes first, and may be all; then each run as it is done.
#[tokio::test]
async fn runs_that_a_filter_selects_are_counted_then_acted_on() {
    let desk = Desk::new(false).await;
    for name in ["a", "b", "c"] {
        desk.start(name).await;
    }
    let act = async |body: Value| desk.tell("POST /api/runs/actions", &body).await;
    let filter = json!({"workflow": "play", "status": ["queued"]});
    let dry = act(json!({"action": "cancel", "filter": filter, "dry_run": true})).await;
    assert_eq!(told(&dry), (3, vec![]));
    assert_eq!(desk.hall.head("a").await.unwrap().status, RunStatus::Queued);
    let (count, lines) = told(&act(json!({"action": "cancel", "filter": filter})).await);
    assert_eq!((count, lines.len()), (3, 3));
    assert!(lines.iter().all(|line| line["done"] == true), "{lines:?}");
    for name in ["a", "b", "c"] {
        assert_eq!(desk.hall.head(name).await.unwrap().status, RunStatus::Cancelled);
    }
    assert_eq!(told(&act(json!({"action": "cancel", "all": true})).await), (0, vec![]));
    for bad in [
        json!({"action": "cancel"}),
        json!({"action": "cancel", "all": true, "filter": {"workflow": "play"}}),
        json!({"action": "cancel", "filter": {"status": ["completed"]}}),
        json!({"action": "retry", "filter": {"status": ["queued"]}}),
    ] {
        assert_eq!(act(bad.clone()).await.status, 422, "{bad}");
    }
}

/// Failed runs go on where they failed; what is retried is told from what cannot be.
#[tokio::test]
async fn failed_runs_are_retried_together() {
    let desk = Desk::new(false).await;
    for name in ["a", "b", "c"] {
        desk.hall.stage.put_up(name, [Act::Fail(Fault::permanent("it is broken"))]);
    }
    let worker = desk.worker();
    for name in ["a", "b", "c"] {
        desk.start(name).await;
        desk.hall.becomes(name, RunStatus::Failed).await;
        // Its worker holds it until the letter is out; this clock does not end the lease.
        eventually("the run is given up", async || {
            desk.hall.head(name).await.filter(|head| head.lease.is_none())
        })
        .await;
    }
    let letters = desk.hall.all_letters().await;
    let of_c = letters.iter().find(|letter| letter.run == Some(id("c"))).unwrap();
    desk.hall.discard(&of_c.id).await;
    let answer =
        desk.tell("POST /api/runs/actions", &json!({"action": "retry", "all": true})).await;
    let (count, lines) = told(&answer);
    assert_eq!(count, 3);
    let line = |name: &str| {
        let run = json!(id(name));
        lines.iter().find(|line| line["id"] == run).unwrap_or_else(|| panic!("{lines:?}"))
    };
    assert_eq!((&line("a")["done"], &line("b")["done"]), (&json!(true), &json!(true)));
    assert!(line("c")["error"].as_str().unwrap().contains("discarded before"), "{lines:?}");
    for name in ["a", "b"] {
        desk.hall.becomes(name, RunStatus::Completed).await;
        assert_eq!(desk.hall.stage.ran(name), ["prepare", "work", "work", "publish"]);
    }
    worker.stop().await;
}

#[tokio::test]
async fn letters_that_a_filter_selects_are_settled_together() {
    let desk = Desk::new(false).await;
    for name in ["a", "b"] {
        desk.hall.stage.put_up(name, [Act::Fail(Fault::permanent("it is broken"))]);
    }
    let worker = desk.worker();
    for name in ["a", "b"] {
        desk.start(name).await;
        desk.hall.becomes(name, RunStatus::Failed).await;
    }
    worker.stop().await;
    let act = async |body: Value| desk.tell("POST /api/dead-letters/actions", &body).await;
    let none = json!({"action": "replay", "filter": {"reason": "undecodable"}});
    assert_eq!(told(&act(none).await), (0, vec![]));
    let filter = json!({"reason": "permanent"});
    let dry = act(json!({"action": "discard", "filter": filter, "dry_run": true})).await;
    assert_eq!(told(&dry), (2, vec![]));
    let (count, lines) = told(&act(json!({"action": "discard", "filter": filter})).await);
    assert_eq!((count, lines.len()), (2, 2));
    let letters = desk.hall.all_letters().await;
    assert!(letters.iter().all(|letter| letter.state == LetterState::Discarded), "{letters:?}");
    assert_eq!(act(json!({"action": "discard"})).await.status, 422);
}

impl Desk {
    /// A worker that learns of pauses as the server does.
    pub fn worker(&self) -> crate::worker::hall::Working {
        let queue: Arc<dyn verdict::queue::Queue> = self.hall.queue.clone();
        let options = self.hall.options.clone();
        crate::worker::hall::Working::start(verdict::worker::Worker::new(
            self.runs.clone(),
            queue,
            options,
        ))
    }
}
