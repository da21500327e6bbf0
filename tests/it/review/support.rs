//! Fixture repositories, made with git, and a review without an engine under it.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use tempfile::TempDir;
use verdict::{
    forge::{
        Selection, Target,
        local::{self, LocalGit},
    },
    graph::State,
    workflows::review::{
        Limits, ReviewDeps, ReviewState, ReviewUpdate, agents, ingest, judge_all, models::Session,
    },
};

/// A rule of a repository's own.
pub const RULE: &str = "\
id: no-print
languages: [Python]
category: style
severity: medium
confidence: 0.9
title: Printing is for scripts
problem: Nobody reads it.
advice: Use the logger.
rule:
  pattern: print($$$A)
valid: ['log(1)']
invalid: ['print(1)']
";

/// A repository in a folder of its own, with a fixed identity and fixed dates.
pub struct Repo {
    folder: TempDir,
}

impl Repo {
    pub fn new() -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap() };
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    pub fn path(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    pub fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn try_git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Output {
        git_in(self.folder.path(), args)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.folder.path().join(path)).unwrap();
        self
    }

    /// Commits everything; answers the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
        self.git(["rev-parse", "HEAD"])
    }

    pub async fn resolve(&self, range: &str) -> local::Result<Target> {
        resolve(&self.path(), Selection::Range(range.to_owned())).await
    }

    /// Reviews `range`, node by node.
    pub async fn review(&self, range: &str) -> ReviewState {
        self.review_with(range, Limits::default()).await
    }

    pub async fn review_with(&self, range: &str, limits: Limits) -> ReviewState {
        let target = self.resolve(range).await.unwrap();
        review(&deps(limits), target).await
    }
}

pub fn git_in<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(folder: &Path, args: I) -> Output {
    Command::new("git")
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_AUTHOR_DATE", "2024-01-02T03:04:05Z")
        .env("GIT_COMMITTER_DATE", "2024-01-02T03:04:05Z")
        .output()
        .unwrap()
}

pub async fn resolve(folder: &Path, selection: Selection) -> local::Result<Target> {
    LocalGit::default().target(folder, &selection).await
}

pub fn deps(limits: Limits) -> ReviewDeps {
    ReviewDeps::new(Arc::new(LocalGit::default()), limits).unwrap()
}

pub async fn review(deps: &ReviewDeps, target: Target) -> ReviewState {
    let mut state = ReviewState::new(target.into());
    let take = |state: &mut ReviewState, update| {
        state.validate(&update).unwrap();
        state.merge(update);
    };
    let change = ingest(deps, agents::AGENTS, &state).await.unwrap();
    take(&mut state, ReviewUpdate::Ingested(change.clone()));
    for agent in agents::AGENTS {
        for number in 0..change.plan.of(agent.id()).len() as u32 {
            let report = agents::run(deps, &state.target, *agent, &change, number).await.unwrap();
            take(&mut state, ReviewUpdate::Agent(report));
        }
    }
    let judgement = judge_all(deps, &state, &Session::default()).await.unwrap();
    take(&mut state, ReviewUpdate::Judged(judgement));
    state
}

/// `rule path:start-end` of every finding to show.
pub fn found(state: &ReviewState) -> Vec<String> {
    let shown = verdict::workflows::review::report::findings(state);
    shown.iter().map(|f| format!("{} {}:{}-{}", f.rule, f.path, f.start_line, f.end_line)).collect()
}

/// A small change with something for each agent.
pub fn fixture() -> Repo {
    let repo = Repo::new();
    repo.write("app/db.py", "import sqlite3\n\n\ndef find(cur, name):\n    return cur\n");
    repo.write("old.txt", "x\n").commit("base");
    repo.write(
        "app/db.py",
        "import sqlite3\n\n\ndef find(cur, name, seen=[]):\n    seen.append(name)\n    if name == None:\n        return\n    cur.execute(f\"SELECT * FROM t WHERE name = '{name}'\")\n    breakpoint()\n    return cur\n",
    );
    repo.write("logo.png", b"\x89PNG\0").remove("old.txt").commit("change");
    repo
}
