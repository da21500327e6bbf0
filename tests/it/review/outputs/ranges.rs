//! What a review says it reviewed: commits, the index, the work tree; and when it was made.

use super::{fixture, reviewed};
use crate::{
    review::support::Repo,
    support::{Done, Machine},
};

/// A value compared to `None` with `==`: one finding.
const FINDING: &str = "y = x == None\n";

fn run(machine: &Machine, repo: &Repo, args: &[&str]) -> Done {
    let path = repo.path().display().to_string();
    machine.run(&[&["review", "--repo", &path], args].concat())
}

fn paths(done: &Done) -> Vec<String> {
    let report = done.json();
    let rows = report["coverage"].as_array().unwrap();
    rows.iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
}

/// The two commits, how many lie between them, the branch; and later, that nothing is done anew.
#[test]
fn names_what_was_reviewed_and_when() {
    let (machine, repo) = (Machine::new(), fixture());
    repo.git(["checkout", "-q", "-b", "topic"]);
    let (base, head) = (repo.git(["rev-parse", "HEAD^"]), repo.git(["rev-parse", "HEAD"]));
    let range = format!("reviewed: {}..{} (1 commit, branch topic)", &base[..10], &head[..10]);
    let first = reviewed(&machine, &repo, &[]);
    assert!(first.stdout.contains(&range), "{first:?}");
    assert!(!first.stdout.contains("recorded:"), "{first:?}");

    repo.write("old.txt", "back\n").write("app/db.py", "import sqlite3\n");
    let second = reviewed(&machine, &repo, &[]);
    assert!(second.stdout.contains("; what is not committed is left out)"), "{second:?}");
    assert!(second.stdout.contains("recorded: 20"), "{second:?}");
    let fresh = reviewed(&machine, &repo, &["--fresh"]);
    assert!(!fresh.stdout.contains("recorded:"), "{fresh:?}");
}

fn found(done: &Done) -> Vec<String> {
    let report = done.json();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

/// What the command line says counts more than the base side's `.verdict.toml`, and each way of asking
/// is a review of its own.
#[test]
fn the_command_line_overrides_the_repository() {
    let (machine, repo) = (Machine::new(), Repo::new());
    repo.write(".verdict.toml", "[review]\nmin_severity = \"critical\"\n").commit("base");
    repo.write("a.py", FINDING).write("b.py", "# TODO later\n").commit("change");
    let ask = |args: &[&str]| run(&machine, &repo, &[&["--format", "json"], args].concat());
    let plain = ask(&[]);
    assert_eq!(found(&plain), [""; 0], "{plain:?}");
    let low = ask(&["--min-severity", "low"]);
    assert_eq!(found(&low), ["py-compare-none"], "{low:?}");
    assert_ne!(low.json()["run"], plain.json()["run"]);
    assert_eq!(ask(&["--min-severity", "low"]).json()["run"], low.json()["run"]);
    let all = ask(&["--all"]);
    assert_eq!(found(&all).len(), 2, "{all:?}");
    assert_eq!(ask(&["--all", "--max-findings", "1"]).code, Some(2));
    assert_eq!(paths(&ask(&["--include", "a.py"])).len(), 2, "named in the coverage");
    assert_eq!(found(&ask(&["--all", "--ignore", "a.py"])), ["todo-without-reference"]);
    assert_eq!(found(&ask(&["--all", "--agents", "security,logic"])), [""; 0]);
    let unknown = ask(&["--agents", "stile"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown.stderr.contains("unknown agent `stile`, expected one of `style`"),
        "{unknown:?}"
    );
}

/// A change of which nothing could be read is not called clean.
#[test]
fn nothing_read_is_not_clean() {
    let (machine, repo) = (Machine::new(), Repo::new());
    repo.commit("base");
    repo.write("logo.png", b"\x89PNG\0").commit("a picture");
    let done = reviewed(&machine, &repo, &[]);
    assert!(done.stdout.contains("verdict: nothing reviewed · 0 findings"), "{done:?}");
}

/// The index and the work tree each on their own, new files and all; neither is changed by it.
#[test]
fn what_is_not_committed() {
    let (machine, repo) = (Machine::new(), fixture());
    let last = repo.git(["rev-parse", "HEAD"]);
    for flag in ["--staged", "--worktree"] {
        let done = run(&machine, &repo, &[flag]);
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("nothing differs from the last commit"), "{done:?}");
    }
    repo.write("staged.py", FINDING).git(["add", "staged.py"]);
    repo.write("known.py", "x = 1\n").git(["add", "-N", "known.py"]);
    repo.write("new.py", FINDING).write(".gitignore", "skipped.py\n").write("skipped.py", FINDING);
    let before = repo.git(["status", "--porcelain"]);

    let staged = run(&machine, &repo, &["--staged", "--format", "json"]);
    assert_eq!(paths(&staged), ["staged.py"]);
    assert_eq!(staged.json()["findings"][0]["path"], "staged.py");
    assert_eq!(staged.json()["base"], last.as_str());
    let all = run(&machine, &repo, &["--worktree", "--format", "json"]);
    assert_eq!(paths(&all), [".gitignore", "known.py", "new.py", "staged.py"]);
    assert_eq!(repo.git(["status", "--porcelain"]), before);
    assert_eq!(repo.git(["rev-parse", "HEAD"]), last);

    // The same content is the same review; other content is another.
    let again = run(&machine, &repo, &["--worktree", "--format", "json"]);
    assert_eq!(again.json()["run"], all.json()["run"]);
    repo.write("new.py", "x = 1\n");
    let other = run(&machine, &repo, &["--worktree", "--format", "json"]);
    assert_ne!(other.json()["run"], all.json()["run"]);
}

/// The first commit of a repository can be reviewed before it is made.
#[test]
fn before_the_first_commit() {
    let (machine, repo) = (Machine::new(), Repo::new());
    repo.write("a.py", FINDING).git(["add", "a.py"]);
    let done = run(&machine, &repo, &["--staged", "--format", "json"]);
    assert_eq!(paths(&done), ["a.py"], "{done:?}");
}
