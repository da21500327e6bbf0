//! Retention: what has ended and is old enough goes, in steps, and nothing else.

use std::sync::Arc;

use verdict::{
    base::{Clock, Fault, key_value::KeyValueStore},
    graph::{
        Memory, RunStatus,
        store::{Append, HeadChange, Hold, NewRun},
    },
};

use super::hall::{Act, Hall, part, seconds};
use crate::{
    store::harness::{append, by, change, run},
    support::eventually,
};

const AGE: std::time::Duration = seconds(3600);

async fn ended(hall: &Hall, name: &str) {
    let opened = hall.store.open(NewRun { claim: Some(by("before")), ..run(name) }).await.unwrap();
    let op = Append {
        head: HeadChange { status: RunStatus::Completed, ..change() },
        hold: Hold::Release,
        ..append(&opened.lease.unwrap(), 1, &["end"])
    };
    hall.store.append(op).await.unwrap();
}

async fn left(hall: &Hall, runs: usize) {
    eventually(&format!("{runs} runs are left"), async || {
        (hall.runs().await == runs).then_some(())
    })
    .await;
}

/// More than one step's worth, taken by two workers side by side. A run that waits stays, a young one
/// stays, and so does one whose letter is open, until that is settled.
#[tokio::test]
async fn old_runs_go_and_open_letters_keep_theirs() {
    let mut hall = Hall::new().await;
    let worker = hall.worker();
    hall.stage.put_up("mourned", [Act::Fail(Fault::permanent("no"))]);
    hall.stage.put_up("parked", [Act::Ask]);
    for name in ["mourned", "parked", "done"] {
        hall.send(&part(name)).await;
    }
    hall.becomes("mourned", RunStatus::Failed).await;
    hall.becomes("parked", RunStatus::Parked).await;
    hall.becomes("done", RunStatus::Completed).await;
    let letter = hall.only_letter().await;
    worker.stop().await;
    for n in 0..250 {
        ended(&hall, &n.to_string()).await;
    }
    hall.pass(AGE * 2);
    ended(&hall, "young").await;

    let worker = hall.worker();
    hall.all_quiet().await;
    worker.stop().await;
    assert_eq!(hall.runs().await, 255, "nothing goes unless a retention is set");

    hall.options.retention = Some(AGE);
    let workers = [hall.worker(), hall.worker()];
    left(&hall, 4).await;
    for name in ["mourned", "parked"] {
        assert!(hall.head(name).await.is_some(), "{name}");
    }
    assert_eq!(hall.all_letters().await.len(), 1);
    for worker in workers {
        worker.stop().await;
    }

    hall.discard(&letter.id).await;
    let worker = hall.worker();
    left(&hall, 3).await;
    assert_eq!(hall.head("mourned").await, None);
    worker.stop().await;
}

/// What has expired in the key-value store beside the runs goes, and nothing else.
#[tokio::test]
async fn the_sweep_removes_what_has_expired_in_the_key_value_store() {
    let hall = Hall::new().await;
    let (clock, hand) = Clock::manual(hall.now());
    let values = Arc::new(Memory::new(clock));
    values.put("s", "short", "v".into(), seconds(1)).await.unwrap();
    values.put("s", "long", "v".into(), AGE).await.unwrap();
    hand.advance(seconds(1));
    let worker = hall.worker_beside(values.clone());
    eventually("what has expired is gone", async || {
        values.read("s", "short").await.unwrap().entry.is_none().then_some(())
    })
    .await;
    worker.stop().await;
    assert_eq!(values.get("s", "long").await.unwrap(), Some("v".into()));
}
