//! Leases and due times go by the server's clock, whatever a process takes the time to be.

use std::{sync::Arc, time::Duration};

use sqlx::Row as _;
use verdict::{
    base::{Clock, Timestamp},
    db::PostgresOptions,
    graph::{
        ClaimHow, Runtime,
        store::{Append, Claimed, HeadChange, Hold, NewRun, RunStatus, Store},
    },
};

use super::open;
use crate::{
    store::harness::{self, *},
    support::{Database, eventually},
};

const HOUR: Duration = Duration::from_secs(3600);

async fn server_time(database: &Database) -> Timestamp {
    Timestamp(database.ask("SELECT verdict.now_ms()").await[0].get(0))
}

/// W4: two pods, one whose clock is an hour ahead, one an hour behind.
#[tokio::test]
async fn a_pods_wrong_clock_neither_ends_a_lease_nor_prolongs_it() {
    let place = postgres_server().await;
    let pod = |name: &str, now: Timestamp| {
        let (clock, _) = Clock::manual(now);
        Runtime::new(place.store.clone(), clock, name).with_ttl(TTL)
    };
    let (behind, ahead) =
        (pod("behind", Timestamp(place.now().0 - 3_600_000)), pod("ahead", place.now().plus(HOUR)));
    place.open(run("a")).await;
    for (epoch, holder, other) in [(1, &behind, &ahead), (2, &ahead, &behind)] {
        let claimed = holder.claim(&id("a"), ClaimHow::default()).await.unwrap();
        let (lease, head) = yours(claimed);
        assert_eq!((lease.epoch, head.lease.unwrap().expires), (epoch, place.now().plus(TTL)));
        place.pass(TTL - SECOND).await;
        match other.claim(&id("a"), ClaimHow::default()).await.unwrap() {
            Claimed::LeaseHeld(by) => assert_eq!(by.owner, &*holder.owner),
            other => panic!("{other:?}"),
        }
        place.store.renew(&lease, TTL).await.unwrap();
        place.pass(TTL).await;
    }
    place.done().await;
}

/// The same with the server's own clock, which no test moves.
#[tokio::test]
async fn times_are_the_servers() {
    let database = Database::shared().await;
    let (db, store) = open(&database.url(), PostgresOptions::default()).await;
    let before = server_time(&database).await;
    let lease = store.open(NewRun { claim: Some(by("one")), ..run("a") }).await.unwrap();
    let lease = lease.lease.unwrap();
    let hold = Hold::Keep(Duration::from_millis(300));
    store.append(Append { hold, ..append(&lease, 1, &["x"]) }).await.unwrap();
    let head = store.head(&id("a")).await.unwrap().unwrap();
    let after = server_time(&database).await;
    assert!(before <= head.created_at && head.updated_at <= after, "{head:?}");
    let claimed = eventually("the lease ends by itself", async || {
        match store.claim(harness::claim("a")).await.unwrap() {
            Claimed::LeaseHeld(_) => None,
            other => Some(other),
        }
    });
    let (taken, _) = yours(claimed.await);
    assert!(server_time(&database).await >= head.lease.unwrap().expires);
    fenced(store.append(append(&lease, 2, &["late"])).await);
    let done = Append {
        head: HeadChange { status: RunStatus::Completed, ..change() },
        hold: Hold::Release,
        ..append(&taken, 2, &["end"])
    };
    assert_eq!(store.append(done).await.unwrap(), 3);
    db.close().await;
    database.finish().await;
}

/// Two processes on one server: what one opens, claims and appends, the other sees and is fenced by.
#[tokio::test]
async fn two_processes_share_every_run() {
    let database = Database::shared().await;
    let (one, first) = open(&database.url(), PostgresOptions::default()).await;
    let (two, second) = open(&database.url(), PostgresOptions::default()).await;
    let stores: [Arc<dyn Store>; 2] = [first, second];
    let tasks = (0..2_usize).map(|pod| {
        let store = stores[pod].clone();
        tokio::spawn(async move {
            let mut won = 0;
            for n in 0..40_i64 {
                // They race for every run, and for its subject.
                let new = NewRun { claim: Some(by("pod")), ..about(&n.to_string(), "shared", n) };
                let opened = store.open(new).await.unwrap();
                won += usize::from(opened.created);
                if let Some(lease) = opened.lease {
                    // The other pod may have opened the next one by now.
                    let _ = store.append(append(&lease, 1, &["x"])).await;
                }
            }
            won
        })
    });
    let won = futures_util::future::join_all(tasks).await;
    assert_eq!(won.into_iter().map(Result::unwrap).sum::<usize>(), 40);
    let filter =
        verdict::graph::store::RunFilter { subject: Some("shared".into()), ..Default::default() };
    let heads = stores[1].list(&filter).await.unwrap();
    let unfinished: Vec<_> = heads.iter().filter(|head| !head.status.is_final()).collect();
    assert!(matches!(unfinished[..], [last] if last.order == 39), "{unfinished:?}");
    for head in &heads {
        let (head, records) = stores[0].load(&head.id, 0).await.unwrap().unwrap();
        assert_eq!(head.version, records.len() as u64);
    }
    one.close().await;
    two.close().await;
    database.finish().await;
}
