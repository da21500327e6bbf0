//! The store and the queue are out of reach, one at a time.

use std::path::Path;

use serde_json::json;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use verdict::graph::{RunStatus, Store};

use super::{get, metric, post, readiness, serve, stop};
use crate::{
    crash::fixture::repository,
    support::{Machine, eventually},
};

async fn lock(file: &Path) -> SqliteConnection {
    let mut other = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
    other
}

async fn unlock(mut other: SqliteConnection) {
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

/// W2: the queue does not take the wake-up. The run was stored before, and the sweep of any worker
/// finds it: no message is needed for it to be done.
#[tokio::test]
async fn a_run_nobody_was_told_of_is_done_all_the_same() {
    let (repo, machine) = (repository(), Machine::new());
    let queue = machine.folder().join("queue.db");
    let machine = machine.set("queue.url", &format!("embedded:{}", queue.display()));
    let (mut gateway, at) = serve(&machine, "gateway").await;
    let other = lock(&queue).await;
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let answer = post(at, &json!({"workflow": "review", "input": input})).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    gateway.says("did not take a wake-up").await;
    assert_eq!(metric(at, "verdict_wakeups_lost_total").await, Some(1.0));
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    // With it goes whatever it might still have written.
    assert!(gateway.kill().await);
    unlock(other).await;
    let run = id.parse().unwrap();
    let store = machine.store().await;
    assert_eq!(store.head(&run).await.unwrap().unwrap().status, RunStatus::Queued);

    let (mut worker, works) = serve(&machine, "worker").await;
    let line = worker.says("the sweep takes up a run").await;
    assert!(line.contains(&id), "{line}");
    eventually("the run completes", async || {
        let head = store.head(&run).await.unwrap().unwrap();
        (head.status == RunStatus::Completed).then_some(())
    })
    .await;
    assert_eq!(metric(works, "verdict_queue_received_total").await, Some(0.0));
    stop(worker).await;
}

/// W3: a gateway whose store cannot be written says so, refuses for now, and recovers by itself.
#[tokio::test]
async fn a_gateway_is_ready_when_store_and_queue_are() {
    let (repo, machine) = (repository(), Machine::new());
    let queue = machine.folder().join("queue.db");
    let machine = machine.set("queue.url", &format!("embedded:{}", queue.display()));
    let (gateway, at) = serve(&machine, "gateway").await;
    readiness(at, true).await;

    let other = lock(&machine.file()).await;
    let checks = readiness(at, false).await;
    assert_eq!(checks["queue"], "ok");
    assert!(checks["store"].as_str().unwrap().contains("locked"), "{checks}");
    assert_eq!(get(at, "/livez").await.status, 200, "alive all the while");
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    let job = json!({"workflow": "review", "input": input});
    let answer = post(at, &job).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert!(answer.error().contains("locked"), "{answer:?}");
    unlock(other).await;
    assert_eq!(readiness(at, true).await, json!({"queue": "ok", "store": "ok"}));

    let other = lock(&queue).await;
    let checks = readiness(at, false).await;
    assert_eq!(checks["store"], "ok");
    assert!(checks["queue"].as_str().unwrap().contains("locked"), "{checks}");
    unlock(other).await;
    readiness(at, true).await;
    assert_eq!(post(at, &job).await.status, 202);
    stop(gateway).await;
}
