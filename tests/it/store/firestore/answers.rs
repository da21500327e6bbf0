//! Answers that are lost on their way: the service has done it, and the store was not told.
//!
//! Each operation goes through a proxy that hands an answer on only when another store, asked after
//! the answer came, has not seen the operation done. Once it has, the connection is cut; the store
//! under test has to find out by itself.

use std::sync::Arc;

use tokio::time::Instant;
use verdict::{
    base::{Acquired, RateLimit, RateLimiter, key_value::KeyValueStore},
    checkpoint::FirestoreStore,
    graph::store::{
        Append, Cancelled, Claimed, Hold, Lease, LetterState, NewRun, Resumed, RunStatus, Store,
    },
};

use super::super::harness::*;
use crate::support::{Firestore, PATIENCE, Proxy};

/// A store behind a proxy, and one that sees what is there.
struct Lossy {
    server: Arc<Firestore>,
    proxy: Proxy,
    behind: Arc<FirestoreStore>,
    direct: FirestoreStore,
}

impl Lossy {
    async fn new() -> Self {
        let server = Arc::new(Firestore::shared());
        let proxy = Proxy::new(server.address());
        let behind = Arc::new(super::at(&server, proxy.address(), PATIENCE).await);
        let direct = super::at(&server, server.address(), PATIENCE).await;
        Self { server, proxy, behind, direct }
    }

    /// Does it with its answer lost; `done` tells from what is stored that it was done.
    async fn lose<T, F>(
        &mut self,
        does: impl FnOnce(Arc<FirestoreStore>) -> F,
        done: impl AsyncFn(&FirestoreStore) -> bool,
    ) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        assert!(!done(&self.direct).await, "it is there already");
        self.proxy.answers_until(Some(Instant::now()));
        let doing = tokio::spawn(does(self.behind.clone()));
        let lost = async || {
            let done = done(&self.direct).await;
            assert!(!(done && doing.is_finished()), "its answer was there before it could be lost");
            done
        };
        self.proxy.lose(lost).await;
        doing.await.unwrap()
    }

    async fn version(&self, name: &str) -> u64 {
        self.direct.head(&id(name)).await.unwrap().map_or(0, |head| head.version)
    }

    async fn held(&self, new: NewRun) -> Lease {
        self.behind.open(NewRun { claim: Some(by("me")), ..new }).await.unwrap().lease.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opening_is_done_once() {
    let mut lossy = Lossy::new().await;
    for subject in [None, Some("s".to_owned())] {
        let name = if subject.is_some() { "about" } else { "plain" };
        lossy.direct.open(about("older", "s", 0)).await.unwrap();
        let new = NewRun { subject, order: 1, claim: Some(by("me")), ..run(name) };
        let opened = lossy
            .lose(
                |store| async move { store.open(new).await.unwrap() },
                async |store| store.head(&id(name)).await.unwrap().is_some(),
            )
            .await;
        assert!(opened.created);
        assert_eq!(opened.superseded.len(), usize::from(name == "about"));
        let lease = opened.lease.unwrap();
        let op = append(&lease, 1, &["x"]);
        assert_eq!(lossy.behind.append(op).await.unwrap(), 2);
        assert_eq!(super::texts(&lossy.direct, &id(name)).await, ["started", "x"]);
    }
    assert_eq!(super::texts(&lossy.direct, &id("older")).await, ["started", "superseded"]);
}

/// Of an opening that found its run, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_opening_superseded_is_told() {
    let mut lossy = Lossy::new().await;
    lossy.direct.open(about("old", "s", 1)).await.unwrap();
    for (new, order, created, old) in [("new", 2, true, "old"), ("old", 3, false, "new")] {
        let opening = about(new, "s", order);
        let opened = lossy
            .lose(
                |store| async move { store.open(opening).await.unwrap() },
                async |store| {
                    let head = store.head(&id(old)).await.unwrap().unwrap();
                    head.status == RunStatus::Superseded
                },
            )
            .await;
        assert_eq!((opened.created, opened.superseded), (created, vec![id(old)]), "{new}");
        assert_eq!(opened.head.order, order);
    }
    assert_eq!(super::texts(&lossy.direct, &id("new")).await, ["started", "superseded"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_won_once() {
    let mut lossy = Lossy::new().await;
    lossy.direct.open(run("a")).await.unwrap();
    let claimed = lossy
        .lose(
            |store| async move { Store::claim(&*store, claim("a")).await.unwrap() },
            async |store| store.head(&id("a")).await.unwrap().unwrap().lease.is_some(),
        )
        .await;
    let (lease, head) = yours(claimed);
    assert_eq!((lease.epoch, head.epoch), (1, 1));
    assert_eq!(lossy.behind.append(append(&lease, 1, &["x"])).await.unwrap(), 2);
    let again = Store::claim(&lossy.direct, claim("a")).await.unwrap();
    assert!(matches!(again, Claimed::LeaseHeld(_)), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_is_there_once() {
    let mut lossy = Lossy::new().await;
    let lease = lossy.held(run("a")).await;
    for turn in 0..3 {
        let expected = lossy.version("a").await;
        let op = append(&lease, expected, &["x", "y"]);
        let version = lossy
            .lose(
                |store| async move { store.append(op).await.unwrap() },
                async |store| store.head(&id("a")).await.unwrap().unwrap().version > expected,
            )
            .await;
        assert_eq!(version, expected + 2, "turn {turn}");
    }
    // With a letter, and the lease given up: nobody is fenced by what they did themselves.
    let op = Append {
        hold: Hold::Release,
        letter: Some(Box::new(letter("l"))),
        ..append(&lease, 7, &["z"])
    };
    let version = lossy
        .lose(
            |store| async move { store.append(op).await.unwrap() },
            async |store| store.letter("l").await.unwrap().is_some(),
        )
        .await;
    assert_eq!(version, 8);
    let texts = super::texts(&lossy.direct, &id("a")).await;
    assert_eq!(texts, ["started", "x", "y", "x", "y", "x", "y", "z"]);
    assert_eq!(lossy.server.count("letters").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_an_interrupt_and_a_cancellation_are_there_once() {
    let mut lossy = Lossy::new().await;
    lossy.direct.open(NewRun { asks: vec![("i".into(), None)], ..run("a") }).await.unwrap();
    let given = lossy
        .lose(
            |store| async move {
                store.resume(&id("a"), "i", "yes".into(), record("resumed")).await.unwrap()
            },
            async |store| store.head(&id("a")).await.unwrap().unwrap().version == 2,
        )
        .await;
    assert_eq!(given, Resumed::Accepted(2), "it was ours");
    let cancelled = lossy
        .lose(
            |store| async move { store.cancel(&id("a"), record("cancelled")).await.unwrap() },
            async |store| {
                store.head(&id("a")).await.unwrap().unwrap().status == RunStatus::Cancelled
            },
        )
        .await;
    assert_eq!(cancelled, Cancelled::Done);
    let texts = super::texts(&lossy.direct, &id("a")).await;
    assert_eq!(texts, ["started", "resumed", "cancelled"]);
    let gone = lossy
        .lose(
            |store| async move { store.delete(&id("a")).await.unwrap() },
            async |store| store.head(&id("a")).await.unwrap().is_none(),
        )
        .await;
    assert!(gone, "it was there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_is_settled_once() {
    let mut lossy = Lossy::new().await;
    lossy.direct.put_letter(letter("l")).await.unwrap();
    let settled = lossy
        .lose(
            |store| async move {
                store.settle_letter("l", LetterState::Replayed, None).await.unwrap().unwrap()
            },
            async |store| store.letter("l").await.unwrap().unwrap().state == LetterState::Replayed,
        )
        .await;
    assert_eq!(settled, (LetterState::Replayed, true), "it was us");
    let again = lossy.direct.settle_letter("l", LetterState::Discarded, None).await.unwrap();
    assert_eq!(again, Some((LetterState::Replayed, false)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_put_and_tokens_are_acquired_once() {
    let mut lossy = Lossy::new().await;
    let there = lossy
        .lose(
            |store| async move { store.put_if_absent("s", "k", "v".into(), TTL).await.unwrap() },
            async |store| store.get("s", "k").await.unwrap().is_some(),
        )
        .await;
    assert_eq!(there, None, "it was ours");
    let limit = RateLimit { capacity: 2.0, per_second: 0.0 };
    let server = lossy.server.clone();
    let limiter = move |store| RateLimiter::new(store, "b", limit);
    let acquired = lossy
        .lose(
            |store| async move { limiter(store).acquire("k", 1.0).await.unwrap() },
            async |_| server.count("key_values").await > 1,
        )
        .await;
    assert_eq!(acquired, Acquired::Granted);
    let direct = limiter(Arc::new(lossy.direct.clone()));
    assert_eq!(direct.acquire("k", 1.0).await.unwrap(), Acquired::Granted);
    let more = direct.acquire("k", 1.0).await.unwrap();
    assert!(matches!(more, Acquired::Wait(_)), "{more:?}");
}
