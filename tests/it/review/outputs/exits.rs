//! Exit codes: 0 done, 1 findings at or above `--fail-on`, 2 usage, 3 the run failed.

use serde_json::Value;

use super::{fixture, reviewed};
use crate::{review::support::Repo, support::Machine};

/// A finding of high severity, and no other.
const SQL: &str = "def f(cur, a):\n    cur.execute(f\"SELECT * FROM t WHERE a = '{a}'\")\n";

/// Every word, on reviews whose worst finding is low, medium, high and critical.
#[test]
fn only_findings_at_or_above_fail() {
    let words = ["none", "info", "low", "medium", "high", "critical"];
    let changes = [
        (None, "x = 2\n".to_owned()),
        (Some("low"), "y = x == None\n".to_owned()),
        (Some("medium"), "breakpoint()\n".to_owned()),
        (Some("high"), SQL.to_owned()),
        (Some("critical"), format!("t = 'ghp_{}'\n", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")),
    ];
    for (worst, text) in changes {
        let (machine, repo) = (Machine::new(), Repo::new());
        repo.write("a.py", "x = 1\n").commit("base");
        repo.write("a.py", text).commit("change");
        let found = reviewed(&machine, &repo, &["--format", "json"]).json();
        let first = found["findings"].as_array().unwrap().first().cloned().unwrap_or_default();
        assert_eq!(first["severity"].as_str(), worst, "{found}");
        let rank = worst.map(|worst| words.iter().position(|w| *w == worst).unwrap());
        for (limit, word) in words.iter().enumerate() {
            let done = reviewed(&machine, &repo, &["--fail-on", word, "--format", "json"]);
            let fails = limit > 0 && rank.is_some_and(|rank| rank >= limit);
            let code = if fails { 1 } else { 0 };
            assert_eq!(done.code, Some(code), "--fail-on {word}, worst {worst:?}");
            // The report is there all the same, and nothing else.
            let report: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!((&report["findings"], done.stderr.as_str()), (&found["findings"], ""));
        }
    }
}

/// A run that fails answers 3, whatever it found, with what there is of it.
#[test]
fn a_failed_run_shows_what_there_is() {
    let repo = fixture();
    let tree = repo.git(["rev-parse", "HEAD^{tree}"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    std::fs::remove_file(repo.path().join(object)).unwrap();
    for (format, part) in [
        ("text", "verdict: incomplete · 0 findings"),
        ("json", "\"verdict\": \"incomplete\""),
        ("markdown", "**The review failed:** run "),
        ("sarif", "\"executionSuccessful\": false"),
        ("github", "::error title=The review failed::run "),
        ("gitlab", "\"check_name\": \"review-failed\""),
    ] {
        let done = reviewed(&Machine::new(), &repo, &["--fail-on", "info", "--format", format]);
        assert_eq!(done.code, Some(3), "{format}: {done:?}");
        assert!(done.stdout.contains(part), "{format}: {done:?}");
        assert!(done.stderr.contains("verdict: run "), "{format}: {done:?}");
    }
}

#[test]
fn wrong_usage_is_told_apart() {
    let (machine, repo) = (Machine::new(), fixture());
    for (args, said) in [
        (&["--format", "yaml"][..], "text, json, markdown, sarif, github, gitlab"),
        (&["--fail-on", "grave"], "none, info, low, medium, high, critical"),
        (&["--base", "HEAD"], "cannot be used with '--base <REV>'"),
        (&["--output", "/no/such/folder/x"], "cannot write /no/such/folder/x: "),
    ] {
        let done = reviewed(&machine, &repo, args);
        assert_eq!(done.code, Some(2), "{args:?}: {done:?}");
        assert!(done.stderr.contains(said), "{args:?}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{args:?}");
    }
}
