//! Deletion and retention.

use std::time::Duration;

use verdict::graph::store::{
    Append, HeadChange, Hold, LetterFilter, LetterState, NewRun, Resumed, RunFilter, RunStatus,
    StoreError,
};

use super::harness::*;

const AGE: Duration = Duration::from_secs(3600);

pub async fn deletes_a_run_and_all_that_is_its(place: &Place) {
    let asks = vec![("i".to_owned(), None)];
    let lease = place.hold_new(NewRun { asks, ..about("a", "s", 9) }).await;
    let op = Append { letter: Some(Box::new(letter("l"))), ..append(&lease, 1, &["x"]) };
    place.store.append(op).await.unwrap();
    place.hold("b").await;
    assert!(place.store.delete(&id("a")).await.unwrap());
    assert!(!place.store.delete(&id("a")).await.unwrap());
    assert!(place.store.load(&id("a"), 0).await.unwrap().is_none());
    let answer = place.store.append(append(&lease, 2, &["y"])).await;
    assert_eq!(answer.unwrap_err(), StoreError::Missing(id("a")));
    assert!(place.store.letter("l").await.unwrap().is_some(), "letters stay");
    assert_eq!(place.records("b").await.len(), 1, "and so do others");
    // Made anew, it has nothing of the old one; its subject's order is forgotten too.
    let opened = place.open(about("a", "s", 1)).await;
    assert!(opened.created && opened.head.status == RunStatus::Queued);
    assert_eq!(place.records("a").await, [record("started")]);
    let answer = place.store.resume(&id("a"), "i", "v".into(), record("r")).await.unwrap();
    assert_eq!(answer, Resumed::Unknown);
}

async fn left(place: &Place) -> Vec<String> {
    let heads = place.store.list(&RunFilter::default()).await.unwrap();
    let mut names: Vec<String> = heads.into_iter().map(|head| head.key).collect();
    names.sort();
    names
}

pub async fn retention_takes_old_final_runs_only(place: &Place) {
    for (name, status) in [
        ("completed", RunStatus::Completed),
        ("failed", RunStatus::Failed),
        ("mourned", RunStatus::Failed),
        ("parked", RunStatus::Parked),
        ("queued", RunStatus::Queued),
    ] {
        place.run_in(run(name), status).await;
    }
    let lease = place.hold("incomplete").await;
    let head =
        HeadChange { status: RunStatus::Completed, not_before: Some(place.now()), ..change() };
    let op = Append { head, hold: Hold::Release, ..append(&lease, 1, &[]) };
    place.store.append(op).await.unwrap();
    place.hold("running").await;
    let of = |name: &str| verdict::graph::store::Letter { run: Some(id(name)), ..letter(name) };
    place.store.put_letter(of("mourned")).await.unwrap();
    place.store.put_letter(of("failed")).await.unwrap();
    place.store.settle_letter("failed", LetterState::Discarded, None).await.unwrap();
    assert_eq!(place.store.expire(SECOND, 9).await.unwrap(), 0, "too young");
    place.pass(AGE).await;
    place.run_in(run("young"), RunStatus::Completed).await;
    assert_eq!(place.store.expire(AGE, 9).await.unwrap(), 2);
    let kept = ["incomplete", "mourned", "parked", "queued", "running", "young"];
    assert_eq!(left(place).await, kept);
    let letters = place.store.letters(&LetterFilter::default()).await.unwrap();
    assert_eq!(letters.len(), 1, "the settled letter is gone, the open one stays");
    place.store.settle_letter("mourned", LetterState::Discarded, None).await.unwrap();
    assert_eq!(place.store.expire(AGE, 9).await.unwrap(), 1);
}

pub async fn retention_goes_in_small_steps(place: &Place) {
    for n in 0..5 {
        place.run_in(run(&n.to_string()), RunStatus::Completed).await;
        place.pass(SECOND).await;
    }
    place.pass(AGE).await;
    assert_eq!(place.store.expire(AGE, 2).await.unwrap(), 2);
    assert_eq!(left(place).await, ["2", "3", "4"], "those longest unchanged go first");
    assert_eq!(place.store.expire(AGE, 2).await.unwrap(), 2);
    assert_eq!(place.store.expire(AGE, 2).await.unwrap(), 1);
    assert_eq!(place.store.expire(AGE, 2).await.unwrap(), 0);
}
