//! What only a file can do: be locked, full, broken, foreign, too new.

use std::{fs, path::Path, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use verdict::{
    base::Clock,
    checkpoint::SqliteStore,
    db::{DbError, Lane, Sqlite, SqliteOptions, Tx},
    graph::store::{Claim, ClaimAs, Claimed, NewRun, RunFilter, Store, StoreError, StoredRecord},
};

use super::harness::*;
use crate::support::overwrite_runs;

async fn open(path: &Path, options: SqliteOptions) -> (Sqlite, SqliteStore) {
    let db = Sqlite::open(path, options).await.unwrap();
    (db.clone(), SqliteStore::new(db))
}

async fn stranger(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
}

async fn tell(conn: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(conn).await.unwrap();
}

async fn refused(path: &Path) -> String {
    let error = Sqlite::open(path, SqliteOptions::default()).await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert!(error.message().contains(&path.display().to_string()), "names the file: {error}");
    error.message().to_owned()
}

#[tokio::test]
async fn a_locked_file_is_unavailable_and_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let options =
        SqliteOptions { busy_timeout: Duration::from_millis(30), ..SqliteOptions::default() };
    let (db, store) = open(&path, options).await;
    let lease = store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease;
    let op = append(&lease.unwrap(), 1, &["x"]);
    let mut other = stranger(&path).await;
    tell(&mut other, "BEGIN IMMEDIATE").await;
    for _ in 0..2 {
        match store.append(op.clone()).await.unwrap_err() {
            StoreError::Unavailable(why) => assert!(why.contains("locked"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.head(&id("a")).await.unwrap().unwrap().version, 1, "reading goes on");
    tell(&mut other, "COMMIT").await;
    assert_eq!(store.append(op.clone()).await.unwrap(), 2);
    assert_eq!(store.append(op).await.unwrap(), 2);
    db.close().await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_unavailable_until_there_is_room() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let options = SqliteOptions { max_pages: Some(100), ..SqliteOptions::default() };
    let (db, store) = open(&path, options).await;
    let large = |len| StoredRecord { payload: Some(Bytes::from(vec![7; len])), ..record("x") };
    let hoard = NewRun { records: vec![large(200_000)], ..run("hoard") };
    store.open(hoard).await.unwrap();
    let lease = store.open(NewRun { claim: Some(by("me")), ..run("a") }).await.unwrap().lease;
    let mut op = append(&lease.unwrap(), 1, &["small"]);
    op.records.push(large(200_000));
    match store.append(op.clone()).await.unwrap_err() {
        StoreError::Unavailable(why) => assert!(why.contains("no room left"), "{why}"),
        other => panic!("{other:?}"),
    }
    let (head, records) = store.load(&id("a"), 0).await.unwrap().unwrap();
    assert_eq!((head.version, records.len()), (1, 1), "nothing is half written");
    assert!(store.delete(&id("hoard")).await.unwrap());
    assert_eq!(store.append(op.clone()).await.unwrap(), 3);
    assert_eq!(store.load(&id("a"), 1).await.unwrap().unwrap().1, op.records);
    db.close().await.unwrap();
}

#[tokio::test]
async fn what_is_no_database_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "these are my notes\n".repeat(1000)).unwrap();
    assert!(refused(&path).await.contains("no SQLite database"));
    assert!(fs::read_to_string(&path).unwrap().starts_with("these"), "and left alone");
    let inside = folder.path().join("notes.txt/store.db");
    assert!(refused(&inside).await.contains("folder"));
    assert!(refused(folder.path()).await.contains("unable to open"));
}

#[tokio::test]
async fn another_programs_database_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    tell(&mut stranger(&path).await, "CREATE TABLE theirs (x)").await;
    assert!(refused(&path).await.contains("another program"));
    let mut conn = stranger(&path).await;
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut conn)
        .await
        .unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let (db, _) = open(&path, SqliteOptions::default()).await;
    db.close().await.unwrap();
    tell(&mut stranger(&path).await, "PRAGMA user_version = 999").await;
    let message = refused(&path).await;
    assert!(message.contains("schema version 999") && message.contains("newer build"), "{message}");
}

#[tokio::test]
async fn a_corrupt_file_is_broken_and_says_so() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let (db, store) = open(&path, SqliteOptions::default()).await;
    store.open(run("a")).await.unwrap();
    db.close().await.unwrap();
    overwrite_runs(&path).await;
    let (_db, store) = open(&path, SqliteOptions::default()).await;
    for answer in [store.head(&id("a")).await.map(drop), store.open(run("b")).await.map(drop)] {
        match answer.unwrap_err() {
            StoreError::Broken(why) => {
                assert!(why.contains("corrupt") && why.contains("store.db"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn closing_finishes_what_was_sent_and_leaves_one_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deep/er/store.db");
    let (db, store) = open(&path, SqliteOptions::default()).await;
    let names: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let openings: Vec<_> = names
        .iter()
        .map(|name| {
            let store = store.clone();
            let new = run(name);
            tokio::spawn(async move { store.open(new).await })
        })
        .collect();
    let opened = join_all(openings).await;
    assert!(opened.into_iter().all(|opened| opened.unwrap().is_ok()));
    db.close().await.unwrap();
    db.close().await.unwrap();
    let left: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["store.db"], "no log is left behind");
    match store.open(run("late")).await.unwrap_err() {
        StoreError::Broken(why) => assert!(why.contains("closed"), "{why}"),
        other => panic!("{other:?}"),
    }
    let (db, store) = open(&path, SqliteOptions::default()).await;
    for name in &names {
        assert!(store.head(&id(name)).await.unwrap().is_some());
    }
    db.close().await.unwrap();
}

/// A lane of the test's own: writes numbers, but never one twice, and no 13.
struct Numbers;

impl Lane for Numbers {
    type Op = i64;
    type Answer = i64;

    async fn run(tx: &mut Tx<'_>, ops: &[i64]) -> Result<Vec<i64>, DbError> {
        for op in ops {
            let query = sqlx::query("INSERT INTO ask (run, id) VALUES (?, 'number')").bind(op);
            query.execute(tx.conn()).await?;
            if *op == 13 {
                return Err(DbError::permanent("thirteen"));
            }
        }
        Ok(ops.to_vec())
    }
}

#[tokio::test]
async fn one_bad_operation_leaves_its_neighbours_alone() {
    let folder = TempDir::new().unwrap();
    let (db, store) = open(&folder.path().join("store.db"), SqliteOptions::default()).await;
    let numbers = [1, 2, 13, 3, 2, 4].map(|n| db.write::<Numbers>(n));
    let opened = store.open(run("a"));
    let (numbers, opened) = futures_util::join!(join_all(numbers), opened);
    opened.unwrap();
    let refused: Vec<bool> = numbers.iter().map(Result::is_err).collect();
    assert_eq!(refused, [false, false, true, false, true, false]);
    let written: Vec<i64> = sqlx::query_scalar("SELECT run FROM ask ORDER BY run")
        .fetch_all(&mut *db.reader().await.unwrap())
        .await
        .unwrap();
    assert_eq!(written, [1, 2, 3, 4]);
    db.close().await.unwrap();
}

#[tokio::test]
async fn records_cost_little_more_than_their_bytes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let (db, store) = open(&path, SqliteOptions::default()).await;
    db.close().await.unwrap();
    drop(store);
    let empty = fs::metadata(&path).unwrap().len();
    let (db, store) = open(&path, SqliteOptions::default()).await;
    let record = StoredRecord { meta: vec![1; 60].into(), payload: Some(vec![2; 60].into()) };
    for n in 0..10 {
        let new = NewRun { records: vec![record.clone(); 1000], ..run(&n.to_string()) };
        store.open(new).await.unwrap();
    }
    db.close().await.unwrap();
    let per_record = (fs::metadata(&path).unwrap().len() - empty) / 10_000;
    assert!((120..150).contains(&per_record), "{per_record} bytes for 120");
}

#[tokio::test]
async fn readers_cannot_write() {
    let folder = TempDir::new().unwrap();
    let (db, _) = open(&folder.path().join("store.db"), SqliteOptions::default()).await;
    let refused = sqlx::query("DELETE FROM run").execute(&mut *db.reader().await.unwrap()).await;
    assert!(!db.failed(refused.unwrap_err()).is_transient());
    let mut conn = stranger(db.path()).await;
    let mode: String =
        sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut conn).await.unwrap();
    assert_eq!(mode, "wal");
    conn.close().await.unwrap();
    db.close().await.unwrap();
}

/// W3: while the file is gone, or another in its place, whoever reads is told so, and makes none; put
/// back, it is read again.
#[tokio::test]
async fn a_file_that_is_not_the_opened_one_is_not_read() {
    for connected in [false, true] {
        let folder = TempDir::new().unwrap();
        let (path, aside) = (folder.path().join("store.db"), folder.path().join("aside.db"));
        let (db, store) = open(&path, SqliteOptions::default()).await;
        let read = async || store.list(&RunFilter::default()).await;
        if connected {
            assert_eq!(read().await.unwrap(), []);
        }
        fs::rename(&path, &aside).unwrap();
        let gone = read().await.unwrap_err().to_string();
        assert!(gone.contains("is gone (it was deleted)"), "{gone}");
        assert!(!path.exists());
        fs::copy(&aside, &path).unwrap();
        for _ in 0..2 * SqliteOptions::default().readers {
            let replaced = read().await.unwrap_err().to_string();
            assert!(replaced.contains("(another file was put in its place)"), "{replaced}");
        }
        fs::rename(&aside, &path).unwrap();
        assert_eq!(read().await.unwrap(), []);
        // Nobody took its journal: what is written now is seen by others.
        store.open(run("later")).await.unwrap();
        let mut other = stranger(&path).await;
        let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM run");
        assert_eq!(count.fetch_one(&mut other).await.unwrap(), 1);
        other.close().await.unwrap();
        db.close().await.unwrap();
    }
}

/// N6: leases and waits that were written before a clock was set back end when they were meant to.
#[tokio::test]
async fn a_clock_that_is_set_back_costs_no_more_than_the_lease() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("store.db");
    let ahead = Clock::system().now().plus(Duration::from_secs(5 * 3600));
    let options = SqliteOptions { clock: Clock::manual(ahead).0, ..SqliteOptions::default() };
    let (db, store) = open(&path, options).await;
    let claim = || Claim {
        run: id("a"),
        by: ClaimAs { owner: "gone".into(), ttl: Duration::from_secs(3) },
        early: false,
        reopen: false,
        dead: None,
    };
    store.open(run("a")).await.unwrap();
    assert!(matches!(store.claim(claim()).await.unwrap(), Claimed::Yours(..)));
    db.close().await.unwrap();
    let (db, store) = open(&path, SqliteOptions::default()).await;
    assert!(matches!(store.claim(claim()).await.unwrap(), Claimed::LeaseHeld(_)));
    crate::support::eventually("the lease ends", async || {
        matches!(store.claim(claim()).await.unwrap(), Claimed::Yours(..)).then_some(())
    })
    .await;
    db.close().await.unwrap();
}
