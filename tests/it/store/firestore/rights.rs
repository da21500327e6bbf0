//! An identity that may read and not write.

use std::sync::{Arc, Mutex};

use verdict::{
    app::QueueNotifier,
    base::Clock,
    checkpoint::{FirestoreOptions, FirestoreStore},
    graph::{Runtime, Store},
    queue::embedded::{Embedded, Options},
    runs::Runs,
    worker::Probe,
    workflows::Registry,
};

use super::super::harness::*;
use crate::support::{Firestore, Machine, PATIENCE, eventually};

/// It accepts no runs, and says which right is missing; once it has it, it is ready. Looking leaves
/// nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_may_not_be_written_is_not_ready() {
    let server = Firestore::shared();
    server.set_rules("allow read: if true;").await;
    let options = FirestoreOptions {
        emulator: Some(server.address().to_owned()),
        emulator_token: Some(Firestore::user()),
        timeout: PATIENCE,
        ..FirestoreOptions::new(server.project(), "(default)")
    };
    let store = Arc::new(FirestoreStore::connect(options).await.unwrap());
    assert_eq!(store.head(&id("a")).await, Ok(None), "it can be read");

    let machine = Machine::new();
    std::fs::create_dir_all(machine.file().parent().unwrap()).unwrap();
    let db = machine.open().await;
    let queue = Arc::new(Embedded::open(db.clone(), Options::default()));
    let runtime = Runtime::new(store.clone(), Clock::system(), "gateway");
    let notifier = Arc::new(QueueNotifier::new(queue.clone()));
    let probe = Probe::new(Runs::new(runtime, Registry::new(), notifier), queue);
    let told = Arc::new(Mutex::new(None));
    let watching = {
        let told = told.clone();
        let tell = move |check: &str, state: Result<(), String>| {
            if check == "store" {
                *told.lock().unwrap() = Some(state);
            }
        };
        tokio::spawn(async move { probe.watch(tell).await })
    };
    let said = || told.lock().unwrap().clone();
    let why = eventually("it is looked at", async || said()).await.unwrap_err();
    assert!(why.contains("permission denied") && why.contains("roles/datastore.user"), "{why}");

    server.set_rules("allow read, write: if true;").await;
    eventually("it is ready", async || said()?.ok()).await;
    assert_eq!(store.usage().writes, 0);
    assert_eq!(server.count("letters").await, 0);
    watching.abort();
    let _ = watching.await;
    db.close().await.unwrap();
}
