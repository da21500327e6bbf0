//! Behind a pooler in transaction mode, where each transaction may be on another connection. The
//! conformance suite runs there too.

use verdict::{
    db::PostgresOptions,
    graph::store::{NewRun, RunFilter, Store},
};

use super::{open, refused};
use crate::{
    store::harness::*,
    support::{Database, Pooler},
};

#[tokio::test]
async fn without_the_setting_it_says_which_one_is_needed() {
    let database = Database::shared().await;
    let pooler = Pooler::before(&database).await;
    let url = database.url_through(pooler.address());
    let error = refused(&url, PostgresOptions::default()).await;
    assert!(!error.is_transient(), "{error}");
    assert!(error.message().contains("store.postgres.prepared_statements = false"), "{error}");
    pooler.finish().await;
    database.finish().await;
}

/// More at once than the pooler has connections to the server: they take turns, and nothing that one
/// told its connection is left for the next.
#[tokio::test]
async fn many_at_once_share_few_connections() {
    let database = Database::shared().await;
    let pooler = Pooler::before(&database).await;
    let options = PostgresOptions {
        prepared_statements: false,
        max_connections: 24,
        ..PostgresOptions::default()
    };
    let (db, store) = open(&database.url_through(pooler.address()), options).await;
    let tasks = (0..200_i64).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let new = NewRun { claim: Some(by("me")), ..about(&n.to_string(), &n.to_string(), 1) };
            let lease = store.open(new).await.unwrap().lease.unwrap();
            for version in 1..6 {
                store.append(append(&lease, version, &["x"])).await.unwrap();
                store.head(&lease.run).await.unwrap().unwrap();
            }
            store.renew(&lease, TTL).await.unwrap();
        })
    });
    for task in futures_util::future::join_all(tasks).await {
        task.unwrap();
    }
    let heads = store.list(&RunFilter::default()).await.unwrap();
    assert_eq!(heads.len(), 200);
    assert!(heads.iter().all(|head| head.version == 6));
    assert!(database.connections().await <= 5, "the pooler's four, and this look");
    let settings = database.ask("SHOW enable_seqscan").await;
    assert_eq!(sqlx::Row::get::<String, _>(&settings[0], 0), "on");
    db.close().await;
    pooler.finish().await;
    database.finish().await;
}
