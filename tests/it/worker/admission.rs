//! Rows of the table that never come to an execution.

use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        NewSpec, RunStatus,
        store::{LetterReason, LetterState, Waiting},
    },
    queue::{Decoded, Message},
    worker::Status,
    workflows::Workflow,
};

use super::hall::{Act, Hall, Part, Play, about, id, part, seconds};

/// W3: what cannot be read becomes a letter without a run, and the queue goes on.
#[tokio::test]
async fn undecodable_messages_become_letters() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.post(Message::new("{ not json").with("x-mark", "kept")).await;
    let letter = hall.only_letter().await;
    assert_eq!((letter.reason, letter.state), (LetterReason::Undecodable, LetterState::Open));
    assert_eq!((letter.run, letter.executions), (None, 1));
    assert_eq!(&letter.payload[..], b"{ not json");
    assert_eq!(letter.headers["x-mark"], "kept");
    assert!(letter.error.contains("its body is not as expected"), "{}", letter.error);
    hall.settled(0).await;
    assert_eq!(hall.runs().await, 0);
    worker.stop().await;
}

/// W3: a workflow nobody has.
#[tokio::test]
async fn unknown_workflows_become_letters() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.post(Message::new(json!({"workflow": "opera", "input": 1}).to_string())).await;
    let letter = hall.only_letter().await;
    assert_eq!(letter.reason, LetterReason::UnknownWorkflow);
    assert_eq!(letter.workflow.as_deref(), Some("opera"));
    assert_eq!(letter.error, "there is no workflow `opera` here (known: play)");
    hall.settled(0).await;
    assert_eq!(hall.runs().await, 0);
    worker.stop().await;
}

/// W3: input that does not fit.
#[tokio::test]
async fn unfit_input_becomes_a_letter() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.post(Message::new(json!({"workflow": "play", "input": "?"}).to_string())).await;
    let letter = hall.only_letter().await;
    assert_eq!((letter.reason, letter.run), (LetterReason::Permanent, None));
    assert!(letter.error.contains("does not fit workflow `play`"), "{}", letter.error);
    hall.settled(0).await;
    assert_eq!(hall.runs().await, 0);
    worker.stop().await;
}

/// W3: asking the forge may fail like any step; a failure of the whole forge pauses the worker.
#[tokio::test]
async fn an_admission_that_fails_comes_back() {
    let hall = Hall::new().await;
    hall.stage.refuse("a", [Fault::transient("busy"), Fault::outage("away")]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.settled(1).await;
    assert_eq!(hall.runs().await, 0);
    hall.pass(seconds(10));
    let paused = worker.is(|status| matches!(status, Status::Paused(_))).await;
    assert_eq!(paused, Status::Paused("away".into()));
    worker.is(|status| *status == Status::Taking).await;
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    hall.settled(0).await;
    assert_eq!(hall.all_letters().await, []);
    worker.stop().await;
}

async fn foreign_run(hall: &Hall, workflow: &str, version: u32) {
    let graph = Play::graph().unwrap();
    let spec = NewSpec::new(workflow, version, part("a")).id(id("a"));
    hall.runtime.open(&graph, spec).await.unwrap();
    hall.post(Decoded::wake_message(id("a").as_str())).await;
}

/// W3: a run of a newer version waits for a worker that knows it, and is given up after the wait.
#[tokio::test]
async fn a_run_of_an_unknown_version_waits_and_is_then_given_up() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    foreign_run(&hall, "play", 2).await;
    for _ in 0..3 {
        hall.settled(1).await;
        let head = hall.becomes("a", RunStatus::Queued).await;
        assert_eq!((head.version, head.executions, head.error), (1, 0, None));
        assert_eq!(head.waiting, Some(Waiting::Version { since: head.created_at }));
        hall.pass(seconds(60));
    }
    hall.settled(1).await;
    hall.pass(seconds(3600));
    let letter = hall.only_letter().await;
    assert_eq!((letter.reason, letter.run), (LetterReason::UnsupportedVersion, Some(id("a"))));
    assert!(letter.error.contains("version 2 of workflow `play`"), "{}", letter.error);
    hall.becomes("a", RunStatus::Failed).await;
    // Where a sweep was quicker, its message has been put off once more.
    hall.empties_passing(seconds(60)).await;
    assert_eq!(hall.stage.ran("a"), [""; 0]);
    worker.stop().await;
}

/// W3: the same for a run of a workflow this worker has not got.
#[tokio::test]
async fn a_run_of_an_unknown_workflow_waits_and_is_then_given_up() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    foreign_run(&hall, "opera", 1).await;
    hall.settled(1).await;
    hall.pass(seconds(3600));
    let letter = hall.only_letter().await;
    assert_eq!(letter.reason, LetterReason::UnsupportedVersion);
    assert_eq!(letter.workflow.as_deref(), Some("opera"));
    hall.becomes("a", RunStatus::Failed).await;
    // Where a sweep was quicker, its message has been put off once more.
    hall.empties_passing(seconds(60)).await;
    worker.stop().await;
}

/// W3: an event that ends its subject cancels the subject's run in the worker that has it.
#[tokio::test]
async fn a_cancelled_subject_stops_its_run() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&about("a", "pr 1", 1)).await;
    hall.stage.stand(1).await;
    hall.send(&Part { event: Some("cancel".into()), ..about("b", "pr 1", 2) }).await;
    hall.becomes("a", RunStatus::Cancelled).await;
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work"]);
    assert_eq!(hall.runs().await, 1);
    worker.stop().await;
}

/// W3: a wake-up for nothing is no trouble.
#[tokio::test]
async fn waking_what_is_not_there_does_nothing() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.post(Decoded::wake_message(id("nobody").as_str())).await;
    hall.settled(0).await;
    hall.post(Decoded::wake_message("no id")).await;
    assert_eq!(hall.only_letter().await.reason, LetterReason::Undecodable);
    worker.stop().await;
}
