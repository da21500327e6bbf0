//! Several processes on one file. The other processes are this test binary, asked by a variable in
//! their environment to run one of the parts below.

use std::{
    collections::{BTreeMap, HashSet},
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;
use verdict::{
    base::{Clock, key_value::KeyValueStore},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::store::{
        Append, Claimed, HeadChange, Hold, Lease, NewRun, RunStatus, Store, StoredRecord,
    },
};

use super::harness::*;

const FILE: &str = "VERDICT_TEST_FILE";
const LABEL: &str = "VERDICT_TEST_LABEL";
const RUNS: usize = 40;
const TURNS: usize = 25;

fn start(part: &str, file: &Path, label: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("store::processes::{part}"), "--nocapture"])
        .env(FILE, file)
        .env(LABEL, label.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The file and label this process was started with; none when it plays no part.
async fn my_part() -> Option<(Sqlite, SqliteStore, String)> {
    let file = std::env::var_os(FILE)?;
    let db = Sqlite::open(Path::new(&file), SqliteOptions::default()).await.unwrap();
    Some((db.clone(), SqliteStore::new(db), std::env::var(LABEL).unwrap()))
}

async fn end(store: &SqliteStore, lease: &Lease, version: u64, records: &[&str]) {
    let op = Append {
        head: HeadChange { status: RunStatus::Queued, ..change() },
        hold: Hold::Release,
        ..append(lease, version, records)
    };
    store.append(op).await.unwrap();
}

/// Works through runs that all processes open, and takes turns on one that all of them write.
#[tokio::test]
async fn part_of_many() {
    let Some((db, store, label)) = my_part().await else { return };
    for n in 0..RUNS {
        let new = NewRun { claim: Some(by(&label)), ..run(&n.to_string()) };
        let Some(lease) = store.open(new).await.unwrap().lease else { continue };
        let version = store.append(append(&lease, 1, &[&label[..]; 3])).await.unwrap();
        end(&store, &lease, version, &[&label]).await;
        let key = n.to_string();
        let there = store.put_if_absent("runs", &key, "x".into(), TTL).await.unwrap();
        assert_eq!(there, None);
    }
    let mut turns = 0;
    while turns < TURNS {
        if let Claimed::Yours(lease, head) = Store::claim(&store, claim("shared")).await.unwrap() {
            end(&store, &lease, head.version, &[&label]).await;
            turns += 1;
        }
    }
    db.close().await.unwrap();
}

fn labels(records: &[StoredRecord]) -> BTreeMap<&[u8], usize> {
    let mut labels = BTreeMap::new();
    for record in records {
        *labels.entry(&record.meta[..]).or_default() += 1;
    }
    labels
}

#[tokio::test]
async fn several_processes_share_a_file_and_lose_nothing() {
    const PROCESSES: usize = 4;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("store.db");
    // The file is not there yet: they make it, all at once.
    let children: Vec<Child> = (0..PROCESSES).map(|n| start("part_of_many", &file, n)).collect();
    let store = SqliteStore::new(open_db(folder.path(), Clock::system()).await);
    store.open(run("shared")).await.unwrap();
    for child in children {
        let ended =
            tokio::task::spawn_blocking(|| child.wait_with_output()).await.unwrap().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    }
    for n in 0..RUNS {
        let (head, records) = store.load(&id(&n.to_string()), 0).await.unwrap().unwrap();
        assert_eq!((head.version, head.epoch, records.len()), (5, 1, 5));
        let writers: HashSet<_> = records[1..].iter().map(|record| &record.meta).collect();
        assert_eq!(writers.len(), 1, "one process wrote all of it");
    }
    let (head, records) = store.load(&id("shared"), 0).await.unwrap().unwrap();
    assert_eq!(head.epoch, (PROCESSES * TURNS) as u64);
    let turns = labels(&records[1..]);
    assert_eq!(turns.len(), PROCESSES);
    assert!(turns.values().all(|turns| *turns == TURNS), "{turns:?}");
}

const BATCH: usize = 7;

/// Appends for ever, and says so after each.
#[tokio::test]
async fn part_of_the_killed() {
    let Some((_db, store, label)) = my_part().await else { return };
    let new = NewRun { claim: Some(by(&label)), ..run("a") };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    let mut version = 1;
    loop {
        version = store.append(append(&lease, version, &[&label[..]; BATCH])).await.unwrap();
        println!("version {version}");
    }
}

#[tokio::test]
async fn a_killed_process_leaves_whole_batches_and_all_it_was_answered() {
    for lines in [1, 2, 17, 60] {
        let folder = TempDir::new().unwrap();
        let mut child = start("part_of_the_killed", &folder.path().join("store.db"), 0);
        let mut said = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.strip_prefix("version ")?.parse::<u64>().ok());
        let known = said.nth(lines - 1).unwrap();
        child.kill().unwrap();
        // It may have been answered, and have said, more than was read before.
        let known = said.last().unwrap_or(known);
        child.wait().unwrap();
        let db = open_db(folder.path(), Clock::system()).await;
        let store = SqliteStore::new(db.clone());
        let (head, records) = store.load(&id("a"), 0).await.unwrap().unwrap();
        assert!(head.version >= known, "{} of {known}", head.version);
        assert_eq!(records.len() as u64, head.version);
        assert_eq!(records.len() % BATCH, 1);
        assert!(matches!(Store::claim(&store, claim("a")).await.unwrap(), Claimed::LeaseHeld(_)));
        db.close().await.unwrap();
    }
}
