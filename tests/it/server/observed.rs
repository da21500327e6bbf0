//! What an operator reads, from the real binary: each field of its logs and each metric is the one that
//! docs/operations.md describes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{get, post, readiness, serve, stop};
use crate::{
    crash::fixture::repository,
    review::support::Repo,
    support::{Machine, eventually, rows},
};

const DOCS: &str = include_str!("../../../docs/operations.md");

/// The rows of the tables of a section: the name in the first cell, and the second.
fn documented(section: &str) -> BTreeMap<String, String> {
    let (_, rest) = DOCS.split_once(&format!("\n## {section}\n")).unwrap();
    let text = rest.split("\n## ").next().unwrap();
    let rows = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name.to_owned(), rest.split(" |").next()?.to_owned()))
    });
    rows.collect()
}

/// A server that reviewed something, failed at something, and gave up something.
async fn busy(machine: &Machine, repo: &Repo) -> (crate::support::Process, std::net::SocketAddr) {
    let (process, at) = serve(machine, "all").await;
    readiness(at, true).await;
    let input = json!({"repo": repo.path(), "base": "HEAD~1", "head": "HEAD"});
    assert_eq!(post(at, &json!({"workflow": "review", "input": input})).await.status, 202);
    // A run that fails: no language model is configured, and the workflow needs one.
    let failing = json!({"workflow": "delivery", "input": {"request": "make it work"}});
    assert_eq!(post(at, &failing).await.status, 202);
    for (name, job) in [
        ("unknown.json", json!({"workflow": "opera", "input": 1})),
        (
            "missing.json",
            json!({"workflow": "review", "input": {"repo": "/nowhere", "base": "a", "head": "b"}}),
        ),
    ] {
        let file = machine.text(name, job.to_string());
        assert_eq!(machine.run(&["enqueue", "--force", &file]).code, Some(0));
    }
    eventually("all is done", async || {
        let runs = machine.run(&["runs", "list", "--format", "json"]).json();
        let ended =
            |run: &Value| ["completed", "failed"].contains(&run["status"].as_str().unwrap());
        let ended = runs.as_array().unwrap().iter().filter(|run| ended(run)).count();
        (ended == 2 && rows(&machine.file()).await.messages == 0).then_some(())
    })
    .await;
    (process, at)
}

fn fits(value: &Value, kind: &str) -> bool {
    let text = |allowed: fn(char) -> bool| {
        value.as_str().is_some_and(|text| !text.is_empty() && text.chars().all(allowed))
    };
    match kind {
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "word" => text(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
        "text" => text(|_| true),
        _ => false,
    }
}

/// 17.12: every line is JSON of documented fields, each of its type and none empty.
#[tokio::test]
async fn logs_hold_the_documented_fields() {
    let (repo, machine) = (repository(), Machine::new().set("log.format", "json"));
    let (process, _) = busy(&machine, &repo).await;
    let said = stop(process).await;
    let documented = documented("Logs");
    let (mut seen, mut messages) = (BTreeSet::new(), BTreeSet::new());
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        let mut fields = line.as_object().unwrap().clone();
        for always in ["timestamp", "level", "target", "message"] {
            let text = fields.remove(always).unwrap_or_else(|| panic!("{always}: {line}"));
            assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{always}: {line}");
        }
        messages.insert(line["message"].as_str().unwrap().to_owned());
        if let Some(Value::Object(span)) = fields.remove("span") {
            assert!(["message", "sweep"].contains(&span["name"].as_str().unwrap()), "{line}");
            fields.extend(span.into_iter().filter(|(name, _)| name != "name"));
        }
        for (name, value) in fields {
            let kind = documented.get(&name).unwrap_or_else(|| panic!("`{name}` of {line}"));
            assert!(fits(&value, kind), "`{name}` is no {kind}: {line}");
            seen.insert(name);
        }
    }
    for message in ["serving", "run asked for", "run completed", "settled", "given up", "stopped"] {
        assert!(messages.contains(message), "{message}: {said}");
    }
    for field in ["run", "workflow", "outcome", "settlement", "reason", "error", "duration_s"] {
        assert!(seen.contains(field), "{field}: {said}");
    }
}

/// 17.12: what is scraped is what the table says, in name and type; routes are templates.
#[tokio::test]
async fn metrics_are_the_documented_ones() {
    let (repo, machine) = (repository(), Machine::new());
    let (process, at) = busy(&machine, &repo).await;
    for path in ["/api/runs/0123", "/api/runs/4567", "/nowhere", "/elsewhere"] {
        assert_eq!(get(at, path).await.status, 404, "{path}");
    }
    let text = eventually("the queue's depth is told", async || {
        let text = get(at, "/metrics").await.body;
        text.contains("verdict_queue_depth{").then_some(text)
    })
    .await;
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let scraped: BTreeMap<_, _> =
        types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
    let (always, later) =
        DOCS.split_once("Where they are used, and from the first event on:").unwrap();
    let always = documented("Metrics")
        .into_iter()
        .filter(|(name, _)| always.contains(&format!("\n| `{name}` |")));
    assert_eq!(scraped, always.collect());
    assert!(later.contains("verdict_queue_reconnects_total"));

    let lines: BTreeSet<_> =
        text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect();
    for line in [
        r#"verdict_runs_total{workflow="review",status="completed"}"#,
        r#"verdict_runs_total{workflow="delivery",status="failed"}"#,
        r#"verdict_run_duration_seconds_count{workflow="review",status="completed"}"#,
        r#"verdict_task_duration_seconds_count{workflow="review",node="judge",outcome="done"}"#,
        r#"verdict_store_duration_seconds_count{operation="append"}"#,
        r#"verdict_http_request_duration_seconds_count{method="POST",route="/api/runs",status="202"}"#,
        r#"verdict_http_request_duration_seconds_count{method="GET",route="/api/runs/{id}",status="404"}"#,
        r#"verdict_http_request_duration_seconds_count{method="GET",route="none",status="404"}"#,
    ] {
        assert!(lines.contains(line), "{line}\n{text}");
    }
    // In names only: a value may well have these digits.
    let told = |word: &str| lines.iter().any(|name| name.contains(word));
    assert!(!told("0123") && !told("elsewhere"), "{text}");
    let build =
        format!(r#"verdict_build_info{{version="{}",features=""#, env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&build), "{text}");
    stop(process).await;
}
