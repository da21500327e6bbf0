//! Listings stay as fast as their pages, however many runs there are: the server's own account of how
//! it found the rows.

use std::time::Duration;

use verdict::{
    base::Timestamp,
    db::PostgresOptions,
    graph::store::{LetterFilter, LetterState, RunFilter, RunId, RunStatus, Store, WaitingFor},
};

use super::open;
use crate::{store::harness::*, support::Database};

const RUNS: u32 = 200_000;

/// One run in two thousand is unfinished, three workflows, a subject for every four runs.
fn fill() -> String {
    format!(
        "INSERT INTO verdict.run (id, workflow, workflow_version, format, key, subject, place, status, \
         version, epoch, owner, expires, not_before, waiting, created_at, updated_at) \
         SELECT md5(n::text), \
         convert_to((ARRAY['review', 'search', 'writing'])[1 + n % 3], 'UTF8'), 1, 1, \
         n::text::bytea, (n / 4)::text::bytea, n % 4, \
         CASE WHEN n % 2000 = 0 THEN n / 2000 % 3 ELSE 3 + n % 4 END, 2, 1, \
         CASE WHEN n % 6000 = 2000 THEN 'w'::bytea END, CASE WHEN n % 6000 = 2000 THEN 1000 + n END, \
         CASE WHEN n % 6000 = 0 THEN 1000 + n END, \
         CASE WHEN n % 6000 = 4000 THEN n / 6000 % 2 END, 1000 * n, 1000 * n \
         FROM generate_series(1, {RUNS}) AS n; \
         INSERT INTO verdict.letter (id, reason, state, confirmed, run, error, executions, first_at, \
         last_at, headers, payload) SELECT n::text::bytea, 3, (n % 50 <> 0)::int * 2, n % 50 <> 1, \
         md5(n::text), '', 1, n, n, '{{}}'::bytea, '' \
         FROM generate_series(1, 50000) AS n; \
         ANALYZE"
    )
}

/// From now on the server writes down how it did each statement.
async fn account(database: &Database) {
    let name = database.name();
    database
        .tell(&format!(
            "ALTER DATABASE \"{name}\" SET session_preload_libraries = 'auto_explain'; \
             ALTER DATABASE \"{name}\" SET auto_explain.log_min_duration = 0; \
             ALTER DATABASE \"{name}\" SET auto_explain.log_analyze = on; \
             ALTER DATABASE \"{name}\" SET auto_explain.log_buffers = on"
        ))
        .await;
}

/// How many pages a plan looked at, all told; none when it had no table to look at.
fn pages(plan: &str) -> usize {
    let mut lines = plan.lines().filter_map(|line| line.trim().strip_prefix("Buffers: shared "));
    let counts = lines.next().unwrap_or_default().split([' ', '=', ',']);
    counts.filter_map(|word| word.parse::<usize>().ok()).sum()
}

struct Accounts<'d> {
    database: &'d Database,
    read: usize,
}

impl Accounts<'_> {
    /// Looks at the plans since the last look: some, and none of them reads a table or an
    /// index whole.
    fn check(&mut self, what: &str, sorts: bool) {
        let log = self.database.log();
        let new = &log[self.read..];
        self.read = log.len();
        let plans: Vec<&str> = new.split("LOG:  duration:").skip(1).collect();
        assert!(plans.iter().any(|plan| plan.contains("Index")), "{what}: no account\n{new}");
        for plan in plans {
            assert!(!plan.contains("Seq Scan"), "{what}: {plan}");
            assert!(sorts || !plan.contains("Sort Method"), "{what}: {plan}");
            assert!(pages(plan) < 1_000, "{what}: {plan}");
        }
    }
}

fn page(filter: RunFilter) -> RunFilter {
    RunFilter { limit: 50, ..filter }
}

/// E8: at 200,000 runs.
#[tokio::test]
async fn private_listings_read_no_more_than_they_show() {
    let database = Database::private().await;
    let (db, _) = open(&database.url(), PostgresOptions::default()).await;
    db.close().await;
    database.tell(&fill()).await;
    account(&database).await;
    for prepared_statements in [true, false] {
        let options = PostgresOptions { prepared_statements, ..PostgresOptions::default() };
        let (db, store) = open(&database.url(), options).await;
        let mut accounts = Accounts { database: &database, read: database.log().len() };
        let unfinished = vec![RunStatus::Queued, RunStatus::Running, RunStatus::Parked];
        let any = RunFilter::default;
        // A statement's plan is settled by its sixth use.
        for round in 0..7 {
            let after = Some((Timestamp(100_000_000 - round), RunId::of("flow", "x")));
            let workflow = Some("search".to_owned());
            let filters = [
                ("all", false, any()),
                ("a page", false, RunFilter { after: after.clone(), ..any() }),
                ("unfinished", false, RunFilter { statuses: unfinished.clone(), ..any() }),
                ("failed", false, RunFilter { statuses: vec![RunStatus::Failed], ..any() }),
                ("workflow", false, RunFilter { workflow: workflow.clone(), ..any() }),
                (
                    "all narrowed",
                    false,
                    RunFilter { after, workflow, statuses: unfinished.clone(), ..any() },
                ),
                // The few that wait are read from their own index, and may be sorted.
                ("person", true, RunFilter { waiting: vec![WaitingFor::Person], ..any() }),
                (
                    "time or limit",
                    true,
                    RunFilter { waiting: vec![WaitingFor::Time, WaitingFor::Limit], ..any() },
                ),
                ("subject", true, RunFilter { subject: Some("777".into()), ..any() }),
                ("prefix", true, RunFilter { id_prefix: Some("abc".into()), ..any() }),
            ];
            for (what, sorts, filter) in filters {
                let heads = store.list(&page(filter)).await.unwrap();
                assert!(!heads.is_empty(), "{what}");
                accounts.check(what, sorts);
            }
            store.due(Duration::ZERO, 50).await.unwrap();
            accounts.check("due", true);
            let open_ones =
                LetterFilter { state: Some(LetterState::Open), limit: 50, ..Default::default() };
            let unconfirmed =
                LetterFilter { confirmed: Some(false), limit: 50, ..Default::default() };
            for filter in [LetterFilter { limit: 50, ..Default::default() }, open_ones, unconfirmed]
            {
                assert_eq!(store.letters(&filter).await.unwrap().len(), 50);
                accounts.check("letters", false);
            }
            let name = format!("{prepared_statements} {round}");
            let new =
                verdict::graph::store::NewRun { claim: Some(by("me")), ..about(&name, "888", 9) };
            let opened = store.open(new).await.unwrap();
            assert!(opened.created);
            accounts.check("open", true);
            let lease = opened.lease.unwrap();
            store.append(append(&lease, 1, &["x"])).await.unwrap();
            store.renew(&lease, TTL).await.unwrap();
            accounts.check("append, renew", true);
            store.load(&id(&name), 0).await.unwrap().unwrap();
            accounts.check("load", true);
            assert_eq!(store.expire(Duration::ZERO, 20).await.unwrap(), 20);
            accounts.check("expire", true);
        }
        db.close().await;
    }
    database.finish().await;
}
