//! The layer that encrypts: what is moved, changed or foreign does not open, and nothing panics. The
//! conformance suite runs behind it too.

use bytes::Bytes;
use proptest::prelude::*;
use std::sync::Arc;
use verdict::{
    base::Clock,
    checkpoint::{KeyRing, Memory, Sealed},
    graph::store::{Append, NewRun, Store, StoreError, StoredRecord},
};

use super::harness::*;

const KEY: &str = "k:1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";

/// A store as it is, and behind the layer.
fn both() -> (Arc<Memory>, Sealed) {
    let bare = Arc::new(Memory::new(Clock::manual(START).0));
    (bare.clone(), Sealed::new(bare, KeyRing::parse(KEY).unwrap()))
}

fn full(text: &str) -> StoredRecord {
    StoredRecord { payload: Some(text.to_owned().into()), ..record(text) }
}

async fn stored(store: &dyn Store, name: &str, records: &[StoredRecord]) -> Vec<StoredRecord> {
    store.open(NewRun { records: records.to_vec(), ..run(name) }).await.unwrap();
    let (_, records) = store.load(&id(name), 0).await.unwrap().unwrap();
    records
}

/// What the layer says of a run whose records are these.
async fn refused(bare: &Memory, sealed: &Sealed, name: &str, records: &[StoredRecord]) -> String {
    bare.delete(&id(name)).await.unwrap();
    stored(bare, name, records).await;
    match sealed.load(&id(name), 0).await.unwrap_err() {
        StoreError::Broken(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_moved_or_changed_does_not_open() {
    let (bare, sealed) = both();
    let plain = [full("one"), full("two")];
    assert_eq!(stored(&sealed, "a", &plain).await, plain);
    stored(&sealed, "b", &plain).await;
    let (_, a) = bare.load(&id("a"), 0).await.unwrap().unwrap();
    let (_, b) = bare.load(&id("b"), 0).await.unwrap().unwrap();
    assert_ne!(a[0], b[0], "the same is sealed anew each time");
    assert_eq!(a[0].meta.len(), "one".len() + 4 + 1 + 4 + 1 + 1 + 16 + 12 + 16);

    let moved = |meta: &StoredRecord, payload: &StoredRecord| StoredRecord {
        meta: meta.meta.clone(),
        payload: payload.payload.clone(),
    };
    let told = refused(&bare, &sealed, "b", &a).await;
    let words = format!(
        "record 1 of run {} does not open with its key `k`: what is stored was changed, or belongs \
         elsewhere; restore it from a backup",
        id("b")
    );
    assert_eq!(told, words, "another run's");
    for (records, what) in [
        ([a[1].clone(), a[0].clone()], "record 1 of"),
        ([a[0].clone(), moved(&a[1], &a[0])], "record 2 of"),
        ([a[0].clone(), moved(&a[1], &b[1])], "record 2 of"),
    ] {
        let told = refused(&bare, &sealed, "a", &records).await;
        assert!(told.starts_with(what), "{told}");
    }
    for at in 0..a[0].meta.len() {
        let mut meta = a[0].meta.to_vec();
        meta[at] ^= 1;
        let changed = StoredRecord { meta: meta.into(), ..a[0].clone() };
        bare.delete(&id("a")).await.unwrap();
        stored(&*bare, "a", &[changed]).await;
        match sealed.load(&id("a"), 0).await {
            // Without its mark it is no sealed record, and the large part is bound to the small one.
            Err(StoreError::Broken(_) | StoreError::Sealed(_)) => {}
            other => panic!("byte {at}: {other:?}"),
        }
    }
}

/// What is written from outside has no number yet; it is bound to its run, and its two parts to each
/// other.
#[tokio::test]
async fn what_comes_from_outside_is_bound_to_its_run() {
    let (bare, sealed) = both();
    for name in ["a", "b"] {
        sealed.open(NewRun { asks: vec![("i".to_owned(), None)], ..run(name) }).await.unwrap();
        let _ = sealed.resume(&id(name), "i", "yes".into(), full(name)).await.unwrap();
    }
    let (_, a) = bare.load(&id("a"), 0).await.unwrap().unwrap();
    let (_, b) = bare.load(&id("b"), 0).await.unwrap().unwrap();
    let told = refused(&bare, &sealed, "a", &[a[0].clone(), b[1].clone()]).await;
    assert!(told.starts_with("record 2 of"), "{told}");
    let mixed = StoredRecord { payload: b[1].payload.clone(), ..a[1].clone() };
    let told = refused(&bare, &sealed, "a", &[a[0].clone(), mixed]).await;
    assert!(told.starts_with("record 2 of"), "{told}");
}

/// A plain value that looks sealed comes back as it was, with a key and without.
#[tokio::test]
async fn what_only_looks_sealed_comes_back() {
    let mark = Bytes::from_static(b"\xE5vdk");
    for keys in [KeyRing::default(), KeyRing::parse(KEY).unwrap()] {
        let sealed = Sealed::new(Arc::new(Memory::new(Clock::manual(START).0)), keys);
        for tail in [&b""[..], b"\x00", b"\x01", b"\x01name", b"\x07"] {
            let payload: Bytes = [&mark, tail].concat().into();
            let name = format!("{tail:?}");
            let marked =
                verdict::graph::store::Letter { payload: payload.clone(), ..letter(&name) };
            sealed.put_letter(marked).await.unwrap();
            assert_eq!(sealed.letter(&name).await.unwrap().unwrap().payload, payload);
            let new = NewRun { records: vec![full("x")], claim: Some(by("h")), ..run(&name) };
            let lease = sealed.open(new).await.unwrap().lease.unwrap();
            let one = StoredRecord { meta: payload.clone(), payload: Some(payload) };
            let op = Append { records: vec![one.clone()], ..append(&lease, 1, &[]) };
            sealed.append(op).await.unwrap();
            assert_eq!(sealed.load(&id(&name), 1).await.unwrap().unwrap().1, [one]);
        }
    }
}

proptest! {
    /// Whatever a database comes to hold, it is an answer or an error.
    #[test]
    fn no_bytes_make_it_panic(
        meta in any::<Vec<u8>>(),
        payload in any::<Vec<u8>>(),
        how in 0..4_u8,
        error in "(sealed:)?[0-9a-f]{0,80}|sealed:e576646b0[0-9a-f]{10,80}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (bare, sealed) = both();
            let marked = |bytes: &[u8]| Bytes::from([b"\xE5vdk", &[how][..], bytes].concat());
            let one = StoredRecord { meta: marked(&meta), payload: Some(marked(&payload)) };
            stored(&*bare, "a", &[one]).await;
            let _ = sealed.load(&id("a"), 0).await;
            let odd = verdict::graph::store::Letter {
                payload: marked(&payload),
                error: error.clone(),
                ..letter("l")
            };
            bare.put_letter(odd).await.unwrap();
            let _ = sealed.letter("l").await;
            let listed = sealed.letters(&Default::default()).await.unwrap();
            assert_eq!(&listed[0].error, &error, "what does not open stays as it is");
        });
    }
}
