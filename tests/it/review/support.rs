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
    forge::{Forge, Range, Selection, local::LocalGit},
    graph::State,
    workflows::review::{
        Limits, ReviewDeps, ReviewState, ReviewUpdate, Target, agents, ingest, judge, texts,
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

    pub async fn resolve(&self, range: &str) -> verdict::forge::Result<Range> {
        resolve(&self.path(), Selection::Range(range.to_owned())).await
    }

    /// Reviews `range`, node by node.
    pub async fn review(&self, range: &str) -> ReviewState {
        self.review_with(range, Limits::default()).await
    }

    pub async fn review_with(&self, range: &str, limits: Limits) -> ReviewState {
        let range = self.resolve(range).await.unwrap();
        review(&deps(limits), range).await
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

pub async fn resolve(folder: &Path, selection: Selection) -> verdict::forge::Result<Range> {
    LocalGit::default().resolve(folder, &selection).await
}

pub fn deps(limits: Limits) -> ReviewDeps {
    ReviewDeps::new(Arc::new(LocalGit::default()), limits).unwrap()
}

pub async fn review(deps: &ReviewDeps, range: Range) -> ReviewState {
    let mut state = ReviewState::new(Target::Local(range));
    let change = ingest(deps, &state.target).await.unwrap();
    let mut updates = vec![ReviewUpdate::Ingested(change.clone())];
    let mut reports = Vec::new();
    for agent in agents::AGENTS {
        let report = agents::run(deps, *agent, &change).await.unwrap();
        reports.push(report.clone());
        updates.push(ReviewUpdate::Agent(report));
    }
    let files: Vec<_> = change.files.iter().filter(|f| f.read).map(|f| &f.change).collect();
    let heads = texts::masked(deps, &change.range, &files).await.unwrap();
    let found = judge::found(&change, &reports).cloned().collect();
    let placed = judge::Placed::of(found, &heads);
    updates.push(ReviewUpdate::Judged(judge::judge(&change, &reports, placed)));
    for update in updates {
        state.validate(&update).unwrap();
        state.merge(update);
    }
    state
}

/// `rule path:start-end` of every finding to show.
pub fn found(state: &ReviewState) -> Vec<String> {
    let shown = verdict::workflows::review::report::findings(state);
    shown.iter().map(|f| format!("{} {}:{}-{}", f.rule, f.path, f.start_line, f.end_line)).collect()
}
