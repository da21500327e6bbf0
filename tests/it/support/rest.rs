//! What is at rest in a database, and a barrier in front of it.
//!
//! The barrier is a trigger in the test's own database file: the transaction that would write a
//! run's record behind number K never comes to its end. So a real process stands still with
//! exactly those records durable that fit below K, and can be killed there, in the middle of a
//! write, and nothing in the program knows about it.

use std::{path::Path, time::Duration};

use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

async fn connect(file: &Path, patience: Duration) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).busy_timeout(patience);
    options.connect().await.unwrap()
}

async fn script(file: &Path, sql: &'static str) {
    let mut conn = connect(file, Duration::from_secs(30)).await;
    sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

/// Lets no record behind number `k` be written. The file must have its tables.
pub async fn barrier(file: &Path, k: u64) {
    script(
        file,
        "CREATE TABLE test_limit (k INTEGER);
         CREATE VIEW test_for_ever AS
           WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
           SELECT count(*) AS n FROM c;
         CREATE TRIGGER test_barrier BEFORE INSERT ON record
           WHEN (NEW.place & 16777215) > (SELECT k FROM test_limit)
           BEGIN SELECT n FROM test_for_ever; END;",
    )
    .await;
    let mut conn = connect(file, Duration::from_secs(30)).await;
    let insert = sqlx::query("INSERT INTO test_limit VALUES (?)").bind(i64::try_from(k).unwrap());
    insert.execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

/// Lets no message be acknowledged.
pub async fn hold_messages(file: &Path) {
    script(
        file,
        "CREATE VIEW test_for_ever AS
           WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
           SELECT count(*) AS n FROM c;
         CREATE TRIGGER test_barrier BEFORE DELETE ON queue_slot
           BEGIN SELECT n FROM test_for_ever; END;",
    )
    .await;
}

/// Takes the barrier away. Whoever stands at it must be dead.
pub async fn lift(file: &Path) {
    script(
        file,
        "DROP TRIGGER test_barrier; DROP VIEW test_for_ever; DROP TABLE IF EXISTS test_limit;",
    )
    .await;
}

/// Whether somebody has been writing for as long as `time`: no write takes as long unless it stands
/// at the barrier.
pub async fn stuck(file: &Path, time: Duration) -> bool {
    let mut conn = connect(file, time).await;
    let began = sqlx::query("BEGIN IMMEDIATE").execute(&mut conn).await;
    let stuck = began.is_err();
    if !stuck {
        sqlx::query("ROLLBACK").execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    stuck
}

/// How much there is.
#[derive(Debug, PartialEq, Eq)]
pub struct Rows {
    pub runs: i64,
    /// Records of the longest run.
    pub records: i64,
    pub messages: i64,
}

pub async fn rows(file: &Path) -> Rows {
    let mut conn = connect(file, Duration::from_secs(30)).await;
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM run), (SELECT coalesce(max(version), 0) FROM run),
                (SELECT count(*) FROM queue_slot)",
    );
    let row = row.fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    Rows { runs: row.get(0), records: row.get(1), messages: row.get(2) }
}

/// Fills the pages that the tables of runs begin with. The schema stays; the file is not open.
pub async fn overwrite_runs(file: &Path) {
    let mut conn = connect(file, Duration::from_secs(30)).await;
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name IN ('run', 'record')";
    let pages: Vec<u32> = sqlx::query_scalar(sql).fetch_all(&mut conn).await.unwrap();
    let size: u32 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let mut bytes = std::fs::read(file).unwrap();
    for page in pages {
        let (start, end) = ((page - 1) * size, page * size);
        bytes[start as usize..end as usize].fill(0xa5);
    }
    std::fs::write(file, bytes).unwrap();
}

/// How many runs are complete.
pub async fn completed(file: &Path) -> u64 {
    let mut conn = connect(file, Duration::from_secs(30)).await;
    let row = sqlx::query("SELECT count(*) FROM run WHERE status = 3").fetch_one(&mut conn).await;
    conn.close().await.unwrap();
    u64::try_from(row.unwrap().get::<i64, _>(0)).unwrap()
}
