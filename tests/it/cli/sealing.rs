//! `store.encryption.keys`, on every store.

use std::sync::Arc;

use verdict::{
    checkpoint::{KeyRing, Sealed},
    graph::store::{
        Append, ExternalEvent, HeadChange, Hold, Letter, NewRun, Question, Resumed, RunFilter,
        RunStatus, Store, StoredRecord, Waiting, WaitingFor,
    },
};

use super::{on_every_store, site::Site};
use crate::store::harness::{SECOND, append, by, change, id, letter, run};

const OLD: &str = "old:00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
const NEW: &str = "new:1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f1f";
const FALSE: &str = "old:2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e";

fn behind(store: &Arc<dyn Store>, keys: &str) -> Sealed {
    Sealed::new(store.clone(), KeyRing::parse(keys).unwrap())
}

const MARKER: &str = "marker-c0ffee";

fn marked() -> StoredRecord {
    StoredRecord {
        meta: MARKER.into(),
        payload: Some([MARKER.as_bytes(), &[b'x'; 9]].concat().into()),
    }
}

/// Every way something comes into a store, each with the marker in it.
async fn fill(store: &dyn Store) {
    let asks = vec![("copied".to_owned(), Some(MARKER.into())), ("open".to_owned(), None)];
    let large = [MARKER.as_bytes(), &vec![b'y'; 3 << 20]].concat();
    let large = StoredRecord { meta: "large".into(), payload: Some(large.into()) };
    let new = NewRun { records: vec![marked(), large], asks, claim: Some(by("h")), ..run("a") };
    let lease = store.open(new).await.unwrap().lease.unwrap();
    let op = Append {
        records: vec![marked()],
        head: HeadChange { error: Some(MARKER.into()), status: RunStatus::Failed, ..change() },
        letter: Some(Box::new(marked_letter("with the append"))),
        ..append(&lease, 2, &[])
    };
    store.append(op).await.unwrap();
    let op = Append {
        head: HeadChange { error: Some(MARKER.into()), status: RunStatus::Parked, ..change() },
        hold: Hold::Release,
        ..append(&lease, 3, &[])
    };
    store.append(op).await.unwrap();
    let answered = store.resume(&id("a"), "open", MARKER.into(), marked()).await.unwrap();
    assert_eq!(answered, Resumed::Accepted(4));
    store.cancel(&id("a"), marked()).await.unwrap();
    store.put_letter(marked_letter("alone")).await.unwrap();
    let event = ExternalEvent { key: "k".into(), id: "1".into(), payload: MARKER.into() };
    store.put_event(event, SECOND * 600).await.unwrap();
    let question = Question { id: "1.0.ask".into(), title: MARKER.into() };
    for (name, waiting) in [
        ("asks", Waiting::Person { interrupts: vec![question], more: 0 }),
        ("parks", Waiting::Time { reason: Some(MARKER.into()) }),
    ] {
        let lease = store.open(NewRun { claim: Some(by("h")), ..run(name) }).await.unwrap().lease;
        let head = HeadChange { status: RunStatus::Parked, waiting: Some(waiting), ..change() };
        let op = Append { head, hold: Hold::Release, ..append(&lease.unwrap(), 1, &[]) };
        store.append(op).await.unwrap();
    }
}

fn marked_letter(id: &str) -> Letter {
    Letter { error: format!("{MARKER} broke"), payload: MARKER.into(), ..letter(id) }
}

/// All of it comes back as it went in.
async fn check(store: &dyn Store) {
    let (head, records) = store.load(&id("a"), 0).await.unwrap().unwrap();
    assert_eq!((head.error.as_deref(), head.version), (Some(MARKER), 5));
    assert_eq!(records.iter().filter(|record| **record == marked()).count(), 4);
    assert_eq!(records[1].payload.as_ref().unwrap().len(), MARKER.len() + (3 << 20));
    assert_eq!(store.load(&id("a"), 3).await.unwrap().unwrap().1, [marked(), marked()]);
    for interrupt in ["copied", "open"] {
        let answered = store.resume(&id("a"), interrupt, "late".into(), marked()).await.unwrap();
        assert_eq!(answered, Resumed::Already(MARKER.into()), "{interrupt}");
    }
    for name in ["alone", "with the append"] {
        let letter = store.letter(name).await.unwrap().unwrap();
        assert_eq!(
            (&letter.payload[..], &*letter.error),
            (MARKER.as_bytes(), "marker-c0ffee broke")
        );
    }
    let event = store.find_event("k", &[]).await.unwrap().unwrap();
    assert_eq!(&event.payload[..], MARKER.as_bytes());
    for kind in [WaitingFor::Person, WaitingFor::Time] {
        let filter = RunFilter { waiting: vec![kind], ..RunFilter::default() };
        let waiting = store.list(&filter).await.unwrap()[0].waiting.clone().unwrap();
        assert!(waiting.to_string().ends_with(MARKER), "{waiting}");
    }
    let subject = RunFilter { id_prefix: Some(id("a").to_string()), ..RunFilter::default() };
    let heads = store.list(&subject).await.unwrap();
    assert_eq!(heads[0].error.as_deref(), Some(MARKER));
}

async fn shows_the_marker(site: &Site) -> bool {
    let raw = site.raw().await;
    assert!(raw.len() > 1000 && raw.windows(4).any(|bytes| bytes == b"flow"), "{}", raw.len());
    raw.windows(MARKER.len()).any(|bytes| bytes == MARKER.as_bytes())
}

/// What is sealed cannot be found in the database's own bytes, whatever way it came in.
async fn nothing_sealed_can_be_found_in_the_database(site: &Site) {
    let sealed = behind(&site.store, OLD);
    fill(&sealed).await;
    check(&sealed).await;
    assert!(!shows_the_marker(site).await);
    // The same without keys: what is looked for can be found.
    for name in ["a", "asks", "parks"] {
        site.store.delete(&id(name)).await.unwrap();
    }
    for name in ["alone", "with the append"] {
        site.store
            .settle_letter(name, verdict::graph::store::LetterState::Replayed, None)
            .await
            .unwrap();
    }
    fill(&Sealed::new(site.store.clone(), KeyRing::default())).await;
    assert!(shows_the_marker(site).await);
}

/// What was stored before there was a key, or under one that is still listed, reads on; what is
/// written is sealed with the first.
async fn keys_come_and_go(site: &Site) {
    fill(&*site.store).await;
    let first = behind(&site.store, OLD);
    check(&first).await;
    for name in ["a", "asks", "parks"] {
        site.store.delete(&id(name)).await.unwrap();
    }
    fill(&first).await;
    let both = behind(&site.store, &format!("{NEW}\n{OLD}\n"));
    check(&both).await;
    both.open(NewRun { records: vec![marked()], ..run("b") }).await.unwrap();
    let (_, records) = behind(&site.store, NEW).load(&id("b"), 0).await.unwrap().unwrap();
    assert_eq!(records, [marked()]);
    let error = first.load(&id("b"), 0).await.unwrap_err().to_string();
    assert!(error.contains("key `new`"), "{error}");
}

/// Through the binary: reviews before a key, under it, and under the next; a key that is missing or
/// another one is said with the run, the key's name and what to do.
async fn the_binary_says_which_key_is_missing(site: Site) -> Site {
    let (_one, before) = site.reviewed();
    let file = site.machine.text("keys", format!("{OLD}\n"));
    let site = site.with_file("store.encryption.keys", &file);
    let (_two, under) = site.reviewed();
    let show = |site: &Site, run: &str| site.runs(&["show", run, "--format", "json"]);
    assert_eq!(show(&site, &before).json()["status"], "completed");
    assert_eq!(show(&site, &under).json()["status"], "completed");

    std::fs::write(&file, format!("{NEW}\n{OLD}\n")).unwrap();
    let (_three, rotated) = site.reviewed();
    let fork = site.runs(&["fork", &under, "--from", "2"]).stdout.trim().to_owned();
    for run in [&before, &under, &rotated, &fork] {
        assert_eq!(show(&site, run).code, Some(0), "{run}");
    }

    std::fs::write(&file, NEW).unwrap();
    assert_eq!(show(&site, &fork).code, Some(0), "a copy is written with the first key");
    let done = show(&site, &under);
    let words = format!(
        "verdict: record 1 of run {under} is sealed with key `old`, which this process has not got \
         (it has `new`): add it to `store.encryption.keys`"
    );
    assert_eq!((done.code, done.stderr.trim_end()), (Some(3), &*words));
    assert_eq!(site.listed(&[]).len(), 4, "listings need no key");

    std::fs::write(&file, FALSE).unwrap();
    let done = show(&site, &under);
    let words = "is sealed with key `old`, and the key this process has under that name is another";
    assert!(done.code == Some(3) && done.stderr.contains(words), "{done:?}");

    let site = site.with_file("store.encryption.keys", "");
    let done = site.runs(&["watch", &under]);
    assert!(done.code == Some(3) && done.stderr.contains("(it has no key)"), "{done:?}");
    assert_eq!(show(&site, &before).code, Some(0));
    site
}

/// A server without the key fails nobody's run: one with it goes on.
async fn a_server_without_the_key_leaves_the_run_to_others(site: Site) -> Site {
    let site = site.with("store.encryption.keys", OLD);
    let (_repo, id) = site.reviewed();
    let run = site.queued(&id);
    let site = site.with("store.encryption.keys", NEW);
    let mut server = site.machine.serve().await;
    server.says("is sealed with key `old`").await;
    let listed = site.listed(&["--status", "queued,running"]);
    assert_eq!(listed.len(), 1, "{listed:?}");
    server.terminate();
    assert_eq!(server.ends().await.code(), Some(0));

    let site = site.with("store.encryption.keys", &format!("{NEW},{OLD}"));
    let mut watch = site.start(&["watch", &run]);
    let mut server = site.machine.serve().await;
    assert_eq!(watch.ends().await.code(), Some(0), "{}", watch.said().await);
    let listed = site.listed(&[]);
    assert!(listed.iter().all(|row| row["status"] == "completed"), "{listed:?}");
    server.terminate();
    server.ends().await;
    site
}

on_every_store!(nothing_sealed_can_be_found_in_the_database, keys_come_and_go);

macro_rules! with_settings {
    ($($store:ident: $binary:ident $worker:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $binary() {
                the_binary_says_which_key_is_missing(Site::$store().await).await.done().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $worker() {
                a_server_without_the_key_leaves_the_run_to_others(Site::$store().await)
                    .await
                    .done()
                    .await;
            }
        )+
    };
}

with_settings!(
    sqlite: binary_on_sqlite server_on_sqlite,
    postgres: binary_on_postgres server_on_postgres,
    firestore: binary_on_firestore server_on_firestore
);
