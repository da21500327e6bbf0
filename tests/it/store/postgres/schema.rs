//! The schema: made once, by whoever comes first; kept from those it is not for.

use std::process::{Child, Command, Stdio};

use sqlx::Row as _;
use verdict::{
    base::key_value::KeyValueStore as _,
    checkpoint::PostgresStore,
    db::{Postgres, PostgresOptions, postgres::VERSION},
    graph::store::{EventStore, ExternalEvent, NewRun, RunFilter, RunStatus, Store, WaitingFor},
};

use super::{open, refused};
use crate::{
    store::harness::*,
    support::{Database, Machine},
};

const URL: &str = "VERDICT_TEST_DATABASE";

/// One of several processes: opens the database, and says whether it made the schema.
#[tokio::test]
async fn part_of_the_race() {
    let Ok(url) = std::env::var(URL) else { return };
    let (db, store) = open(&url, PostgresOptions::default()).await;
    store.open(run(&std::process::id().to_string())).await.unwrap();
    println!("migrated: {:?}", db.migrated_from());
    db.close().await;
}

#[tokio::test]
async fn processes_that_open_a_new_database_at_once_make_one_schema() {
    const PROCESSES: usize = 6;
    let database = Database::shared().await;
    let url = database.url();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "store::postgres::schema::part_of_the_race", "--nocapture"]);
        command.env(URL, &url).stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
    let mut made = 0;
    for child in children {
        let wait = tokio::task::spawn_blocking(|| child.wait_with_output());
        let ended = wait.await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{said}");
        made += usize::from(said.contains("migrated: Some(0)"));
    }
    assert_eq!(made, 1, "one of them made it");
    let versions = database.ask("SELECT version FROM verdict.migration").await;
    assert_eq!(versions.len(), usize::try_from(VERSION).unwrap());
    let runs = database.ask("SELECT count(*) FROM verdict.run").await;
    assert_eq!(runs[0].get::<i64, _>(0), i64::try_from(PROCESSES).unwrap());
    database.finish().await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let database = Database::shared().await;
    let (db, _) = open(&database.url(), PostgresOptions::default()).await;
    db.close().await;
    database.tell("INSERT INTO verdict.migration (version) VALUES (999)").await;
    let error = refused(&database.url(), PostgresOptions::default()).await;
    let said = error.message();
    assert!(!error.is_transient());
    assert!(said.contains("schema version 999") && said.contains("newer build"), "{said}");
    assert!(said.contains(database.name()), "{said}");
    database.finish().await;
}

#[tokio::test]
async fn another_programs_schema_is_refused_and_left_alone() {
    let database = Database::shared().await;
    database.tell("CREATE SCHEMA verdict; CREATE TABLE verdict.theirs (x int)").await;
    let error = refused(&database.url(), PostgresOptions::default()).await;
    assert!(error.message().contains("another program"), "{error}");
    let tables = "SELECT 1 FROM pg_tables WHERE schemaname = 'verdict'";
    assert_eq!(database.ask(tables).await.len(), 1);
    database.finish().await;
}

/// `store.postgres.migrate = false`: nothing is made, and `verdict migrate` makes it. Then a role
/// suffices that may use the tables and nothing else.
#[tokio::test]
async fn a_role_that_may_not_change_the_schema_needs_none_of_that() {
    let database = Database::shared().await;
    let options = || PostgresOptions { migrate: false, ..PostgresOptions::default() };
    let error = refused(&database.url(), options()).await;
    assert!(error.message().contains("verdict migrate"), "{error}");
    assert_eq!(database.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'verdict'").await.len(), 0);

    let machine = Machine::new()
        .set("store.url", &database.url())
        .set("store.postgres.password", "of no use to a server that trusts")
        .set("store.postgres.migrate", "false");
    let first = machine.run(&["migrate"]);
    assert!(first.stdout.contains(&format!("made schema version {VERSION}")), "{first:?}");
    let second = machine.run(&["migrate"]);
    assert!(second.stdout.contains("nothing to do"), "{second:?}");
    let doctor = machine.run(&["doctor"]);
    assert!(doctor.stdout.contains("answers; 0 unfinished runs"), "{doctor:?}");

    let role = format!("\"role {}\"", database.name());
    database
        .tell(&format!(
            "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA verdict TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA verdict TO {role}"
        ))
        .await;
    let url = database.url().replacen("postgres@", &format!("role%20{}@", database.name()), 1);
    let db = Postgres::open(&url, options()).await.unwrap();
    let store = PostgresStore::new(db.clone());
    let lease = store.open(NewRun { claim: Some(by("it")), ..about("a", "s", 1) });
    let lease = lease.await.unwrap().lease.unwrap();
    store.append(append(&lease, 1, &["one", "two"])).await.unwrap();
    assert_eq!(store.head(&id("a")).await.unwrap().unwrap().status, RunStatus::Running);
    assert!(store.delete(&id("a")).await.unwrap());
    db.close().await;
    // One that may read only is told so before there is work.
    let revoke =
        format!("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA verdict FROM {role}");
    let doctor = |machine: &Machine| machine.run(&["doctor"]);
    let machine = machine.set("store.url", &url);
    assert_eq!(doctor(&machine).code, Some(0));
    database.tell(&revoke).await;
    let refused = doctor(&machine);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stdout.contains("FAIL store") && refused.stdout.contains("42501"),
        "{refused:?}"
    );
    database.tell(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    database.finish().await;
}

/// E20, E24: what version 1 left is there after the change, and a role that could work before needs no
/// new rights.
#[tokio::test]
async fn a_schema_of_version_1_is_brought_up_to_date() {
    let database = Database::shared().await;
    database
        .tell(include_str!("../../../../crates/checkpoint/src/db/postgres/schema/1_store.sql"))
        .await;
    let role = format!("\"older role {}\"", database.name());
    database
        .tell(&format!(
            "INSERT INTO verdict.migration (version) VALUES (1); \
             INSERT INTO verdict.run (id, workflow, workflow_version, format, key, place, status, \
             version, epoch, not_before, created_at, updated_at) SELECT md5(n::text), 'flow', 1, 1, \
             n::text::bytea, 0, 1 + n, 0, 1, CASE WHEN n = 2 THEN 7 END, n, n \
             FROM generate_series(0, 2) AS n; \
             UPDATE verdict.run SET status = 2 WHERE status = 3; \
             CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA verdict TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA verdict TO {role}"
        ))
        .await;
    let (db, _) = open(&database.url(), PostgresOptions::default()).await;
    assert_eq!(db.migrated_from(), Some(1));
    db.close().await;

    let user = format!("older%20role%20{}@", database.name());
    let options = PostgresOptions { migrate: false, ..PostgresOptions::default() };
    let url = database.url().replacen("postgres@", &user, 1);
    let db = Postgres::open(&url, options).await.unwrap();
    let store = PostgresStore::new(db.clone());
    let keys = async |waiting| {
        let heads = store.list(&RunFilter { waiting, ..RunFilter::default() }).await.unwrap();
        heads.into_iter().map(|head| head.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(vec![]).await, ["2", "1", "0"]);
    assert_eq!(keys(vec![WaitingFor::Person]).await, ["1"]);
    assert_eq!(keys(vec![WaitingFor::Time]).await, ["2"]);
    store.put("s", "k", "v".into(), TTL).await.unwrap();
    assert_eq!(store.get("s", "k").await.unwrap(), Some("v".into()));
    assert_eq!(store.sweep().await.unwrap(), 0);
    let event = ExternalEvent { key: "k".into(), id: "1".into(), payload: "1".into() };
    store.put_event(event.clone(), TTL).await.unwrap();
    assert_eq!(store.find_event("k", &[]).await.unwrap(), Some(event));
    assert_eq!(store.event_waits("k").await.unwrap(), []);
    assert_eq!(store.sweep_events().await.unwrap(), 0);
    db.close().await;
    database.tell(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
    database.finish().await;
}

#[tokio::test]
async fn sqlite_migrates_too_and_memory_has_nothing_to() {
    let machine = Machine::new();
    let first = machine.run(&["migrate"]);
    assert!(first.stdout.contains("made schema version"), "{first:?}");
    let second = machine.run(&["migrate"]);
    assert!(second.stdout.contains("nothing to do"), "{second:?}");
    let memory = machine.set("store.url", "memory:").run(&["migrate"]);
    assert!(memory.stdout.contains("has no schema"), "{memory:?}");
}
