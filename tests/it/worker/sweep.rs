//! Runs and letters nobody looks after.

use std::time::Duration;

use verdict::{
    base::{Clock, Fault},
    graph::{
        Failure, Meta, NewSpec, Outcome, RunStatus, Runtime,
        store::{HeadChange, Letter, LetterReason, LetterState},
    },
    queue::{DeadLetter, Message, Queue},
    workflows::Workflow,
};

use super::hall::{Hall, Part, Play, id, part, seconds};
use crate::support::eventually;

async fn open(hall: &Hall, spec: NewSpec<Part>) -> verdict::graph::OpenedRun {
    let dead = Runtime::new(hall.store.clone(), Clock::system(), "dead").with_ttl(seconds(20));
    dead.open(&Play::graph().unwrap(), spec).await.unwrap()
}

fn spec(name: &str) -> NewSpec<Part> {
    NewSpec::new("play", 1, part(name)).key(name)
}

/// W2: a run that was stored, and whose message was never sent.
#[tokio::test]
async fn a_run_whose_message_was_lost_is_finished() {
    let hall = Hall::new().await;
    open(&hall, spec("a").not_before(hall.now().plus(seconds(10)))).await;
    let worker = hall.worker();
    hall.pass(seconds(14));
    hall.all_quiet().await;
    assert_eq!(hall.head("a").await.unwrap().status, RunStatus::Queued, "too early");
    hall.pass(seconds(1));
    hall.becomes("a", RunStatus::Completed).await;
    worker.stop().await;
}

/// W2: a run whose worker died, and whose message went with it.
#[tokio::test]
async fn an_orphan_is_taken_over() {
    let hall = Hall::new().await;
    assert!(open(&hall, spec("a").claim()).await.held.is_some());
    let worker = hall.worker();
    hall.pass(seconds(24));
    hall.all_quiet().await;
    assert_eq!(hall.head("a").await.unwrap().lease.unwrap().owner, "dead", "too early");
    hall.pass(seconds(1));
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    worker.stop().await;
}

/// W2: a message whose worker died comes back when its visibility has run out.
#[tokio::test]
async fn a_message_whose_worker_died_comes_back() {
    let hall = Hall::new().await;
    hall.send(&part("a")).await;
    let taken = hall.queue.consumer().next().await.unwrap();
    assert_eq!(taken.deliveries, 1);
    let worker = hall.worker();
    hall.all_quiet().await;
    assert_eq!(hall.head("a").await, None);
    hall.pass(super::hall::VISIBILITY + Duration::from_millis(1));
    hall.becomes("a", RunStatus::Completed).await;
    hall.empties().await;
    worker.stop().await;
}

fn letter(hall: &Hall, run: Option<&str>) -> Letter {
    Letter {
        id: "0123456789abcdef".into(),
        reason: LetterReason::Permanent,
        state: LetterState::Open,
        run: run.map(id),
        workflow: Some("play".into()),
        node: None,
        error: "no".into(),
        executions: 1,
        first_at: hall.now(),
        last_at: hall.now(),
        headers: [("x-mark".to_owned(), "kept".to_owned())].into(),
        payload: "body".into(),
        confirmed: false,
    }
}

/// W3: a letter that was recorded and never published, because its worker died in between. One
/// that a worker may be about to publish is left to it.
#[tokio::test]
async fn a_recorded_letter_is_delivered_late() {
    let hall = Hall::new().await;
    let long_ago = verdict::base::Timestamp(hall.now().0 - 61_000);
    let old = Letter { last_at: long_ago, ..letter(&hall, None) };
    hall.store.put_letter(old).await.unwrap();
    let worker = hall.worker();
    hall.only_letter().await;
    let dead = hall.dead().await;
    assert_eq!(dead[0].message, Message::new("body").with("x-mark", "kept"));
    worker.stop().await;
}

/// W3: the same for the letter of a run: its log says so too.
#[tokio::test]
async fn a_failed_runs_letter_is_delivered_late() {
    let hall = Hall::new().await;
    let begun = open(&hall, spec("a").claim()).await;
    let fault = Fault::permanent("no");
    let failure = Failure { step: 1, node: None, fault };
    let letter = letter(&hall, Some("a"));
    let metas = [
        Meta::Finished { outcome: Outcome::Failed(failure) },
        Meta::Letter { id: letter.id.clone() },
    ];
    let change = HeadChange {
        status: RunStatus::Failed,
        not_before: None,
        waiting: None,
        executions: 1,
        active: Duration::ZERO,
        error: Some("no".into()),
    };
    let lease = begun.held.clone().unwrap().lease;
    let noted = hall.runtime.note((&lease, &begun.head), &metas, change, Some(letter), false);
    noted.await.unwrap();

    let worker = hall.worker();
    hall.only_letter().await;
    // The store has it first, the log second.
    eventually("the log says so too", async || {
        let kinds = hall.kinds("a").await;
        (kinds == ["started", "finished", "letter", "letter_confirmed"]).then_some(())
    })
    .await;
    let head = hall.becomes("a", RunStatus::Failed).await;
    assert_eq!((head.executions, head.error.as_deref()), (1, Some("no")));
    worker.stop().await;
}

/// W3: a letter's late delivery leaves a run alone that is being tried again.
#[tokio::test]
async fn a_late_letter_does_not_end_a_run_that_goes_on() {
    let hall = Hall::new().await;
    open(&hall, spec("a").not_before(hall.now().plus(seconds(100)))).await;
    hall.store.put_letter(letter(&hall, Some("a"))).await.unwrap();
    let worker = hall.worker();
    hall.only_letter().await;
    assert_eq!(hall.head("a").await.unwrap().status, RunStatus::Queued);
    hall.pass(seconds(105));
    hall.becomes("a", RunStatus::Completed).await;
    worker.stop().await;
}

/// W3: what the queue gave up by itself becomes a letter, and what was settled leaves the queue.
#[tokio::test]
async fn the_queues_own_dead_letters_are_reconciled() {
    let hall = Hall::new().await;
    let dead = |id: &str| DeadLetter {
        id: id.into(),
        reason: "too old".into(),
        by_broker: true,
        notes: Vec::new(),
        message: Message::new("body").with("x-mark", "kept"),
    };
    hall.queue.publish_dead(dead("brokers-own")).await.unwrap();
    hall.store.put_letter(letter(&hall, None)).await.unwrap();
    let settled = letter(&hall, None).id;
    hall.store.settle_letter(&settled, LetterState::Discarded, None).await.unwrap();
    hall.queue.publish_dead(dead(&settled)).await.unwrap();

    let worker = hall.worker();
    let imported = eventually("the broker's letter is imported", async || {
        hall.store.letter("brokers-own").await.unwrap()
    })
    .await;
    assert_eq!((imported.reason, imported.confirmed), (LetterReason::BrokerLimit, true));
    assert_eq!((&imported.payload[..], &imported.headers["x-mark"][..]), (&b"body"[..], "kept"));
    assert!(imported.error.contains("too old"), "{}", imported.error);
    eventually("the settled letter leaves the queue", async || {
        let left = hall.dead().await;
        (left.len() == 1 && left[0].id == "brokers-own").then_some(())
    })
    .await;
    worker.stop().await;
}
