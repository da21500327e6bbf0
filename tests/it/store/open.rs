//! Opening: create or find, supersede, be born superseded.

use verdict::graph::store::{FORMAT, NewRun, Resumed, RunStatus};

use super::harness::*;

pub async fn makes_a_run_with_all_it_was_given(place: &Place) {
    let not_before = Some(place.now().plus(SECOND));
    let records = vec![record("started"), record("forked")];
    let new = NewRun { not_before, records: records.clone(), ..about("a", "subject", -7) };
    let opened = place.open(NewRun { workflow_version: 3, ..new }).await;
    assert!(opened.created && opened.lease.is_none() && opened.superseded.is_empty());
    let head = place.head("a").await;
    assert_eq!(head, opened.head);
    assert_eq!((head.workflow_version, head.format, head.order), (3, FORMAT, -7));
    assert_eq!((&head.workflow[..], &head.key[..]), ("flow", "a"));
    assert_eq!(head.subject.as_deref(), Some("subject"));
    assert_eq!((head.status, head.version, head.epoch), (RunStatus::Queued, 2, 0));
    assert_eq!((head.created_at, head.updated_at), (place.now(), place.now()));
    assert_eq!(head.not_before, not_before);
    assert_eq!(place.records("a").await, records);
}

pub async fn finds_the_run_that_is_there(place: &Place) {
    place.open(run("a")).await;
    let before = place.head("a").await;
    place.pass(SECOND).await;
    let other =
        NewRun { records: vec![record("x"), record("y")], claim: Some(by("b")), ..run("a") };
    let opened = place.open(other).await;
    assert!(!opened.created && opened.lease.is_none());
    assert_eq!(opened.head, before);
    assert_eq!(place.head("a").await, before);
    assert_eq!(place.records("a").await, [record("started")]);
}

pub async fn claims_in_the_same_step(place: &Place) {
    let opened = place.open(NewRun { claim: Some(by("me")), ..run("a") }).await;
    let lease = opened.lease.unwrap();
    assert_eq!((lease.epoch, opened.head.epoch), (1, 1));
    assert_eq!(opened.head.status, RunStatus::Running);
    let holder = opened.head.lease.clone().unwrap();
    assert_eq!((&holder.owner[..], holder.expires), ("me", place.now().plus(TTL)));
    assert_eq!(place.head("a").await, opened.head);
}

pub async fn supersedes_older_unfinished_runs_of_the_subject(place: &Place) {
    place.run_in(about("failed", "s", 1), RunStatus::Failed).await;
    let held = place.hold_new(about("held", "s", 1)).await;
    place.open(NewRun { not_before: Some(place.now()), ..about("queued", "s", 2) }).await;
    place.pass(SECOND).await;
    // Opening `queued` has stopped `held` already.
    assert_eq!(place.head("held").await.status, RunStatus::Superseded);
    let opened = place.open(about("new", "s", 2)).await;
    assert_eq!(opened.superseded, [id("queued")]);
    let stopped = place.head("queued").await;
    assert_eq!((stopped.status, stopped.epoch, stopped.version), (RunStatus::Superseded, 1, 2));
    assert_eq!((stopped.lease, stopped.not_before), (None, None));
    assert_eq!(stopped.updated_at, place.now());
    assert_eq!(place.records("queued").await, [record("started"), record("superseded")]);
    assert_eq!(place.head("failed").await.status, RunStatus::Failed);
    fenced(place.store.append(append(&held, 1, &["late"])).await);
    fenced(place.store.renew(&held, TTL).await);
    assert_eq!(opened.head.status, RunStatus::Queued);
}

pub async fn is_born_superseded_when_a_higher_one_is_there(place: &Place) {
    for (subject, status) in [("a", RunStatus::Parked), ("b", RunStatus::Completed)] {
        let high = format!("high {subject}");
        place.run_in(about(&high, subject, 5), status).await;
        let low = format!("low {subject}");
        let opened = place.open(NewRun { claim: Some(by("me")), ..about(&low, subject, 4) }).await;
        assert!(opened.created && opened.lease.is_none());
        assert_eq!(opened.head.status, RunStatus::Superseded);
        assert_eq!(place.head(&low).await, opened.head);
        assert_eq!(place.head(&high).await.status, status, "the higher one is left alone");
    }
}

pub async fn a_superseded_higher_one_does_not_count(place: &Place) {
    place.open(about("high", "s", 5)).await;
    place.open(about("higher", "s", 6)).await;
    place.store.delete(&id("higher")).await.unwrap();
    let opened = place.open(about("low", "s", 4)).await;
    assert_eq!(opened.head.status, RunStatus::Queued);
}

pub async fn finding_supersedes_too_and_raises_the_order(place: &Place) {
    place.run_in(about("first", "s", 1), RunStatus::Completed).await;
    let other = place.open(about("second", "s", 2)).await;
    assert_eq!(other.head.status, RunStatus::Queued);
    let again = place.open(about("first", "s", 1)).await;
    assert!(again.superseded.is_empty(), "a lower one supersedes nothing");
    place.pass(SECOND).await;
    let again = place.open(about("first", "s", 3)).await;
    assert_eq!(again.superseded, [id("second")]);
    assert_eq!((again.head.order, again.head.updated_at), (3, place.now()));
    assert_eq!(again.head.status, RunStatus::Completed, "whatever its status, it stays");
    assert_eq!(place.head("first").await, again.head);
    let lower = place.open(about("first", "s", 1)).await;
    assert_eq!(lower.head.order, 3, "the order never falls");
    let answer = place.store.resume(&id("second"), "i", "v".into(), record("r")).await.unwrap();
    assert_eq!(answer, Resumed::Final(RunStatus::Superseded));
}

pub async fn subjects_do_not_touch_each_other(place: &Place) {
    place.open(about("a", "s", 1)).await;
    place.open(run("b")).await;
    let opened = place.open(about("c", "t", 9)).await;
    assert!(opened.superseded.is_empty());
    assert_eq!(place.head("a").await.status, RunStatus::Queued);
    assert_eq!(place.head("b").await.status, RunStatus::Queued);
}
