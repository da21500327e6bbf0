//! Rows of the table that begin with an execution.

use serde_json::json;
use verdict::{
    base::Fault,
    graph::{
        RunStatus,
        store::{LetterReason, Resumed, Waiting},
    },
    queue::{Decoded, EVENT_TYPE, Message, header},
    worker::Status,
};

use super::hall::{Act, Hall, Part, id, part, seconds};
use crate::support::eventually;

/// W3: completed, ignored, already done: the message goes.
#[tokio::test]
async fn what_is_done_is_acknowledged() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    hall.send(&part("a")).await;
    let head = hall.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.not_before, head.error), (0, None, None));
    hall.send(&part("a")).await;
    hall.send(&Part { event: Some("ignore".into()), ..part("b") }).await;
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "publish"]);
    assert_eq!(hall.head("b").await, None);
    assert_eq!(hall.all_letters().await, []);
    worker.stop().await;
}

/// W3, E15: a run that waits for a person leaves the queue, and goes on when woken with the answer.
#[tokio::test]
async fn a_run_that_asks_is_parked_until_it_is_answered() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Ask]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    let head = hall.becomes("a", RunStatus::Parked).await;
    assert_eq!((head.not_before, head.executions), (None, 0));
    hall.settled(0).await;
    // No time brings it back.
    hall.pass(seconds(100_000));
    hall.all_quiet().await;
    assert_eq!(hall.becomes("a", RunStatus::Parked).await.version, head.version);

    let yes = serde_json::value::to_raw_value(&true).unwrap();
    let open = hall.runtime.inspect::<super::hall::Scene>(&id("a")).await.unwrap().1;
    let interrupt = open.interrupts()[0].id.clone();
    let resumed = hall.runtime.resume(&id("a"), &interrupt, &yes).await.unwrap();
    assert!(matches!(resumed, Resumed::Accepted(_)), "{resumed:?}");
    hall.post(Decoded::wake_message(id("a").as_str())).await;
    hall.becomes("a", RunStatus::Completed).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "publish"]);
    worker.stop().await;
}

/// W3: a run that waits for a time leaves the queue, and the sweep brings it back.
#[tokio::test]
async fn a_run_that_waits_for_a_time_is_parked_until_then() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Park(seconds(600))]);
    let worker = hall.worker();
    let until = hall.now().plus(seconds(600));
    hall.send(&part("a")).await;
    assert_eq!(hall.becomes("a", RunStatus::Parked).await.not_before, Some(until));
    hall.settled(0).await;
    hall.pass(seconds(599));
    hall.all_quiet().await;
    hall.becomes("a", RunStatus::Parked).await;
    hall.pass(seconds(10));
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    worker.stop().await;
}

/// E25: a message brings an event; whichever comes first, event or wait, the run receives it once.
#[tokio::test]
async fn an_event_on_the_queue_wakes_the_run_that_waits_for_it() {
    let hall = Hall::new().await;
    let worker = hall.worker();
    let event = |body: serde_json::Value| {
        let message = Message::new(body.to_string());
        message.with(header::CONTENT_TYPE, EVENT_TYPE)
    };
    for (name, key) in [("a", "after"), ("b", "before")] {
        hall.stage.put_up(name, [Act::Await(key, seconds(600))]);
        let green = event(json!({"key": key, "payload": "green"}));
        if key == "before" {
            hall.post(green.clone()).await;
            hall.settled(0).await;
        }
        hall.send(&part(name)).await;
        if key == "after" {
            let head = hall.becomes(name, RunStatus::Parked).await;
            assert_eq!(head.not_before, Some(hall.now().plus(seconds(600))));
            assert_eq!(head.waiting.unwrap().to_string(), "event: after");
            hall.post(green.clone()).await;
        }
        hall.becomes(name, RunStatus::Completed).await;
        // Delivered again, it is the same event.
        hall.post(green).await;
        hall.settled(0).await;
        let (_, seen) = hall.runtime.inspect::<super::hall::Scene>(&id(name)).await.unwrap();
        assert_eq!(seen.state().unwrap().done, ["prepare", r#"work Event("green")"#, "publish"]);
        assert_eq!(hall.stage.ran(name).iter().filter(|node| *node == "prepare").count(), 1);
    }

    // The sweep brings back what no event reaches.
    hall.stage.put_up("c", [Act::Await("never", seconds(600))]);
    hall.send(&part("c")).await;
    hall.becomes("c", RunStatus::Parked).await;
    hall.settled(0).await;
    hall.pass(seconds(610));
    hall.becomes("c", RunStatus::Completed).await;
    let (_, seen) = hall.runtime.inspect::<super::hall::Scene>(&id("c")).await.unwrap();
    assert_eq!(seen.state().unwrap().done[1], "work TimedOut");

    // What is no event is a dead letter.
    assert_eq!(hall.all_letters().await, []);
    for body in [json!({"payload": 1}), json!({"key": ""}), json!({"key": 5}), json!([])] {
        hall.post(event(body)).await;
    }
    hall.settled(0).await;
    let letters = hall.all_letters().await;
    assert_eq!(letters.len(), 4);
    assert!(letters.iter().all(|letter| letter.reason == LetterReason::Undecodable), "{letters:?}");
    worker.stop().await;
}

/// W3: a transient failure comes back later and is counted; what was finished is not run again.
#[tokio::test]
async fn a_transient_failure_comes_back_later() {
    let hall = Hall::new().await;
    let busy = Fault::transient("busy");
    hall.stage.put_up("a", [Act::Fail(busy.clone()), Act::Fail(busy)]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    for (executions, wait) in [(1, 10), (2, 60)] {
        hall.settled(1).await;
        let head = hall.becomes("a", RunStatus::Queued).await;
        assert_eq!(head.executions, executions);
        assert_eq!(head.not_before, Some(hall.now().plus(seconds(wait))));
        assert_eq!(head.error.as_deref(), Some("busy"));
        hall.pass(seconds(wait));
    }
    let head = hall.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.error), (2, None));
    hall.settled(0).await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "work", "publish"]);
    assert_eq!(hall.all_letters().await, []);
    worker.stop().await;
}

/// P8: somebody else's limit parks the run for as long as they say, and is no failure of the run.
#[tokio::test]
async fn a_limit_parks_the_run_and_counts_as_no_failure() {
    let hall = Hall::new().await;
    let limited = Fault::transient("slow down").after(seconds(300));
    hall.stage.put_up("a", (0..9).map(|_| Act::Fail(limited.clone())));
    let worker = hall.worker();
    hall.send(&part("a")).await;
    for _ in 0..9 {
        hall.settled(0).await;
        let head = hall.becomes("a", RunStatus::Parked).await;
        assert_eq!((head.executions, head.waiting), (0, Some(Waiting::Limit)));
        assert_eq!(head.not_before, Some(hall.now().plus(seconds(300))));
        hall.pass(seconds(310));
        eventually("it is taken up", async || {
            (hall.head("a").await?.not_before != head.not_before).then_some(())
        })
        .await;
    }
    let head = hall.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, hall.all_letters().await), (0, vec![]));
    worker.stop().await;
}

/// W3: the fifth transient failure is the last.
#[tokio::test]
async fn the_fifth_failure_becomes_a_dead_letter() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", (0..5).map(|_| Act::Fail(Fault::transient("busy"))));
    let worker = hall.worker();
    let first = hall.now();
    hall.send(&part("a")).await;
    for wait in [10, 60, 60, 60] {
        hall.settled(1).await;
        hall.pass(seconds(wait));
    }
    assert_eq!(hall.becomes("a", RunStatus::Failed).await.executions, 5);
    let letter = hall.only_letter().await;
    assert_eq!(letter.reason, LetterReason::AttemptsExhausted);
    assert_eq!((letter.run, letter.executions), (Some(id("a")), 5));
    assert_eq!((letter.node.as_deref(), &letter.error[..]), (Some("work"), "busy"));
    assert_eq!((letter.first_at, letter.last_at), (first, hall.now()));
    hall.settled(0).await;
    worker.stop().await;
}

/// W3: a permanent failure: run failed, letter recorded, on the queue and confirmed, message gone.
#[tokio::test]
async fn a_permanent_failure_becomes_a_dead_letter_at_once() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Fail(Fault::permanent("no"))]);
    hall.stage.put_up("b", [Act::Panic]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    let head = hall.becomes("a", RunStatus::Failed).await;
    assert_eq!((head.executions, head.error.as_deref()), (1, Some("no")));
    let letter = hall.only_letter().await;
    assert_eq!((letter.reason, letter.node.as_deref()), (LetterReason::Permanent, Some("work")));
    assert_eq!(letter.workflow.as_deref(), Some("play"));
    let payload: serde_json::Value = serde_json::from_slice(&letter.payload).unwrap();
    assert_eq!(payload["input"]["name"], "a");
    // The log says so last, just before the message goes.
    hall.settled(0).await;
    let kinds = hall.kinds("a").await;
    assert_eq!(kinds[kinds.len() - 3..], ["finished", "letter", "letter_confirmed"]);
    assert_eq!(hall.stage.ran("a"), ["prepare", "work"]);

    hall.send(&part("b")).await;
    let head = hall.becomes("b", RunStatus::Failed).await;
    assert_eq!(head.error.as_deref(), Some("node `work` panicked: as the test wished"));
    worker.stop().await;
}

/// W3: when a whole service is out of reach nothing is counted, and the worker pauses and recovers.
#[tokio::test]
async fn an_outage_is_nobodys_failure() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", (0..7).map(|_| Act::Fail(Fault::outage("the forge is away"))));
    let worker = hall.worker();
    hall.send(&part("a")).await;
    for round in 1..=7 {
        let paused = worker.is(|status| matches!(status, Status::Paused(_))).await;
        assert_eq!(paused, Status::Paused("the forge is away".into()), "round {round}");
        worker.is(|status| *status == Status::Taking).await;
        hall.settled(1).await;
        let head = hall.becomes("a", RunStatus::Queued).await;
        assert_eq!((head.executions, head.error.as_deref()), (0, Some("the forge is away")));
        hall.pass(seconds(5));
    }
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    hall.settled(0).await;
    assert_eq!(hall.dead().await, []);
    worker.stop().await;
}
