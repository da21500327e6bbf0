//! Appending: fences, conflicts, lost answers, every byte.

use std::time::Duration;

use bytes::Bytes;
use verdict::graph::store::{
    Append, HeadChange, Hold, Lease, NewRun, Resumed, RunStatus, StoreError, StoredRecord, Waiting,
};

use super::harness::*;

pub async fn sets_the_head_and_keeps_every_byte(place: &Place) {
    let lease = place.hold("a").await;
    place.pass(SECOND).await;
    let payloads = [None, Some(Bytes::new()), Some((0..=255).collect())];
    let records: Vec<StoredRecord> =
        payloads.into_iter().map(|payload| StoredRecord { payload, ..record("m\0") }).collect();
    let head = HeadChange {
        status: RunStatus::Parked,
        not_before: Some(place.now().plus(SECOND)),
        waiting: Some(Waiting::Limit),
        executions: 3,
        active: Duration::new(5, 123_456_789),
        error: Some("ö\0x".into()),
    };
    let op = Append { records: records.clone(), head: head.clone(), ..append(&lease, 1, &[]) };
    assert_eq!(place.store.append(op).await.unwrap(), 4);
    assert_eq!(place.records("a").await[1..], records);
    let after = place.head("a").await;
    assert_eq!((after.status, after.not_before), (head.status, head.not_before));
    assert_eq!(after.waiting, head.waiting);
    assert_eq!((after.executions, after.active, after.error), (3, head.active, head.error));
    assert_eq!((after.version, after.epoch, after.updated_at), (4, 1, place.now()));
    assert_eq!(after.lease.unwrap().expires, place.now().plus(TTL), "and the lease is renewed");
}

pub async fn may_be_empty(place: &Place) {
    let lease = place.hold("a").await;
    let head = HeadChange { executions: 1, ..change() };
    let version = place.store.append(Append { head, ..append(&lease, 1, &[]) }).await.unwrap();
    assert_eq!((version, place.head("a").await.executions), (1, 1));
}

pub async fn releases(place: &Place) {
    let lease = place.hold("a").await;
    place.end(&lease, RunStatus::Parked).await;
    let head = place.head("a").await;
    assert_eq!((head.status, head.lease), (RunStatus::Parked, None));
    assert_eq!(yours(place.claim("a").await).0.epoch, 2);
}

pub async fn an_expired_lease_nobody_took_still_appends(place: &Place) {
    let lease = place.hold("a").await;
    place.pass(TTL * 2).await;
    place.store.append(append(&lease, 1, &["late"])).await.unwrap();
    let lease = place.head("a").await.lease.unwrap();
    assert_eq!(lease.expires, place.now().plus(TTL));
}

pub async fn is_fenced_after_a_take_over(place: &Place) {
    let old = place.hold("a").await;
    place.pass(TTL).await;
    let (new, _) = yours(place.claim("a").await);
    fenced(place.store.append(append(&old, 1, &["old"])).await);
    place.store.append(append(&new, 1, &["new"])).await.unwrap();
    fenced(place.store.append(append(&old, 2, &["old"])).await);
    assert_eq!(place.records("a").await, [record("started"), record("new")]);
}

pub async fn is_fenced_after_a_release_a_cancellation_and_a_superseding(place: &Place) {
    let released = place.hold("a").await;
    place.end(&released, RunStatus::Queued).await;
    fenced(place.store.append(append(&released, 2, &["late"])).await);
    let cancelled = place.hold("b").await;
    place.store.cancel(&id("b"), record("cancelled")).await.unwrap();
    fenced(place.store.append(append(&cancelled, 2, &["late"])).await);
    let superseded = place.hold_new(about("c", "s", 1)).await;
    place.open(about("d", "s", 1)).await;
    fenced(place.store.append(append(&superseded, 2, &["late"])).await);
    for name in ["a", "b", "c"] {
        assert_eq!(place.records(name).await.len(), 2);
    }
}

pub async fn conflicts_after_an_answer_came_in(place: &Place) {
    let lease = place.hold("a").await;
    let op = Append { asks: vec!["i".into()], ..append(&lease, 1, &["asked"]) };
    assert_eq!(place.store.append(op).await.unwrap(), 2);
    let answer = place.store.resume(&id("a"), "i", "yes".into(), record("resumed")).await;
    assert_eq!(answer.unwrap(), Resumed::Accepted(3));
    let refused = place.store.append(append(&lease, 2, &["next"])).await;
    assert_eq!(refused.unwrap_err(), StoreError::Conflict { version: 3 });
    assert_eq!(place.store.append(append(&lease, 3, &["next"])).await.unwrap(), 4);
    for expected in [0, 3, 5, 99] {
        let refused = place.store.append(append(&lease, expected, &["x"])).await;
        assert_eq!(refused.unwrap_err(), StoreError::Conflict { version: 4 });
    }
}

pub async fn answers_a_repeated_batch_as_the_first_time(place: &Place) {
    let lease = place.hold("a").await;
    let op = Append { asks: vec!["i".into()], ..append(&lease, 1, &["x", "y"]) };
    assert_eq!(place.store.append(op.clone()).await.unwrap(), 3);
    place.pass(SECOND).await;
    let before = place.head("a").await;
    assert_eq!(place.store.append(op.clone()).await.unwrap(), 3);
    assert_eq!(place.head("a").await, before, "and changes nothing");
    // An answer that came in between is no reason to answer otherwise.
    let _ = place.store.resume(&id("a"), "i", "yes".into(), record("resumed")).await.unwrap();
    assert_eq!(place.store.append(op).await.unwrap(), 3);
    let answer = place.store.resume(&id("a"), "i", "no".into(), record("resumed")).await;
    assert_eq!(answer.unwrap(), Resumed::Already("yes".into()), "the interrupt stays answered");
    // Nor is having released, nor that somebody else holds it since.
    let release = Append {
        hold: Hold::Release,
        head: HeadChange { status: RunStatus::Queued, ..change() },
        ..append(&lease, 4, &["z"])
    };
    assert_eq!(place.store.append(release.clone()).await.unwrap(), 5);
    assert_eq!(place.store.append(release.clone()).await.unwrap(), 5);
    yours(place.claim("a").await);
    assert_eq!(place.store.append(release).await.unwrap(), 5);
    assert_eq!(place.records("a").await.len(), 5);
    // An empty batch is one too.
    let lease = place.hold("b").await;
    let op = append(&lease, 1, &[]);
    assert_eq!(place.store.append(op.clone()).await.unwrap(), 1);
    place.pass(SECOND).await;
    let before = place.head("b").await;
    assert_eq!(place.store.append(op).await.unwrap(), 1);
    assert_eq!(place.head("b").await, before);
}

pub async fn a_missing_run_is_missing(place: &Place) {
    let lease = Lease { run: id("a"), epoch: 1 };
    let answer = place.store.append(append(&lease, 0, &["x"])).await;
    assert_eq!(answer.unwrap_err(), StoreError::Missing(id("a")));
    let answer = place.store.resume(&id("a"), "i", "v".into(), record("r")).await;
    assert_eq!(answer.unwrap_err(), StoreError::Missing(id("a")));
    assert!(place.store.head(&id("a")).await.unwrap().is_none());
    assert!(place.store.load(&id("a"), 0).await.unwrap().is_none());
}

pub async fn large_values_come_back_bit_for_bit(place: &Place) {
    let noise = |seed: u64, len: usize| -> Bytes {
        let mut rng = fastrand::Rng::with_seed(seed);
        std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
    };
    let mib = 1 << 20;
    let large: Vec<StoredRecord> = [5 * mib, 4096, 1, 900 * 1024, mib + 1]
        .into_iter()
        .enumerate()
        .map(|(seed, len)| StoredRecord {
            meta: noise(99, 300),
            payload: Some(noise(seed as u64, len)),
        })
        .collect();
    let lease = place.hold_new(NewRun { records: large[..2].to_vec(), ..run("a") }).await;
    let op = Append { records: large[2..].to_vec(), ..append(&lease, 2, &[]) };
    assert_eq!(place.store.append(op).await.unwrap(), 5);
    assert!(place.records("a").await == large);
}

pub async fn a_thousand_records_stay_in_order(place: &Place) {
    let lease = place.hold("a").await;
    let texts: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
    assert_eq!(place.store.append(append(&lease, 1, &texts)).await.unwrap(), 1001);
    let found = place.records("a").await;
    assert!(found[1..].iter().zip(texts).all(|(found, text)| found.meta == text.as_bytes()));
}

pub async fn loads_what_is_new_only(place: &Place) {
    let lease = place.hold("a").await;
    place.store.append(append(&lease, 1, &["b", "c"])).await.unwrap();
    let neighbour = place.hold("neighbour").await;
    place.store.append(append(&neighbour, 1, &["x"])).await.unwrap();
    for (after, expected) in [(1, &["b", "c"][..]), (2, &["c"]), (3, &[]), (9, &[])] {
        let (head, records) = place.store.load(&id("a"), after).await.unwrap().unwrap();
        assert_eq!(head.version, 3);
        assert_eq!(records, expected.iter().map(|text| record(text)).collect::<Vec<_>>());
    }
}
