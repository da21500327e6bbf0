//! What is read of GitHub's answers. Lenient: only what is needed, and what may be absent may be.

use serde::Deserialize;

/// A pull request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pull {
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) updated_at: jiff::Timestamp,
    pub(super) user: Option<Account>,
    pub(super) base: End,
    pub(super) head: End,
}

/// One end of a pull request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct End {
    pub(super) sha: String,
    /// Absent when a fork was deleted.
    pub(super) repo: Option<Repository>,
}

/// A repository.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Repository {
    pub(super) clone_url: Option<String>,
}

/// A user, an App's bot, or nobody any more.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Account {
    pub(super) login: String,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// What `compare` answers.
#[derive(Debug, Deserialize)]
pub(super) struct Comparison {
    pub(super) merge_base_commit: Commit,
}

/// A commit, by its id.
#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) sha: String,
}

/// A changed file, as far as comments depend on it.
#[derive(Debug, Deserialize)]
pub(super) struct ChangedFile {
    pub(super) filename: String,
    /// Absent for binary files, and in answers that would be too long.
    pub(super) patch: Option<String>,
}

/// A review.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: String,
    pub(super) state: String,
    #[serde(default)]
    pub(super) html_url: String,
}

/// An installation of an App.
#[derive(Debug, Deserialize)]
pub(super) struct Installation {
    pub(super) id: u64,
}

/// A fresh installation token.
#[derive(Deserialize)]
pub(super) struct InstallationToken {
    pub(super) token: crate::base::Secret,
    pub(super) expires_at: jiff::Timestamp,
}

/// Check runs of one commit.
#[derive(Debug, Deserialize)]
pub(super) struct CheckRuns {
    pub(super) check_runs: Vec<CheckRun>,
}

/// A check run.
#[derive(Debug, Deserialize)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) external_id: Option<String>,
}
