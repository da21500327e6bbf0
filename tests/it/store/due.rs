//! What the sweep finds.

use std::time::Duration;

use verdict::graph::store::{Append, HeadChange, Hold, NewRun, RunStatus};

use super::harness::*;

async fn due(place: &Place, margin: Duration, limit: usize) -> Vec<String> {
    let heads = place.store.due(margin, limit).await.unwrap();
    heads.into_iter().map(|head| head.key).collect()
}

async fn leave(place: &Place, name: &str, status: RunStatus, after: Option<u32>) {
    let lease = place.hold(name).await;
    let not_before = after.map(|seconds| place.now().plus(SECOND * seconds));
    let op = Append {
        head: HeadChange { status, not_before, ..change() },
        hold: Hold::Release,
        ..append(&lease, 1, &[])
    };
    place.store.append(op).await.unwrap();
}

pub async fn lists_each_kind_and_nothing_else(place: &Place) {
    leave(place, "parked", RunStatus::Parked, Some(10)).await;
    leave(place, "queued", RunStatus::Queued, Some(11)).await;
    leave(place, "incomplete", RunStatus::Completed, Some(12)).await;
    leave(place, "waits for a person", RunStatus::Parked, None).await;
    leave(place, "ended", RunStatus::Failed, None).await;
    place.open(run("queued, in the broker's hands")).await;
    let ahead = Some(place.now().plus(TTL * 10));
    place.open(NewRun { not_before: ahead, ..run("later") }).await;
    place.hold("orphan").await;
    place.pass(SECOND * 20).await;
    let held = place.hold("held").await;
    let op = Append {
        head: HeadChange { not_before: Some(place.now()), ..change() },
        ..append(&held, 1, &[])
    };
    place.store.append(op).await.unwrap();
    let timed = ["parked", "queued", "incomplete"];
    assert_eq!(due(place, Duration::ZERO, 9).await, timed, "the orphan's lease still lives");
    assert_eq!(due(place, SECOND * 10, 9).await, ["parked"], "not within the margin");
    assert!(due(place, SECOND * 11, 9).await.is_empty());
    // The orphan's lease ends at 60, that of `held` at 80.
    place.pass(SECOND * 42).await;
    assert_eq!(due(place, SECOND, 9).await, ["parked", "queued", "incomplete", "orphan"]);
    assert_eq!(due(place, SECOND * 3, 9).await, timed);
    place.pass(SECOND * 20).await;
    let all = ["parked", "queued", "incomplete", "held", "orphan"];
    assert_eq!(due(place, Duration::ZERO, 9).await, all, "`held` is overdue since its not_before");
    let head = place.store.due(Duration::ZERO, 1).await.unwrap().remove(0);
    assert_eq!(head, place.head("parked").await, "heads are whole");
    let _ = place.claim("parked").await;
    place.store.cancel(&id("queued"), record("cancelled")).await.unwrap();
    assert_eq!(due(place, Duration::ZERO, 9).await, ["incomplete", "held", "orphan"]);
}

pub async fn the_longest_overdue_come_first(place: &Place) {
    for (name, after) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] {
        leave(place, name, RunStatus::Parked, Some(after)).await;
    }
    place.pass(TTL).await;
    assert_eq!(due(place, SECOND, 3).await, ["a", "b", "c"]);
    assert_eq!(due(place, SECOND, 1).await, ["a"]);
}
