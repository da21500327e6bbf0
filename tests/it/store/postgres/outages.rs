//! A server that is away, and answers that never come.

use std::{sync::Arc, time::Duration};

use sqlx::Connection as _;
use verdict::{
    base::key_value::KeyValueStore,
    db::PostgresOptions,
    graph::store::{NewRun, RunStatus, Store},
};

use super::{open, refused, unavailable};
use crate::{
    store::harness::*,
    support::{Database, Proxy, eventually},
};

/// Makes the schema, with all the patience that may take.
async fn prepare(database: &Database) {
    open(&database.url(), PostgresOptions::default()).await.0.close().await;
}

/// Short enough to wait for.
fn impatient() -> PostgresOptions {
    PostgresOptions {
        acquire_timeout: Duration::from_secs(2),
        statement_timeout: Duration::from_secs(2),
        ..PostgresOptions::default()
    }
}

#[tokio::test]
async fn what_cannot_be_reached_may_be_later_and_what_refuses_will_not() {
    let database = Database::shared().await;
    let mut proxy = Proxy::new(database.address());
    proxy.cut().await;
    let error = refused(&database.url_through(proxy.address()), impatient()).await;
    assert!(error.is_transient(), "{error}");
    assert!(error.message().contains(&proxy.address().to_string()), "{error}");
    assert!(error.message().contains("out of reach"), "{error}");
    let url = database.url().replace(database.name(), "no-such-database");
    let error = refused(&url, PostgresOptions::default()).await;
    assert!(!error.is_transient() && error.message().contains("3D000"), "{error}");
    let url = database.url().replace("postgres@", "nobody:hunter2@");
    let error = refused(&url, PostgresOptions::default()).await;
    assert!(!error.is_transient() && error.message().contains("28000"), "{error}");
    assert!(!error.message().contains("hunter2"), "{error}");
    // It trusts everybody, and speaks no TLS.
    let url = format!("{}?sslmode=require", database.url());
    let error = refused(&url, PostgresOptions::default()).await;
    assert!(!error.is_transient() && error.message().contains("no TLS"), "{error}");
    database.finish().await;
}

/// Every call ends in bounded time, and the next one after the outage does well.
#[tokio::test]
async fn a_frozen_connection_is_given_up() {
    let database = Database::shared().await;
    prepare(&database).await;
    let proxy = Proxy::new(database.address());
    let (db, store) = open(&database.url_through(proxy.address()), impatient()).await;
    let lease =
        store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease.unwrap();
    proxy.freeze();
    let op = append(&lease, 1, &["x"]);
    let why = unavailable(store.append(op.clone()).await);
    assert!(why.contains("no answer within") || why.contains("out of reach"), "{why}");
    unavailable(store.head(&id("a")).await);
    unavailable(store.renew(&lease, TTL).await);
    unavailable(Store::claim(&*store, claim("a")).await);
    unavailable(store.open(about("b", "s", 1)).await);
    assert!(KeyValueStore::get(&*store, "s", "k").await.unwrap_err().is_transient());
    proxy.thaw();
    // What was sent before may have been done: asked again, it is answered alike.
    eventually("it answers again", async || store.append(op.clone()).await.ok()).await;
    assert_eq!(store.load(&id("a"), 0).await.unwrap().unwrap().1.len(), 2);
    db.close().await;
    drop(proxy);
    database.finish().await;
}

/// An append whose answer is lost on the way has been done once, and says so.
#[tokio::test]
async fn an_answer_that_was_lost_is_found_again() {
    let database = Database::shared().await;
    let mut proxy = Proxy::new(database.address());
    let options = PostgresOptions::default();
    let (db, store) = open(&database.url_through(proxy.address()), options).await;
    let lease =
        store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease.unwrap();
    // The server cannot do it before this lets go of the row.
    let mut other = database.connect().await;
    let mut tx = other.begin().await.unwrap();
    sqlx::raw_sql("SELECT 1 FROM verdict.run FOR UPDATE").execute(&mut *tx).await.unwrap();
    let appending = {
        let (store, op) = (store.clone(), append(&lease, 1, &["x"]));
        tokio::spawn(async move { store.append(op).await })
    };
    waits(&database, 1).await;
    proxy.cut().await;
    tx.commit().await.unwrap();
    let done = async || (records_in(&database).await == 2).then_some(());
    eventually("the server has done it", done).await;
    proxy.mend();
    assert_eq!(appending.await.unwrap().unwrap(), 2);
    assert_eq!(records_in(&database).await, 2, "once");
    other.close().await.unwrap();
    db.close().await;
    drop(proxy);
    database.finish().await;
}

/// The same of an opening and of a claim: what was made is known to be one's own.
#[tokio::test]
async fn an_opening_and_a_claim_whose_answers_were_lost_are_not_somebody_elses() {
    let database = Database::shared().await;
    let mut proxy = Proxy::new(database.address());
    let options = PostgresOptions::default();
    let (db, store) = open(&database.url_through(proxy.address()), options).await;
    let mut other = database.connect().await;
    store.open(run("there")).await.unwrap();
    for what in ["open", "claim"] {
        let mut tx = other.begin().await.unwrap();
        let lock = if what == "open" {
            "LOCK TABLE verdict.record IN SHARE MODE"
        } else {
            "SELECT 1 FROM verdict.run FOR UPDATE"
        };
        sqlx::raw_sql(lock).execute(&mut *tx).await.unwrap();
        let doing = {
            let store: Arc<dyn Store> = store.clone();
            tokio::spawn(async move {
                if what == "open" {
                    let new = NewRun { claim: Some(by("me")), ..run("new") };
                    let opened = store.open(new).await.unwrap();
                    assert!(opened.created);
                    opened.lease.unwrap()
                } else {
                    yours(store.claim(claim("there")).await.unwrap()).0
                }
            })
        };
        waits(&database, 1).await;
        proxy.cut().await;
        tx.commit().await.unwrap();
        let waiting = async || (waiting(&database).await == 0).then_some(());
        eventually("the server has done it", waiting).await;
        proxy.mend();
        let lease = doing.await.unwrap();
        assert_eq!(lease.epoch, 1, "{what}: taken once");
        store.append(append(&lease, 1, &["x"])).await.unwrap();
    }
    other.close().await.unwrap();
    db.close().await;
    drop(proxy);
    database.finish().await;
}

/// An opening whose answer was lost tells what it superseded: when it made its run, and when it found
/// it and raised its order.
#[tokio::test]
async fn what_an_opening_superseded_is_told_although_its_answer_was_lost() {
    let database = Database::shared().await;
    let mut proxy = Proxy::new(database.address());
    let options = PostgresOptions::default();
    let (db, store) = open(&database.url_through(proxy.address()), options.clone()).await;
    let (near, direct) = open(&database.url(), options).await;
    direct.open(about("old", "s", 1)).await.unwrap();
    for (new, order, created, old) in [("new", 2, true, "old"), ("old", 3, false, "new")] {
        proxy.answers_until(Some(tokio::time::Instant::now()));
        let opening = {
            let (store, new) = (store.clone(), about(new, "s", order));
            tokio::spawn(async move { store.open(new).await.unwrap() })
        };
        let done = async || {
            let status = direct.head(&id(old)).await.unwrap().unwrap().status;
            let done = status == RunStatus::Superseded;
            assert!(!(done && opening.is_finished()), "its answer was there before");
            done
        };
        proxy.lose(done).await;
        let opened = opening.await.unwrap();
        assert_eq!((opened.created, opened.superseded), (created, vec![id(old)]), "{new}");
        assert_eq!(opened.head.order, order);
        let again = store.open(about(new, "s", order)).await.unwrap();
        assert_eq!((again.created, again.superseded), (false, vec![]), "{new}: told once");
    }
    let records = direct.load(&id("new"), 0).await.unwrap().unwrap().1;
    assert_eq!(records, [record("started"), record("superseded")]);
    db.close().await;
    near.close().await;
    drop(proxy);
    database.finish().await;
}

/// Killed and started again: what was answered is there, and the same store goes on.
#[tokio::test]
async fn a_private_server_that_was_killed_has_lost_nothing() {
    let mut database = Database::private().await;
    prepare(&database).await;
    let (db, store) = open(&database.url(), impatient()).await;
    let lease =
        store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease.unwrap();
    let mut version = 1;
    for graceful in [false, true] {
        for _ in 0..5 {
            version = store.append(append(&lease, version, &["x", "y"])).await.unwrap();
        }
        if graceful {
            database.stop().await
        } else {
            database.kill().await
        }
        let op = append(&lease, version, &["z"]);
        unavailable(store.append(op.clone()).await);
        database.start().await;
        version =
            eventually("it answers again", async || store.append(op.clone()).await.ok()).await;
        let (head, records) = store.load(&id("a"), 0).await.unwrap().unwrap();
        assert_eq!((head.version, records.len() as u64), (version, version));
    }
    assert_eq!(version, 1 + 2 * 11);
    db.close().await;
    database.finish().await;
}

async fn records_in(database: &Database) -> usize {
    database.ask("SELECT 1 FROM verdict.record").await.len()
}

/// Statements that wait for a lock of somebody else's.
async fn waiting(database: &Database) -> usize {
    let sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() \
               AND wait_event_type = 'Lock'";
    database.ask(sql).await.len()
}

async fn waits(database: &Database, count: usize) {
    let there = async || (waiting(database).await >= count).then_some(());
    eventually("it waits for the lock", there).await;
}
