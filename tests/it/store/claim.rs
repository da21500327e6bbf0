//! Claiming, expiry, take-over, renewal.

use verdict::graph::store::{
    Append, Claim, Claimed, HeadChange, Hold, Lease, NewRun, RunStatus, StoreError,
};

use super::harness::*;

pub async fn raises_the_epoch_each_time(place: &Place) {
    place.open(run("a")).await;
    for epoch in 1..4 {
        place.pass(SECOND).await;
        let (lease, head) = yours(place.claim("a").await);
        assert_eq!(lease, Lease { run: id("a"), epoch });
        assert_eq!((head.epoch, head.status), (epoch, RunStatus::Running));
        assert_eq!(head.lease.as_ref().unwrap().expires, place.now().plus(TTL));
        assert_eq!(head.updated_at, place.now());
        assert_eq!(place.head("a").await, head);
        place.end(&lease, RunStatus::Queued).await;
    }
}

pub async fn refuses_what_is_missing_or_held(place: &Place) {
    assert!(matches!(place.claim("a").await, Claimed::Missing));
    place.hold("a").await;
    let before = place.head("a").await;
    match place.claim("a").await {
        Claimed::LeaseHeld(holder) => assert_eq!(Some(holder), before.lease),
        other => panic!("{other:?}"),
    }
    assert_eq!(place.head("a").await, before);
}

pub async fn waits_for_not_before_unless_early(place: &Place) {
    let at = place.now().plus(SECOND * 2);
    for name in ["a", "b"] {
        place.open(NewRun { not_before: Some(at), ..run(name) }).await;
    }
    place.pass(SECOND).await;
    assert!(matches!(place.claim("a").await, Claimed::NotBefore(when) if when == at));
    let early = place.store.claim(Claim { early: true, ..claim("b") }).await.unwrap();
    assert_eq!(yours(early).1.not_before, None, "its time counts no more");
    place.pass(SECOND).await;
    assert_eq!(yours(place.claim("a").await).1.not_before, None);
}

pub async fn reopens_only_when_asked(place: &Place) {
    place.run_in(run("a"), RunStatus::Failed).await;
    assert!(matches!(place.claim("a").await, Claimed::Final(RunStatus::Failed)));
    let reopened = place.store.claim(Claim { reopen: true, ..claim("a") }).await.unwrap();
    let (lease, head) = yours(reopened);
    assert_eq!((head.status, lease.epoch), (RunStatus::Running, 2));
    place.store.append(append(&lease, 2, &["reopened"])).await.unwrap();
}

pub async fn an_expired_lease_is_taken_over(place: &Place) {
    let old = place.hold("a").await;
    place.pass(TTL - SECOND).await;
    assert!(matches!(place.claim("a").await, Claimed::LeaseHeld(_)));
    place.pass(SECOND).await;
    let (new, head) = yours(place.claim("a").await);
    assert_eq!((new.epoch, &head.lease.unwrap().owner[..]), (2, "claimer"));
    fenced(place.store.renew(&old, TTL).await);
    place.store.renew(&new, TTL).await.unwrap();
}

pub async fn renewing_keeps_it(place: &Place) {
    let lease = place.hold("a").await;
    let before = place.head("a").await;
    place.pass(TTL - SECOND).await;
    place.store.renew(&lease, TTL).await.unwrap();
    let after = place.head("a").await;
    assert_eq!(after.lease.as_ref().unwrap().expires, place.now().plus(TTL));
    assert_eq!((after.updated_at, after.version), (before.updated_at, before.version));
    place.pass(TTL - SECOND).await;
    assert!(matches!(place.claim("a").await, Claimed::LeaseHeld(_)));
    place.pass(SECOND * 2).await;
    place.store.renew(&lease, TTL).await.expect("nobody took it meanwhile");
}

pub async fn renewing_a_lost_lease_is_fenced(place: &Place) {
    let lease = place.hold("a").await;
    let older = Lease { epoch: 0, ..lease.clone() };
    fenced(place.store.renew(&older, TTL).await);
    let release = Append {
        hold: Hold::Release,
        head: HeadChange { status: RunStatus::Queued, ..change() },
        ..append(&lease, 1, &[])
    };
    place.store.append(release).await.unwrap();
    fenced(place.store.renew(&lease, TTL).await);
    let missing = Lease { run: id("b"), epoch: 1 };
    let answer = place.store.renew(&missing, TTL).await;
    assert_eq!(answer.unwrap_err(), StoreError::Missing(id("b")));
}
