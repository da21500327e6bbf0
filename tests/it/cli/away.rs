//! `verdict runs watch` while the store goes away and comes back.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, process::Command, sync::Arc};

use verdict::{
    base::Timestamp,
    graph::{
        Body, Meta, Record,
        store::{Append, HeadChange, Hold, Lease, NewRun, RunStatus, Store, StoredRecord},
    },
};

use super::{
    site::{Place, Site},
    watching::{ended, printed},
};
use crate::{
    store::harness::{append, by, change, run},
    support::{Machine, Process, Proxy, eventually},
};

/// What watching says once when the store does not answer.
const AWAY: &str = "the store does not answer, asked again";

/// The numbers of the records that were printed.
async fn numbers(watch: &mut Process) -> Vec<u64> {
    printed(watch).await.iter().map(|row| row["seq"].as_u64().unwrap()).collect()
}

/// A run that the test itself works on.
struct Author {
    store: Arc<dyn Store>,
    lease: Lease,
    written: u64,
}

fn record(number: u64) -> StoredRecord {
    let meta = Meta::Letter { id: number.to_string() };
    Record::<()>::new(Timestamp(0), meta, Body::None).encode(false).unwrap()
}

impl Author {
    async fn begin(site: &Site) -> Self {
        let new = NewRun { records: vec![record(1)], claim: Some(by("author")), ..run("watched") };
        let lease = site.store.open(new).await.unwrap().lease.unwrap();
        Self { store: site.store.clone(), lease, written: 1 }
    }

    /// So many appends of one record each.
    async fn write(&mut self, count: u64) {
        for _ in 0..count {
            self.append(RunStatus::Running, Hold::Keep(by("author").ttl)).await;
        }
    }

    async fn append(&mut self, status: RunStatus, hold: Hold) {
        let records = vec![record(self.written + 1)];
        let head = HeadChange { status, ..change() };
        let op = Append { records, head, hold, ..append(&self.lease, self.written, &[]) };
        self.written = self.store.append(op).await.unwrap();
    }
}

/// While another process goes on, the watching one loses its way to the store again and again: it
/// prints each record once and in order, and its code is the outcome's.
async fn a_way_that_breaks(site: &Site, machine: &Machine, proxy: &mut Proxy, told: bool) {
    let mut author = Author::begin(site).await;
    let id = author.lease.run.to_string();
    let mut watch = machine.start(&["runs", "watch", &id, "--format", "json"]);
    watch.says("\"seq\":1,").await;
    for round in 0..6 {
        author.write(3).await;
        let standing = told && round % 2 == 0;
        if standing {
            proxy.freeze()
        } else {
            proxy.cut().await
        }
        author.write(3).await;
        if told {
            watch.says(AWAY).await;
        }
        if standing {
            proxy.thaw()
        } else {
            proxy.mend()
        }
        author.write(1).await;
        watch.says(&format!("\"seq\":{},", author.written)).await;
        assert!(!watch.has_ended());
    }
    let (status, code) = match told {
        true => (RunStatus::Completed, Some(0)),
        false => (RunStatus::Failed, Some(3)),
    };
    proxy.cut().await;
    author.append(status, Hold::Release).await;
    proxy.mend();
    assert_eq!(ended(&mut watch).await.0, code);
    assert_eq!(numbers(&mut watch).await, Vec::from_iter(1..=author.written));
    let said = watch.said().await;
    assert_eq!(said.lines().any(|line| line.starts_with(AWAY)), told, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_whose_connections_break_hides_no_record() {
    let site = Site::postgres().await;
    let Place::Postgres(database, _) = &site.place else { unreachable!() };
    let mut proxy = Proxy::new(database.address());
    let machine =
        impatient(Machine::new()).set("store.url", &database.url_through(proxy.address()));
    a_way_that_breaks(&site, &machine, &mut proxy, true).await;
    drop(proxy);
    site.done().await;
}

/// A request that is tried again for long enough never shows that it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn firestore_whose_connections_break_hides_no_record() {
    let site = Site::firestore().await;
    let Place::Firestore(server) = &site.place else { unreachable!() };
    let mut proxy = Proxy::new(server.address());
    let machine = Machine::new()
        .set("store.url", &format!("firestore://{}/(default)", server.project()))
        .with_variable("FIRESTORE_EMULATOR_HOST", &proxy.address().to_string());
    a_way_that_breaks(&site, &machine, &mut proxy, false).await;
    site.done().await;
}

fn impatient(machine: Machine) -> Machine {
    machine
        .set("store.postgres.acquire_timeout", "1s")
        .set("store.postgres.statement_timeout", "1s")
}

/// EventEnvelope to stop, it stops, whatever the store does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watches_a_store_that_stands_still_may_go() {
    let site = Site::postgres().await;
    let Place::Postgres(database, _) = &site.place else { unreachable!() };
    let proxy = Proxy::new(database.address());
    let machine = Machine::new()
        .set("store.url", &database.url_through(proxy.address()))
        .set("store.postgres.acquire_timeout", "1h")
        .set("store.postgres.statement_timeout", "1h");
    let author = Author::begin(&site).await;
    let id = author.lease.run.to_string();
    let mut watch = machine.start(&["runs", "watch", &id]);
    watch.says("letter").await;
    proxy.freeze();
    // A look may be under way that nobody will answer, or a wait for the next one.
    watch.terminate();
    let told = format!("verdict: no longer watched: run {id} has not ended");
    assert_eq!(ended(&mut watch).await, (Some(3), told));
    drop(proxy);
    site.done().await;
}

/// A git that stands still until it is let go.
struct Gate(std::path::PathBuf);

impl Gate {
    fn before(machine: &Machine) -> Self {
        let folder = machine.folder().join("gate");
        fs::create_dir(&folder).unwrap();
        let git = "#!/bin/bash\n\
            here=${0%/*}\n\
            if [ -p \"$here/pipe\" ]; then touch \"$here/reached\"; read -r _ <\"$here/pipe\"; fi\n\
            PATH=${PATH#*:} exec git \"$@\"\n";
        fs::write(folder.join("git"), git).unwrap();
        fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
        Self(folder)
    }

    fn path(&self) -> String {
        format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap())
    }

    async fn reached(&self) {
        let there = async || self.0.join("reached").exists().then_some(());
        eventually("git is called", there).await;
    }

    /// Whoever stands there goes on, as long as what this answers is kept; nobody comes to stand any more.
    fn open(&self) -> fs::File {
        let pipe = self.0.join("pipe");
        let mut file = fs::File::options().read(true).write(true).open(&pipe).unwrap();
        file.write_all(&[b'\n'; 64]).unwrap();
        fs::remove_file(pipe).unwrap();
        file
    }
}

/// E13, E15: the store is stopped and started while a server is in the middle of the run: the server
/// ends it, and whoever watches from another process sees each record once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_server_that_is_stopped_hides_no_record() {
    let site = Site::private_postgres().await;
    let mut site = Site { machine: impatient(site.machine), ..site };
    let (_repo, id) = site.reviewed();
    let done = site.runs(&["fork", &id, "--from", "1"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let run = done.stdout.trim().to_owned();
    let gate = Gate::before(&site.machine);
    site.machine = site.machine.with_variable("PATH", &gate.path());

    let mut watch = site.start(&["watch", &run, "--format", "json"]);
    watch.says("forked").await;
    let mut server = site.machine.serve().await;
    gate.reached().await;
    let Place::Postgres(database, _) = &mut site.place else { unreachable!() };
    database.stop().await;
    watch.says(AWAY).await;
    let before = numbers(&mut watch).await;
    assert!(before.len() > 1, "{before:?}");
    database.start().await;
    let open = gate.open();
    assert_eq!(ended(&mut watch).await.0, Some(0));
    let history = site.runs(&["history", &run, "--format", "json"]).json();
    let printed = printed(&mut watch).await;
    assert!(printed.len() > before.len(), "{printed:?}");
    assert_eq!(serde_json::Value::from(printed), history);
    let said = watch.said().await;
    assert_eq!(said.lines().filter(|line| line.starts_with(AWAY)).count(), 1, "{said}");
    server.terminate();
    server.ends().await;
    drop(open);
    site.done().await;
}
