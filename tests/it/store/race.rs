//! Many at once.

use std::{future::Future, sync::Arc};

use futures_util::future::join_all;
use tokio::sync::watch;
use verdict::graph::store::{
    Append, Claimed, HeadChange, Hold, NewRun, Resumed, RunFilter, RunStatus, Store, StoreError,
};

use super::harness::*;

/// Runs `many` of it in tasks of their own.
async fn at_once<T, F>(many: usize, does: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..many).map(|n| tokio::spawn(does(n))).collect();
    join_all(tasks).await.into_iter().map(Result::unwrap).collect()
}

pub async fn openings_of_one_subject_leave_one_unfinished(place: &Place) {
    for round in 0..5 {
        let subject = format!("s{round}");
        let opened = at_once(12, |n| {
            let store = place.store.clone();
            let new = about(&format!("{round}/{n}"), &subject, i64::try_from(n).unwrap() / 2);
            async move { store.open(new).await.unwrap() }
        });
        assert!(opened.await.iter().all(|opened| opened.created));
        let filter = RunFilter { subject: Some(subject), ..RunFilter::default() };
        let heads = place.store.list(&filter).await.unwrap();
        let unfinished: Vec<_> = heads.iter().filter(|head| !head.status.is_final()).collect();
        assert_eq!(heads.len(), 12);
        assert!(matches!(unfinished[..], [one] if one.order == 5), "{unfinished:?}");
        for head in heads.iter().filter(|head| head.version == 2) {
            assert_eq!(place.records(&head.key).await[1], record("superseded"));
        }
    }
}

pub async fn opening_one_run_makes_it_once(place: &Place) {
    let opened = at_once(16, |_| {
        let store = place.store.clone();
        async move { store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap() }
    });
    let opened = opened.await;
    assert_eq!(opened.iter().filter(|opened| opened.created).count(), 1);
    assert_eq!(opened.iter().filter(|opened| opened.lease.is_some()).count(), 1);
    assert_eq!(place.records("a").await.len(), 1);
}

pub async fn claims_have_one_winner(place: &Place) {
    place.open(run("a")).await;
    for epoch in 1..4 {
        let claimed = at_once(16, |_| {
            let store = place.store.clone();
            async move { store.claim(claim("a")).await.unwrap() }
        });
        let claimed = claimed.await;
        let held =
            claimed.iter().filter(|claimed| matches!(claimed, Claimed::LeaseHeld(_))).count();
        let won: Vec<_> =
            claimed.into_iter().filter(|claimed| matches!(claimed, Claimed::Yours(..))).collect();
        assert_eq!((held, won.len()), (15, 1));
        assert_eq!(place.head("a").await.epoch, epoch);
        place.pass(TTL).await;
    }
}

pub async fn answers_have_one_winner(place: &Place) {
    let asks = vec![("i".to_owned(), None)];
    place.open(NewRun { asks, ..run("a") }).await;
    let answers = at_once(16, |n| {
        let store = place.store.clone();
        async move {
            let value = n.to_string();
            store.resume(&id("a"), "i", value.clone().into(), record(&value)).await.unwrap()
        }
    });
    let answers = answers.await;
    let won = answers.iter().position(|answer| *answer == Resumed::Accepted(2)).unwrap();
    let others = Resumed::Already(won.to_string().into());
    assert_eq!(answers.iter().filter(|answer| **answer == others).count(), 15);
    assert_eq!(place.records("a").await[1..], [record(&won.to_string())]);
}

pub async fn two_writers_on_one_run_never_mix(place: &Place) {
    let old = place.hold("a").await;
    place.pass(TTL).await;
    let (new, _) = yours(place.claim("a").await);
    let wrote = at_once(2, |n| {
        let (store, lease) = (place.store.clone(), [old.clone(), new.clone()][n].clone());
        async move {
            let mut wrote = 0;
            for _ in 0..50 {
                match store.append(append(&lease, 1 + wrote, &[["old", "new"][n]])).await {
                    Ok(_) => wrote += 1,
                    Err(StoreError::Fenced) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            wrote
        }
    });
    assert_eq!(wrote.await, [0, 50]);
    assert!(place.records("a").await[1..].iter().all(|found| *found == record("new")));
}

pub async fn half_of_a_batch_is_never_seen(place: &Place) {
    const BATCH: usize = 40;
    let lease = place.hold("a").await;
    let (ended, mut end) = watch::channel(false);
    let (look, mut looked) = watch::channel(0);
    let store = place.store.clone();
    let reader = tokio::spawn(async move {
        loop {
            let last = *end.borrow_and_update();
            let (head, records) = store.load(&id("a"), 0).await.unwrap().unwrap();
            assert_eq!(head.version, records.len() as u64);
            assert_eq!(records.len() % BATCH, 1, "whole batches only");
            assert_eq!(u64::from(head.executions), (head.version - 1) / BATCH as u64);
            look.send_modify(|looks| *looks += 1);
            if last {
                return;
            }
        }
    });
    for n in 0..40 {
        if n % 4 == 0 {
            // A reader that died has a word to say below.
            let _ = looked.changed().await;
        }
        let head = HeadChange { executions: n + 1, ..change() };
        let version = 1 + u64::from(n) * BATCH as u64;
        let op = Append { head, ..append(&lease, version, &["x"; BATCH]) };
        place.store.append(op).await.unwrap();
    }
    ended.send(true).unwrap();
    reader.await.unwrap();
    assert!(*looked.borrow() > 10);
}

/// A run from its opening to its end, with a refused append of a neighbour's in between.
async fn whole_run(store: Arc<dyn Store>, name: String) {
    let new = NewRun { claim: Some(by("me")), ..about(&name, &name, 1) };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    let mut version = 1;
    for step in 0..4 {
        let wrong = store.append(append(&lease, version + 1, &["wrong"])).await;
        assert_eq!(wrong.unwrap_err(), StoreError::Conflict { version });
        let texts = vec![&name[..]; 1 + step * 5];
        version = store.append(append(&lease, version, &texts)).await.unwrap();
        store.renew(&lease, TTL).await.unwrap();
    }
    let op = Append {
        head: HeadChange { status: RunStatus::Completed, ..change() },
        hold: Hold::Release,
        ..append(&lease, version, &["end"])
    };
    assert_eq!(store.append(op).await.unwrap(), version + 1);
}

pub async fn many_runs_at_once(place: &Place) {
    at_once(100, |n| whole_run(place.store.clone(), n.to_string())).await;
    for n in 0..100 {
        let name = n.to_string();
        let records = place.records(&name).await;
        assert_eq!(records.len(), 1 + (1 + 6 + 11 + 16) + 1);
        assert!(records[1..35].iter().all(|found| *found == record(&name)));
        assert_eq!(place.head(&name).await.status, RunStatus::Completed);
    }
}
