//! Values beyond what a document or a request may hold.

use std::time::Duration;

use bytes::Bytes;
use verdict::{
    base::Clock,
    checkpoint::{FirestoreOptions, FirestoreStore},
    graph::store::{Append, LetterState, NewRun, Resumed, Store, StoredRecord},
};

use super::super::harness::*;
use crate::support::{Firestore, PATIENCE, Proxy, eventually};

const MIB: usize = 1 << 20;
const DAYS: Duration = Duration::from_secs(2 * 86_400);

fn noise(seed: u64, length: usize) -> Bytes {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

fn large(seed: u64, length: usize) -> StoredRecord {
    StoredRecord { payload: Some(noise(seed, length)), ..record("large") }
}

/// How many documents there are of a run, its parts, and notes of what is left over.
async fn left(server: &Firestore) -> [usize; 5] {
    let mut left = [0; 5];
    let collections = ["runs", "records", "asks", "parts", "leftovers"];
    for (count, collection) in left.iter_mut().zip(collections) {
        *count = server.count(collection).await;
    }
    left
}

/// E7: 20 MiB come back bit for bit, and go with their run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_mebibytes_come_back_and_go_whole() {
    let server = Firestore::shared();
    let store = open_firestore(&server, None).await;
    let first = large(1, 20 * MIB);
    let new = NewRun {
        claim: Some(by("me")),
        records: vec![record("started"), first.clone()],
        ..run("a")
    };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    let rest = vec![large(2, 6 * MIB), record("small"), large(3, 3 * MIB)];
    let op = Append { records: rest.clone(), asks: vec!["i".into()], ..append(&lease, 2, &[]) };
    assert_eq!(store.append(op.clone()).await.unwrap(), 5);
    assert_eq!(store.append(op).await.unwrap(), 5, "and again");
    let (_, found) = store.load(&id("a"), 1).await.unwrap().unwrap();
    assert!(found[0] == first && found[1..] == rest, "bit for bit");
    // 20 MiB and a little are 23 parts, 9 MiB eleven; nobody waits for a note.
    assert_eq!(left(&server).await, [1, 2, 1, 34, 0]);
    // The most that goes into one commit.
    let mut letter = letter("l");
    (letter.payload, letter.error) = (noise(7, 1800 << 10), "é".repeat(MIB));
    letter.headers = [("a".to_owned(), "b".repeat(100 << 10))].into();
    let letter = Some(Box::new(letter));
    let mut op = Append { records: vec![large(8, 1799 << 10)], letter, ..append(&lease, 5, &[]) };
    op.head.error = Some("é".repeat(MIB));
    assert_eq!(store.append(op.clone()).await.unwrap(), 6);
    let found = store.letter("l").await.unwrap().unwrap();
    let sent = op.letter.unwrap();
    assert!((&found.payload, &found.headers) == (&sent.payload, &sent.headers), "bit for bit");
    assert_eq!(found.error, "é".repeat(32 << 10), "an error is cut short");
    assert_eq!(store.head(&id("a")).await.unwrap().unwrap().error, Some(found.error));
    assert!(store.delete(&id("a")).await.unwrap());
    assert_eq!(left(&server).await, [0, 0, 0, 2, 0], "the letter stays");
    assert!(!store.delete(&id("a")).await.unwrap());
}

/// Every other value that may be large.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_answers_cancellations_and_letters_come_back() {
    let server = Firestore::shared();
    let (clock, hand) = Clock::manual(START);
    let store = open_firestore(&server, Some(clock)).await;
    let new = NewRun { asks: vec![("i".into(), None)], ..run("a") };
    store.open(new).await.unwrap();
    let value = noise(4, 7 * MIB);
    let given = store.resume(&id("a"), "i", value.clone(), record("resumed")).await.unwrap();
    assert_eq!(given, Resumed::Accepted(2));
    let given = store.resume(&id("a"), "i", "no".into(), record("resumed")).await.unwrap();
    assert!(given == Resumed::Already(value), "the first answer, bit for bit");
    store.cancel(&id("a"), large(5, 5 * MIB)).await.unwrap();
    let (_, records) = store.load(&id("a"), 2).await.unwrap().unwrap();
    assert!(records == [large(5, 5 * MIB)]);

    let mut letter = letter("l");
    letter.payload = noise(6, 8 * MIB);
    store.put_letter(letter.clone()).await.unwrap();
    let parts = server.count("parts").await;
    store.put_letter(letter.clone()).await.unwrap();
    assert!(store.letter("l").await.unwrap().unwrap() == letter, "bit for bit");
    assert_eq!((server.count("parts").await, server.count("leftovers").await), (parts, 0));
    store.settle_letter("l", LetterState::Discarded, None).await.unwrap();
    hand.advance(DAYS);
    assert_eq!(store.expire(DAYS, 9).await.unwrap(), 1);
    assert_eq!(left(&server).await, [0; 5]);
    assert_eq!(server.count("letters").await, 0);
}

/// What was written ahead of an append that is refused goes at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_append_leaves_nothing() {
    let server = Firestore::shared();
    let (clock, hand) = Clock::manual(START);
    let store = open_firestore(&server, Some(clock)).await;
    let lease = store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease;
    let lease = lease.unwrap();
    hand.advance(TTL);
    yours(store.claim(claim("a")).await.unwrap());
    let op = Append { records: vec![large(1, 8 * MIB)], ..append(&lease, 1, &[]) };
    fenced(store.append(op).await);
    assert_eq!(left(&server).await, [1, 1, 0, 0, 0]);
}

/// A writer dies between the parts and the commit: nothing of it is seen, and retention takes the
/// parts away. Nothing of the run itself goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_writer_wrote_ahead_is_swept() {
    let server = Firestore::shared();
    let (clock, hand) = Clock::manual(START);
    let store = open_firestore(&server, Some(clock.clone())).await;
    let proxy = Proxy::new(server.address());
    let options = FirestoreOptions {
        emulator: Some(proxy.address().to_string()),
        clock: Some(clock),
        timeout: PATIENCE,
        ..FirestoreOptions::new(server.project(), "(default)")
    };
    let writer = FirestoreStore::connect(options).await.unwrap();
    let new = NewRun { claim: Some(by("me")), ..run("a") };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    proxy.delay(Duration::from_millis(500));
    let op = Append { records: vec![large(1, 20 * MIB)], ..append(&lease, 1, &[]) };
    let writing = tokio::spawn(async move { writer.append(op).await });
    eventually("some parts are there", async || (server.count("parts").await > 0).then_some(()))
        .await;
    writing.abort();
    assert!(writing.await.unwrap_err().is_cancelled());
    drop(proxy);
    assert_eq!(store.expire(DAYS, 9).await.unwrap(), 0, "somebody may be about to commit");
    assert!(server.count("parts").await > 0);
    assert_eq!(server.count("leftovers").await, 1);
    hand.advance(DAYS);
    assert_eq!(store.expire(DAYS, 9).await.unwrap(), 0);
    assert_eq!(left(&server).await, [1, 1, 0, 0, 0]);
    assert_eq!(store.append(append(&lease, 1, &["x"])).await.unwrap(), 2);
}

/// A run made anew under the id of a deleted one has nothing of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_made_anew_has_nothing_of_the_deleted_one() {
    let server = Firestore::shared();
    let store = open_firestore(&server, None).await;
    for name in ["first", "second"] {
        let new = NewRun { claim: Some(by("me")), ..run("a") };
        let lease = store.open(new).await.unwrap().lease.unwrap();
        let op = Append { asks: vec!["i".into()], ..append(&lease, 1, &[name, name]) };
        store.append(op).await.unwrap();
        assert_eq!(super::texts(&store, &id("a")).await, ["started", name, name]);
        let answer = store.resume(&id("a"), "i", name.into(), record("resumed")).await;
        assert_eq!(answer.unwrap(), Resumed::Accepted(4));
        assert!(store.delete(&id("a")).await.unwrap());
        fenced_or_missing(store.append(append(&lease, 4, &["late"])).await);
    }
    assert_eq!(left(&server).await, [0; 5]);
}

fn fenced_or_missing(answer: Result<u64, verdict::graph::StoreError>) {
    assert_eq!(answer.unwrap_err(), verdict::graph::StoreError::Missing(id("a")));
}

/// More writes than a commit was once allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_commit_may_have_many_writes() {
    let server = Firestore::shared();
    let store = open_firestore(&server, None).await;
    let new = NewRun { claim: Some(by("me")), ..run("a") };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    let asks: Vec<String> = (0..600).map(|n| format!("ask {n}")).collect();
    let op = Append { asks, ..append(&lease, 1, &["asked"]) };
    assert_eq!(store.append(op).await.unwrap(), 2);
    assert_eq!(server.count("asks").await, 600);
    assert!(store.delete(&id("a")).await.unwrap());
    assert_eq!(left(&server).await, [0; 5]);
}

/// Two databases of one project know nothing of each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn databases_are_apart() {
    let server = Firestore::shared();
    let open = async |database: &str| {
        let options = FirestoreOptions::new(server.project(), database);
        let emulator = Some(server.address().to_owned());
        let options = FirestoreOptions { emulator, timeout: PATIENCE, ..options };
        FirestoreStore::connect(options).await.unwrap()
    };
    let (one, other) = (open("(default)").await, open("reviews-eu").await);
    assert!(one.open(run("a")).await.unwrap().created);
    assert!(other.head(&id("a")).await.unwrap().is_none());
    assert!(other.open(run("a")).await.unwrap().created);
    assert!(one.delete(&id("a")).await.unwrap());
    assert_eq!(other.head(&id("a")).await.unwrap().unwrap().version, 1);
}
