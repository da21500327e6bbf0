//! The service stands still, or cannot be reached, for shorter and for longer than a lease.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use verdict::{
    checkpoint::FirestoreStore,
    graph::store::{Append, Claim, ClaimAs, Claimed, Hold, Lease, NewRun, Store, StoreError},
};

use super::super::harness::*;
use crate::support::{Firestore, PATIENCE, Proxy, eventually, pass};

const SHORT: Duration = Duration::from_secs(1);

async fn held(store: &FirestoreStore, name: &str, ttl: Duration) -> Lease {
    let claim = Some(ClaimAs { owner: "me".into(), ttl });
    store.open(NewRun { claim, ..run(name) }).await.unwrap().lease.unwrap()
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer.unwrap_err() {
        StoreError::Unavailable(why) => why,
        other => panic!("{other:?}"),
    }
}

/// Every operation ends with a transient fault that names the place; what was asked for is done once
/// when the way is free again, over a new connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_connection_is_an_outage_and_loses_nothing() {
    let server = Firestore::shared();
    let proxy = Proxy::new(server.address());
    let store = super::at(&server, proxy.address(), SHORT).await;
    let lease = held(&store, "a", TTL).await;
    let connections = proxy.accepted();
    proxy.freeze();
    let op = append(&lease, 1, &["x"]);
    let why = unavailable(store.append(op.clone()).await);
    assert!(why.contains(&format!("firestore://{}/(default)", server.project())), "{why}");
    unavailable(store.head(&id("a")).await);
    unavailable(store.renew(&lease, TTL).await);
    unavailable(Store::claim(&store, claim("a")).await);
    proxy.thaw();
    let version = eventually("it can be reached", async || store.append(op.clone()).await.ok());
    assert_eq!(version.await, 2);
    assert_eq!(super::texts(&store, &id("a")).await, ["started", "x"]);
    assert!(proxy.accepted() > connections, "a silent connection is given up");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_connection_is_an_outage_and_loses_nothing() {
    let server = Firestore::shared();
    let mut proxy = Proxy::new(server.address());
    let store = super::at(&server, proxy.address(), SHORT).await;
    let lease = held(&store, "a", TTL).await;
    proxy.cut().await;
    let op = append(&lease, 1, &["x"]);
    unavailable(store.append(op.clone()).await);
    unavailable(store.load(&id("a"), 0).await);
    let options = verdict::checkpoint::FirestoreOptions {
        emulator: Some(proxy.address().to_string()),
        timeout: SHORT,
        ..verdict::checkpoint::FirestoreOptions::new(server.project(), "(default)")
    };
    let refused = FirestoreStore::connect(options).await.unwrap_err();
    assert!(refused.is_transient(), "{refused}");
    proxy.mend();
    let version = eventually("it can be reached", async || store.append(op.clone()).await.ok());
    assert_eq!(version.await, 2);
    assert_eq!(super::texts(&store, &id("a")).await, ["started", "x"]);
}

/// Shorter than the lease: the run stays with its holder. Longer: another takes it over when the
/// service goes on, and the holder is fenced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_service_that_stands_still_keeps_leases_or_ends_them() {
    let server = Firestore::private().await;
    let other = super::on(&server).await;
    let long = held(&other, "long", PATIENCE * 2).await;
    let brief = held(&other, "brief", Duration::from_secs(1)).await;
    let store = super::at(&server, server.address(), SHORT).await;
    server.freeze();
    let op = append(&long, 1, &["x"]);
    unavailable(store.append(op.clone()).await);
    unavailable(store.renew(&brief, SHORT).await);
    server.thaw();
    let version = eventually("it can be reached", async || store.append(op.clone()).await.ok());
    assert_eq!(version.await, 2);
    let claim = |name| Claim { by: by("other"), ..claim(name) };
    let refused = Store::claim(&*other, claim("long")).await.unwrap();
    assert!(matches!(refused, Claimed::LeaseHeld(_)), "{refused:?}");
    let taken = eventually("the lease ends", async || {
        match Store::claim(&*other, claim("brief")).await.unwrap() {
            Claimed::Yours(lease, _) => Some(lease),
            _ => None,
        }
    });
    let taken = taken.await;
    fenced(store.append(append(&brief, 1, &["late"])).await);
    fenced(store.renew(&brief, TTL).await);
    assert_eq!(other.append(append(&taken, 1, &["y"])).await.unwrap(), 2);
    assert_eq!(super::texts(&other, &id("brief")).await, ["started", "y"]);
}

/// Asks again until the store can be reached.
async fn insist(store: &FirestoreStore, op: Append) -> u64 {
    let began = Instant::now();
    loop {
        match store.append(op.clone()).await {
            Ok(version) => return version,
            Err(StoreError::Unavailable(why)) => assert!(began.elapsed() < PATIENCE, "{why}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// Appends whatever happens to the connection, until `enough`; answers what must be there.
async fn write(store: Arc<FirestoreStore>, lease: Lease, enough: Arc<AtomicBool>) -> Vec<String> {
    let mut known = vec!["started".to_owned()];
    while !enough.load(Ordering::Relaxed) {
        let text = known.len().to_string();
        let op = append(&lease, known.len() as u64, &[&text, &text]);
        known.extend([text.clone(), text]);
        assert_eq!(insist(&store, op).await, known.len() as u64);
    }
    insist(&store, Append { hold: Hold::Release, ..append(&lease, known.len() as u64, &[]) }).await;
    known
}

/// Eight writers over one connection that is cut and frozen at random instants: each log is what its
/// writer was told, no record lost and none twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_survive_a_connection_that_keeps_breaking() {
    const BREAKS: usize = 12;
    let server = Firestore::shared();
    let mut proxy = Proxy::new(server.address());
    let store = Arc::new(super::at(&server, proxy.address(), SHORT).await);
    let enough = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for n in 0..8 {
        let name = n.to_string();
        let lease = held(&store, &name, PATIENCE).await;
        writers.push((name, tokio::spawn(write(store.clone(), lease, enough.clone()))));
    }
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..BREAKS {
        pass(Duration::from_millis(random.u64(20..200))).await;
        if random.bool() {
            proxy.cut().await;
            proxy.mend();
        } else {
            proxy.freeze();
            pass(Duration::from_millis(random.u64(20..700))).await;
            proxy.thaw();
        }
    }
    enough.store(true, Ordering::Relaxed);
    let direct = super::on(&server).await;
    for (name, writer) in writers {
        let known = writer.await.unwrap();
        assert!(known.len() > 1, "writer {name} wrote nothing");
        assert_eq!(super::texts(&direct, &id(&name)).await, known);
        assert!(direct.head(&id(&name)).await.unwrap().unwrap().lease.is_none());
    }
}
