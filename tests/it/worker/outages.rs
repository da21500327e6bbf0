//! The store is out of reach.

use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use verdict::{graph::RunStatus, worker::Status};

use super::hall::{Act, Hall, VISIBILITY, part};

async fn lock(hall: &Hall) -> SqliteConnection {
    let mut other = SqliteConnectOptions::new().filename(&hall.file).connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
    other
}

async fn unlock(mut other: SqliteConnection) {
    sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
}

/// W3: the database is locked while nothing is in hand: the worker says so, waits, and goes on.
#[tokio::test]
async fn a_locked_database_pauses_the_worker() {
    let hall = Hall::new().await;
    hall.send(&part("a")).await;
    let other = lock(&hall).await;
    let worker = hall.worker();
    let Status::Paused(why) = worker.is(|status| matches!(status, Status::Paused(_))).await else {
        unreachable!()
    };
    assert!(why.contains("locked by another process"), "{why}");
    unlock(other).await;
    worker.is(|status| *status == Status::Taking).await;
    assert_eq!(hall.becomes("a", RunStatus::Completed).await.executions, 0);
    hall.empties().await;
    worker.stop().await;
}

/// W3: it is locked in the middle of a run: nothing is counted, and the run is finished later
/// without doing again what was recorded.
#[tokio::test]
async fn a_database_locked_in_the_middle_of_a_run_costs_it_nothing() {
    let hall = Hall::new().await;
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    let other = lock(&hall).await;
    hall.stage.open();
    worker.is(|status| matches!(status, Status::Paused(_))).await;
    unlock(other).await;
    worker.is(|status| *status == Status::Taking).await;
    hall.pass(VISIBILITY);
    let head = hall.becomes("a", RunStatus::Completed).await;
    assert_eq!((head.executions, head.error), (0, None));
    hall.empties().await;
    let ran = hall.stage.ran("a");
    assert_eq!(ran.iter().filter(|node| *node == "prepare").count(), 1);
    assert_eq!(ran.iter().filter(|node| *node == "publish").count(), 1);
    assert_eq!(hall.all_letters().await, []);
    worker.stop().await;
}

/// W3: a short lock is waited out and nobody notices.
#[tokio::test]
async fn a_short_lock_is_waited_out() {
    let mut hall = Hall::new().await;
    hall.options.lease = std::time::Duration::from_secs(60);
    hall.stage.put_up("a", [Act::Stand]);
    let worker = hall.worker();
    hall.send(&part("a")).await;
    hall.stage.stand(1).await;
    let other = lock(&hall).await;
    hall.stage.open();
    crate::support::pass(std::time::Duration::from_millis(500)).await;
    unlock(other).await;
    hall.becomes("a", RunStatus::Completed).await;
    hall.pass(VISIBILITY);
    hall.empties().await;
    assert_eq!(hall.stage.ran("a"), ["prepare", "work", "publish"]);
    worker.stop().await;
}
