//! Answers to interrupts, and cancellation.

use verdict::graph::store::{Append, Cancelled, HeadChange, Hold, NewRun, Resumed, RunStatus};

use super::harness::*;

async fn parked(place: &Place, name: &str, asks: &[&str]) {
    let lease = place.hold(name).await;
    let op = Append {
        asks: asks.iter().map(|ask| (*ask).to_owned()).collect(),
        head: HeadChange { status: RunStatus::Parked, ..change() },
        hold: Hold::Release,
        ..append(&lease, 1, &["interrupted"])
    };
    place.store.append(op).await.unwrap();
}

async fn answer(place: &Place, name: &str, interrupt: &str, value: &'static str) -> Resumed {
    place.store.resume(&id(name), interrupt, value.into(), record(value)).await.unwrap()
}

pub async fn takes_the_first_answer_only(place: &Place) {
    parked(place, "a", &["i", "j"]).await;
    assert_eq!(answer(place, "a", "i", "first").await, Resumed::Accepted(3));
    assert_eq!(answer(place, "a", "i", "second").await, Resumed::Already("first".into()));
    assert_eq!(answer(place, "a", "j", "other").await, Resumed::Accepted(4));
    assert_eq!(place.records("a").await[2..], [record("first"), record("other")]);
}

pub async fn knows_only_open_interrupts(place: &Place) {
    parked(place, "a", &["i"]).await;
    parked(place, "b", &["other"]).await;
    assert_eq!(answer(place, "a", "other", "v").await, Resumed::Unknown);
    assert_eq!(place.records("a").await.len(), 2);
    assert_eq!(place.head("a").await.status, RunStatus::Parked);
}

pub async fn wakes_a_parked_run(place: &Place) {
    parked(place, "a", &["i"]).await;
    place.pass(SECOND).await;
    let _ = answer(place, "a", "i", "v").await;
    let head = place.head("a").await;
    assert_eq!((head.status, head.not_before), (RunStatus::Queued, Some(place.now())));
    assert_eq!((head.updated_at, head.epoch), (place.now(), 1));
    yours(place.claim("a").await);
}

pub async fn leaves_a_held_run_to_its_holder(place: &Place) {
    let lease = place.hold("a").await;
    let op = Append { asks: vec!["i".into()], ..append(&lease, 1, &["interrupted"]) };
    place.store.append(op).await.unwrap();
    let before = place.head("a").await;
    let _ = answer(place, "a", "i", "v").await;
    let after = place.head("a").await;
    assert_eq!((after.status, after.not_before), (RunStatus::Running, None));
    assert_eq!((after.lease, after.epoch), (before.lease, before.epoch));
    place.store.append(append(&lease, 3, &["next"])).await.unwrap();
}

pub async fn an_ended_run_takes_no_answer(place: &Place) {
    parked(place, "a", &["i", "j"]).await;
    let _ = answer(place, "a", "i", "v").await;
    place.store.cancel(&id("a"), record("cancelled")).await.unwrap();
    assert_eq!(answer(place, "a", "j", "w").await, Resumed::Final(RunStatus::Cancelled));
    assert_eq!(answer(place, "a", "i", "w").await, Resumed::Already("v".into()));
    assert_eq!(place.records("a").await.len(), 4);
}

pub async fn answers_copied_by_a_fork_count(place: &Place) {
    let asks = vec![("done".to_owned(), Some("given".into())), ("open".to_owned(), None)];
    place.open(NewRun { asks, ..run("a") }).await;
    assert_eq!(answer(place, "a", "done", "v").await, Resumed::Already("given".into()));
    assert_eq!(answer(place, "a", "open", "v").await, Resumed::Accepted(2));
}

pub async fn cancels_once(place: &Place) {
    let name = id("a");
    let cancel = || place.store.cancel(&name, record("cancelled"));
    assert_eq!(cancel().await.unwrap(), Cancelled::Missing);
    place.hold("a").await;
    place.pass(SECOND).await;
    assert_eq!(cancel().await.unwrap(), Cancelled::Done);
    let head = place.head("a").await;
    assert_eq!((head.status, head.epoch, head.version), (RunStatus::Cancelled, 2, 2));
    assert_eq!((head.lease, head.not_before, head.updated_at), (None, None, place.now()));
    assert_eq!(cancel().await.unwrap(), Cancelled::Final(RunStatus::Cancelled));
    assert_eq!(place.records("a").await, [record("started"), record("cancelled")]);
}
