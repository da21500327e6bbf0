//! What is particular to the embedded queue: it lives on a disk, beside other things.

use std::{future::ready, pin::pin, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use verdict::{
    base::key_value::{KeyValueStore, MAX_VALUE_BYTES},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    queue::{
        DeadLetter, DeadVisitor, Fate, Message, Queue, QueueError, Settled, Settlement,
        embedded::{Embedded, Options},
    },
};

use super::bench::within;

/// Inside one process nobody waits for the next poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_wakes_consumers_of_the_same_handle() {
    let folder = tempfile::tempdir().unwrap();
    let db = Sqlite::open(folder.path().join("queue.db"), SqliteOptions::default()).await.unwrap();
    let poll = Duration::from_secs(3600);
    let queue = Embedded::open(db, Options { poll, ..Options::default() });
    let mut consumer = queue.consumer();
    let mut waiting = pin!(within(consumer.next()));
    assert!((&mut waiting).now_or_never().is_none());
    queue.publish(Message::new("hello"), Duration::ZERO).await.unwrap();
    let delivery = waiting.await.unwrap();
    let mut consumer = queue.consumer();
    let mut waiting = pin!(within(consumer.next()));
    assert!((&mut waiting).now_or_never().is_none());
    delivery.settle(Settlement::HandBack).await.unwrap();
    assert_eq!(waiting.await.unwrap().message, delivery.message);
}

fn dead(id: &str) -> DeadLetter {
    DeadLetter {
        id: id.to_owned(),
        reason: "permanent".to_owned(),
        by_broker: false,
        notes: Vec::new(),
        message: Message::new(id.to_owned()),
    }
}

/// Takes the first letter away, however often it sees it; when it does at first, `meanwhile` happens.
struct Remover<F>(Option<F>);

#[async_trait]
impl<F: Future<Output = ()> + Send> DeadVisitor for Remover<F> {
    async fn visit(&mut self, letter: DeadLetter) -> Result<Fate, QueueError> {
        if let Some(meanwhile) = self.0.take() {
            meanwhile.await;
        }
        Ok(if letter.id == "one" { Fate::Remove } else { Fate::Keep })
    }
}

/// W3: whoever saw a letter takes that one away, and not what was put there since, also where all
/// that was there had gone meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_put_there_again_is_not_removed_with_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = Sqlite::open(folder.path().join("queue.db"), SqliteOptions::default()).await.unwrap();
    let queue = &Embedded::open(db, Options::default());
    for again in ["one", "another"] {
        queue.publish_dead(dead("one")).await.unwrap();
        let meanwhile = async {
            queue.visit_dead(&mut Remover(Some(ready(())))).await.unwrap();
            assert_eq!(queue.depth().await.unwrap().dead, Some(0));
            queue.publish_dead(dead(again)).await.unwrap();
        };
        queue.visit_dead(&mut Remover(Some(meanwhile))).await.unwrap();
        assert_eq!(queue.depth().await.unwrap().dead, Some(1), "{again}");
        queue.visit_dead(&mut Remover(Some(ready(())))).await.unwrap();
    }
}

/// The queue and a run store share one file, one writer and its commits, and neither disturbs the
/// other, not even by an operation that must fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shares_its_file_with_a_store() {
    const EACH: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let db =
        Sqlite::open(folder.path().join("verdict.db"), SqliteOptions::default()).await.unwrap();
    let store = &SqliteStore::new(db.clone());
    let queue = &Embedded::open(db, Options::default());
    let ttl = Duration::from_secs(60);
    let stored = (0..EACH).map(|n| async move {
        store.put("space", &n.to_string(), vec![1; 100].into(), ttl).await.unwrap();
        let large = vec![1; MAX_VALUE_BYTES + 1].into();
        store.put("space", "large", large, ttl).await.unwrap_err();
    });
    let queued = (0..EACH).map(|n| async move {
        queue.publish(Message::new(n.to_string()), Duration::ZERO).await.unwrap();
        let delivery = queue.consumer().next().await.unwrap();
        delivery.settle(Settlement::Ack).await.unwrap()
    });
    let both = futures_util::future::join(
        futures_util::future::join_all(stored),
        futures_util::future::join_all(queued),
    );
    let (_, settled) = within(both).await;
    assert!(settled.iter().all(|settled| *settled == Settled::Done));
    for n in 0..EACH {
        assert!(store.get("space", &n.to_string()).await.unwrap().is_some());
    }
}

/// A disk that is full refuses what comes, keeps what it has, and takes more once there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions { max_pages: Some(200), ..SqliteOptions::default() };
    let db = Sqlite::open(folder.path().join("queue.db"), options).await.unwrap();
    let queue = Embedded::open(db, Options::default());
    let message = |n: u32| Message::new(vec![7; 40_000]).with("n", n.to_string());
    let mut kept = 0;
    let refused = loop {
        match queue.publish(message(kept), Duration::ZERO).await {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "the disk never filled");
    };
    assert!(refused.is_transient(), "{refused}");
    assert!(refused.to_string().contains("no room left"), "{refused}");
    assert!(kept > 5);
    for n in 0..kept {
        let delivery = within(queue.consumer().next()).await.unwrap();
        assert!(delivery.message == message(n));
        assert_eq!(delivery.settle(Settlement::Ack).await.unwrap(), Settled::Done);
    }
    queue.publish(message(0), Duration::ZERO).await.unwrap();
}

/// A database that was closed under the queue is an error at once, for those who wait too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let db = Sqlite::open(folder.path().join("queue.db"), SqliteOptions::default()).await.unwrap();
    let poll = Duration::from_millis(5);
    let queue = Embedded::open(db.clone(), Options { poll, ..Options::default() });
    queue.check().await.unwrap();
    let mut consumer = queue.consumer();
    let (waited, closed) = futures_util::future::join(within(consumer.next()), db.close()).await;
    closed.unwrap();
    let error = waited.unwrap_err();
    assert!(error.to_string().contains("queue.db"), "{error}");
    assert!(queue.check().await.is_err());
    assert!(queue.publish(Message::new("x"), Duration::ZERO).await.is_err());
}
