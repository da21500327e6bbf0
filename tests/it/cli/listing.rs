//! `verdict runs list`, `show` and `history`.

use serde_json::{Value, json};
use verdict::{
    base::Timestamp,
    graph::store::{NewRun, Question, RunFilter, RunStatus, Waiting},
};

use super::{on_every_store, site::Site};
use crate::{
    crash::fixture::repository,
    store::harness::{about, run},
    support::Machine,
};

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// E15: every filter of `list`, alone and together, and pages that hold each run once.
async fn lists_by_every_filter_and_in_pages(site: &Site) {
    let tide = |name| NewRun { workflow: "tide".into(), ..run(name) };
    let completed = site.made(run("completed"), RunStatus::Completed).await;
    let failed = site.made(tide("failed"), RunStatus::Failed).await;
    let parked = site.made(about("parked", "s", 1), RunStatus::Parked).await;
    let queued = site.made(tide("queued"), RunStatus::Queued).await;
    let running = site.made(run("running"), RunStatus::Running).await;
    let all = site.listed(&[]);
    let stored = site.store.list(&RunFilter::default()).await.unwrap();
    let stored: Vec<_> = stored.iter().map(|head| head.id.as_str()).collect();
    assert_eq!(ids(&all), stored);
    assert_eq!(all.len(), 5);

    let only = |args: &[&str], mut wanted: Vec<&str>| {
        let rows = site.listed(args);
        let mut found = ids(&rows);
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{args:?}");
    };
    only(&["--status", "completed,failed"], vec![&completed, &failed]);
    only(&["--workflow", "tide"], vec![&failed, &queued]);
    only(&["--workflow", "tide", "--status", "queued"], vec![&queued]);
    only(&["--subject", "s"], vec![&parked]);
    only(&["--older-than", "1h"], vec![]);
    only(&["--newer-than", "1h", "--status", "running"], vec![&running]);
    only(&["--newer-than", "0s"], vec![]);
    only(&["--older-than", "0s", "--subject", "s"], vec![&parked]);
    only(&["--limit", "0"], vec![]);

    let (mut paged, mut after) = (Vec::new(), Vec::<String>::new());
    loop {
        let mut args = vec!["--limit", "2"];
        args.extend(after.iter().map(String::as_str));
        let page = site.listed(&args);
        let Some(last) = page.last() else { break };
        after = vec!["--after".to_owned(), last["id"].as_str().unwrap().to_owned()];
        paged.extend(page);
    }
    assert_eq!(paged, all);

    let text = site.runs(&["list", "--limit", "2"]);
    assert_eq!((text.code, text.stdout.lines().count()), (Some(0), 3));
    let next = text.stderr.trim().strip_prefix("there are more: --after ").unwrap().to_owned();
    let text = site.runs(&["list", "--limit", "3", "--after", &next]);
    assert_eq!((text.stdout.lines().count(), text.stderr.as_str()), (4, ""));
}

/// A row is one line at any width: columns shrink, then the least important ones go.
#[test]
fn tables_fit_the_terminal() {
    let (machine, repo) = (Machine::new(), repository());
    let review = machine.run(&["review", "--repo", &repo.path().display().to_string()]);
    assert_eq!(review.code, Some(0), "{review:?}");
    let binary = env!("CARGO_BIN_EXE_verdict");
    for (columns, wanted) in
        [(60, "ID WORKFLOW STATUS KEY"), (120, "ID WORKFLOW STATUS CREATED KEY")]
    {
        for command in ["runs list", "rules list", "config show"] {
            let done = machine
                .on_a_terminal(&format!("stty cols {columns}; {binary} {command}"), ("", ""));
            let wide = done.stdout.lines().map(|line| line.trim_end().chars().count()).max();
            assert!(wide.is_some_and(|wide| wide <= columns), "{command} at {columns}: {done:?}");
        }
        let done =
            machine.on_a_terminal(&format!("stty cols {columns}; {binary} runs list"), ("", ""));
        let head = done.stdout.lines().next().unwrap_or_default();
        assert_eq!(head.split_whitespace().collect::<Vec<_>>().join(" "), wanted, "{done:?}");
    }
}

/// E15: what a run came to, what it did, and its state at a step, from a process that had no part
/// in it.
async fn shows_a_run_from_another_process(site: &Site) {
    let (_repo, id) = site.reviewed();
    let shown = site.runs(&["show", &id[..8], "--format", "json"]).json();
    assert_eq!((&shown["id"], &shown["status"]), (&json!(id), &json!("completed")));
    assert_eq!(shown.get("waiting"), Some(&Value::Null));
    assert_eq!(shown["pending"], json!([]));
    assert_eq!(
        shown["state"]["judgement"]["findings"].as_array().map(Vec::len),
        Some(1),
        "{shown:#}"
    );
    let text = site.runs(&["show", &id]).stdout;
    assert!(text.contains("status    completed") && text.contains("a.js:1"), "{text}");
    let start = site.runs(&["show", &id, "--step", "0"]).json();
    assert_ne!(start, shown["state"]);
    let history = site.runs(&["history", &id, "--format", "json"]).json();
    let kinds: Vec<_> = history.as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert_eq!((kinds.len(), kinds[0], kinds[12]), (13, &json!("started"), &json!("finished")));
    let rows = site.runs(&["history", &id]).stdout;
    assert_eq!(rows.lines().count(), 14, "{rows}");

    for (args, words) in [
        (["show", "0000"], "verdict: there is no run `0000`"),
        (["history", "xyz"], "verdict: `xyz` is no run id, nor the first four"),
    ] {
        let done = site.runs(&args);
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.starts_with(words), "{}", done.stderr);
    }
    let done = site.runs(&["resume", &id]);
    assert_eq!(done.stderr.trim(), format!("verdict: run {id} waits for no answer"));
    let done = site.runs(&["cancel", &id]);
    assert_eq!(done.stderr.trim(), format!("verdict: run {id} has ended (completed)"));
}

/// E24: what runs wait for, listed and filtered as text and as JSON.
async fn lists_what_runs_wait_for(site: &Site) {
    let question = |id: &str| Question { id: id.into(), title: "Publish 3 findings?".into() };
    let asks = Waiting::Person { interrupts: vec![question("2.0.ask")], more: 2 };
    let quota = Waiting::Time { reason: Some("the quota is used up".into()) };
    let asked = site.waits(run("asked"), asks, None).await;
    let until = Timestamp(4_000_000_000_000);
    let timed = site.waits(run("timed"), quota, Some(until)).await;
    site.waits(run("limited"), Waiting::Limit, Some(until)).await;
    let done = site.made(run("done"), RunStatus::Completed).await;

    let rows = site.listed(&["--waiting", "person"]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(row["id"], json!(asked));
    let interrupts = json!([{"id": "2.0.ask", "title": "Publish 3 findings?"}]);
    assert_eq!(row["waiting"], json!({"for": "person", "interrupts": interrupts, "more": 2}));
    let rows = site.listed(&["--waiting", "time"]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let waiting = json!({
        "for": "time",
        "reason": "the quota is used up",
        "until": "2096-10-02T07:06:40.000Z",
    });
    assert_eq!((&row["id"], &row["waiting"]), (&json!(timed), &waiting));
    assert_eq!(site.listed(&["--waiting", "time,limit", "--status", "parked"]).len(), 2);
    assert_eq!(site.listed(&["--waiting", "version"]).len(), 0);
    let all = site.listed(&[]);
    let row = all.iter().find(|row| row["id"] == json!(done)).unwrap();
    assert_eq!(row["waiting"], Value::Null);

    let text = site.runs(&["list", "--waiting", "person"]).stdout;
    assert!(text.contains("WAITS FOR"), "{text}");
    assert!(text.contains("person: 2.0.ask Publish 3 findings?; 2 more"), "{text}");
    let refused = site.runs(&["list", "--waiting", "weekend"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("person, time, limit, version, lease"), "{}", refused.stderr);
    let refused = site.runs(&["delete", "--waiting", "person", "--yes"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
}

on_every_store!(
    lists_by_every_filter_and_in_pages,
    shows_a_run_from_another_process,
    lists_what_runs_wait_for,
);

/// More than are read at once.
#[tokio::test]
async fn a_listing_goes_through_all_pages_of_the_store() {
    let site = Site::sqlite().await;
    for n in 0..450 {
        site.store.open(run(&n.to_string())).await.unwrap();
    }
    assert_eq!(site.listed(&[]).len(), 450);
    assert_eq!(site.listed(&["--limit", "401"]).len(), 401);
    assert_eq!(site.listed(&["--older-than", "1h"]).len(), 0);
    site.done().await;
}
