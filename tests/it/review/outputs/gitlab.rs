//! GitLab's code quality: what its parser asks for, and fingerprints that outlive moved lines.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use verdict::workflows::review::report::gitlab;

use super::{fixture, reviewed, saying};
use crate::{review::support::Repo, support::Machine};

/// What GitLab's documentation says of an issue.
fn schema() -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let lines = json!({ "begin": { "type": "integer", "minimum": 1 } });
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "additionalProperties": false,
            "properties": {
                "description": text,
                "check_name": text,
                "fingerprint": text,
                "severity": { "enum": ["info", "minor", "major", "critical", "blocker"] },
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        // Relative to the root, without `./` before it.
                        "path": { "type": "string", "pattern": "^[^/]" },
                        "lines": { "required": ["begin"], "properties": lines },
                    },
                },
            },
        },
    })
}

#[track_caller]
fn valid(text: &str) -> Vec<Value> {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let report: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&report).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{}\n{text}", errors.join("\n"));
    let issues = report.as_array().unwrap().clone();
    let different: BTreeSet<&str> =
        issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(different.len(), issues.len(), "{text}");
    issues
}

fn of_binary(repo: &Repo) -> Vec<Value> {
    let done = reviewed(&Machine::new(), repo, &["--format", "gitlab"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    valid(&done.stdout)
}

#[test]
fn a_review_is_a_report_of_code_quality() {
    let issues = of_binary(&fixture());
    let of = |check: &str| issues.iter().find(|issue| issue["check_name"] == check).unwrap();
    let sql = of("sql-injection");
    assert_eq!(sql["severity"], "critical");
    assert_eq!(sql["location"], json!({ "path": "app/db.py", "lines": { "begin": 11 } }));
    let described = sql["description"].as_str().unwrap();
    assert!(described.starts_with("SQL injection: a value from outside becomes part of"), "{sql}");
    assert!(described.contains("CWE-89") && !described.contains('\n'), "{sql}");
    assert_eq!(of("py-compare-none")["severity"], "minor");
    assert_eq!(of("py-return-in-finally")["severity"], "major");
}

/// The same finding further down, and again in another commit, is the same issue; two alike on one page
/// are two.
#[test]
fn fingerprints_outlive_moved_lines() {
    let fingerprints = |before: &str, after: &str| -> Vec<Value> {
        let repo = Repo::new();
        repo.write("a.py", "x = 1\n").commit("base");
        repo.write("a.py", format!("{before}breakpoint()\n{after}")).commit("change");
        of_binary(&repo).into_iter().map(|issue| issue["fingerprint"].clone()).collect()
    };
    let first = fingerprints("", "");
    assert_eq!(first.len(), 1);
    assert_eq!(fingerprints("import os\n\n\nprint(os)\n", "y = 2\n"), first);
    assert_eq!(fingerprints("", "breakpoint()\n").len(), 2);
}

/// What is missing is an issue, and what comes from a change stays text.
#[tokio::test]
async fn a_missing_part_is_an_issue() {
    let (mut state, mut about) = saying("a <b>bold</b>\nclaim", "why").await;
    let judgement = state.judgement.as_mut().unwrap();
    judgement.missing = vec!["a.py: gone".into(), "style: out of reach".into()];
    about.error = Some("run 1 failed".into());
    let issues = valid(&gitlab(&state, &about));
    assert_eq!(issues[0]["description"], "The review is incomplete. run 1 failed");
    assert_eq!(issues[1]["check_name"], "review-incomplete");
    let parts = issues[1]["description"].as_str().unwrap();
    assert!(parts.contains("a.py: gone; style: out of reach"), "{parts}");
    assert_eq!(issues.len(), 3);
    assert!(!issues[2]["description"].as_str().unwrap().contains('\n'));
}
