//! What only Firestore can do: bound sizes, lose answers, stand still, tell the time, send a bill.

mod answers;
mod binary;
mod bounds;
mod cost;
mod outages;
mod rights;
mod time;

use std::{sync::Arc, time::Duration};

use verdict::{
    checkpoint::{FirestoreOptions, FirestoreStore},
    graph::store::{RunId, Store, StoredRecord},
};

use crate::support::{Firestore, PATIENCE};

/// A store by the server's own clock, at an address of the emulator's or of a proxy before it.
async fn at(server: &Firestore, address: impl ToString, timeout: Duration) -> FirestoreStore {
    let options = FirestoreOptions {
        emulator: Some(address.to_string()),
        timeout,
        ..FirestoreOptions::new(server.project(), "(default)")
    };
    FirestoreStore::connect(options).await.unwrap()
}

/// One that waits for the service whatever else this machine has to do.
async fn on(server: &Firestore) -> Arc<FirestoreStore> {
    Arc::new(at(server, server.address(), PATIENCE).await)
}

/// The texts of a run's records.
async fn texts(store: &FirestoreStore, run: &RunId) -> Vec<String> {
    let (head, records) = store.load(run, 0).await.unwrap().unwrap();
    assert_eq!(head.version, records.len() as u64);
    let text = |record: &StoredRecord| String::from_utf8(record.meta.to_vec()).unwrap();
    records.iter().map(text).collect()
}
