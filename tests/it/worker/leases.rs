//! Who may work on a run, and what becomes of it when a worker stops.

use std::time::Duration;

use verdict::{
    graph::{ClaimHow, RunStatus, Runtime, store::Claimed},
    queue::Queue,
    worker::Status,
};

use super::hall::{Act, Hall, id, part, seconds};

/// Another process, by its name.
fn another(hall: &Hall, ttl: Duration) -> Runtime {
    Runtime::new(hall.store.clone(), verdict::base::Clock::system(), "another").with_ttl(ttl)
}

/// W3: a run that a living worker holds is left alone, and its message waits, uncounted.
#[tokio::test]
async fn a_held_run_makes_its_message_wait() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Park(seconds(1))]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.becomes("a", RunStatus::Parked).await;
    let how = ClaimHow { early: true, reopen: false };
    let claimed = another(&hall, seconds(50)).claim(&id("a"), how).await.unwrap();
    assert!(matches!(claimed, Claimed::Yours(..)));
    hall.send(&part("a")).await;
    hall.settled(1).await;
    hall.pass(seconds(49));
    hall.all_quiet().await;
    let head = hall.head("a").await.unwrap();
    assert_eq!((head.status, head.executions), (RunStatus::Running, 0));
    assert_eq!(head.lease.unwrap().owner, "another");
    // It never comes back: the lease ends, and the message finds the run free.
    hall.pass(seconds(2));
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    hall.settled(0).await;
    assert_eq!(hall.all_letters().await, []);
    worker.stop().await;
}

/// W5: the lease is renewed for as long as the work takes; another worker keeps off.
#[tokio::test]
async fn a_lease_is_renewed_while_the_work_goes_on() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    let expires = async || hall.head("a").await.unwrap().lease.unwrap().expires;
    let before = expires().await;
    hall.pass(Duration::from_millis(250));
    crate::support::eventually("the lease is renewed", async || {
        (expires().await > before).then_some(())
    })
    .await;
    hall.stage.open();
    hall.becomes("a", RunStatus::Completed).await;
    worker.stop().await;
}

/// W5: a worker that lost its run's lease stops working on it and writes nothing more.
#[tokio::test]
async fn losing_the_lease_stops_the_run_here() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    // As if this worker had been stalled for longer than its lease.
    let taken = crate::support::eventually("the run is taken over", async || {
        hall.pass(seconds(1));
        let how = ClaimHow::default();
        match another(&hall, seconds(1000)).claim(&id("a"), how).await.unwrap() {
            Claimed::Yours(_, head) => Some(head),
            _ => None,
        }
    })
    .await;
    // Its message goes back and waits.
    hall.settled(1).await;
    let head = hall.head("a").await.unwrap();
    assert_eq!((head.version, head.epoch), (taken.version, taken.epoch));
    assert_eq!(head.lease.unwrap().owner, "another");
    assert_eq!(hall.stage.ran("a"), ["prepare", "work"]);
    worker.stop().await;
}

/// W6: told to stop, a worker lets a node come to its end, records it, and gives the rest back.
#[tokio::test]
async fn a_stopping_worker_lets_go_at_the_next_record() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    worker.told_to_stop();
    worker.is(|status| *status == Status::Stopping).await;
    // Nothing is taken any more.
    hall.send(&part("b")).await;
    hall.stage.open();
    worker.stop().await;

    let head = hall.head("a").await.unwrap();
    assert_eq!((head.status, head.lease, head.executions), (RunStatus::Queued, None, 0));
    assert_eq!(hall.stage.ran("a"), ["prepare", "work"]);
    assert_eq!(hall.kinds("a").await.iter().filter(|kind| **kind == "task_finished").count(), 2);
    assert_eq!(hall.head("b").await, None);
    hall.waiting(2).await;

    let worker = hall.worker();
    hall.becomes("a", RunStatus::Completed).await;
    hall.becomes("b", RunStatus::Completed).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "publish"]);
    worker.stop().await;
}

/// W6: what does not come to a record within the grace period is cut short, and runs again.
#[tokio::test]
async fn what_outlasts_the_grace_period_is_cut_short() {
    let mut hall = Hall::new().await;
    hall.options.grace = Duration::from_millis(100);
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    worker.stop().await;
    let head = hall.head("a").await.unwrap();
    assert_eq!((head.status, head.lease, head.executions), (RunStatus::Queued, None, 0));
    hall.waiting(1).await;

    let worker = hall.worker();
    hall.becomes("a", RunStatus::Completed).await;
    hall.empties().await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "work", "publish"]);
    worker.stop().await;
}

/// W1: never more at a time than it may.
#[tokio::test]
async fn concurrency_is_bounded() {
    let hall = Hall::new().await;
    let names: Vec<_> = (0..12).map(|n| format!("part {n}")).collect();
    for name in &names {
        hall.stage.put_up(name, [Act::Stand]);
        hall.send(&part(name)).await;
    }
    let worker = hall.worker();
    hall.stage.stand(4).await;
    let depth = hall.queue.depth().await.unwrap();
    assert_eq!((depth.ready, depth.in_hand), (Some(8), Some(4)));
    assert_eq!(hall.runs().await, 4);
    hall.stage.open();
    for name in &names {
        hall.becomes(name, RunStatus::Completed).await;
    }
    hall.settled(0).await;
    worker.stop().await;
}
