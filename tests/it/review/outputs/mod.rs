//! What `verdict review` writes, in each of its formats.

mod exits;
mod files;
mod github;
mod gitlab;
mod hostile;
mod injections;
mod markdown;
mod ranges;
mod sarif;
mod terminal;
mod text;
mod tools;

use verdict::workflows::review::{ReviewState, report::ReportContext};

use super::support::Repo;
use crate::support::{Done, Machine};

/// A change with a finding for each agent: one over several lines, one with a fix, a secret, a
/// file that is not read.
pub fn fixture() -> Repo {
    let repo = Repo::new();
    repo.write("app/db.py", "import sqlite3\n").write("old.txt", "x\n").commit("base");
    repo.write(
        "app/db.py",
        "import sqlite3\n\n\ndef find(cur, name):\n    if name == None:\n        return\n    try:\n        pass\n    finally:\n        return name\n    cur.execute(\n        f\"SELECT * FROM t WHERE name = '{name}'\"\n    )\n",
    );
    repo.write("logo.png", b"\x89PNG\0").remove("old.txt").commit("change");
    repo
}

/// `verdict review` of the last commit.
pub fn reviewed(machine: &Machine, repo: &Repo, args: &[&str]) -> Done {
    let path = repo.path().display().to_string();
    machine.run(&[&["review", "HEAD^!", "--repo", &path], args].concat())
}

/// A review with these words in its first finding.
pub async fn saying(title: &str, body: &str) -> (ReviewState, ReportContext) {
    let mut state = fixture().review("HEAD^!").await;
    let judgement = state.judgement.as_mut().unwrap();
    judgement.findings.truncate(1);
    judgement.findings[0].title = title.to_owned();
    judgement.findings[0].body = body.to_owned();
    (state, ReportContext::default())
}
