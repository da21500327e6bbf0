//! What is read of GitHub's answers. Lenient: only what is needed, and what may be absent may be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::forge::Introduction;

/// A pull request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pull {
    #[serde(default)]
    pub(super) number: u64,
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) updated_at: jiff::Timestamp,
    #[serde(default)]
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) author_association: Option<String>,
    pub(super) user: Option<Account>,
    #[serde(default)]
    pub(super) labels: Vec<Label>,
    pub(super) base: End,
    pub(super) head: End,
}

impl Pull {
    /// How its author describes it.
    pub(super) fn introduction(&self) -> Introduction {
        let of_ours = ["OWNER", "MEMBER", "COLLABORATOR"];
        let association = self.author_association.as_deref().unwrap_or_default();
        Introduction {
            title: self.title.clone(),
            text: self.body.clone().unwrap_or_default(),
            by_outsider: !of_ours.contains(&association),
        }
    }
}

/// A label.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

/// One end of a pull request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct End {
    pub(super) sha: String,
    #[serde(rename = "ref", default)]
    pub(super) branch: String,
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

/// An App, as it sees itself.
#[derive(Debug, Deserialize)]
pub(super) struct AppInfo {
    #[serde(default)]
    pub(super) id: u64,
    pub(super) slug: String,
    #[serde(default)]
    pub(super) events: Vec<String>,
}

/// An installation, as the App lists it.
#[derive(Debug, Deserialize)]
pub(super) struct AppInstallation {
    pub(super) id: u64,
    pub(super) account: Account,
    #[serde(default)]
    pub(super) permissions: BTreeMap<String, String>,
    pub(super) suspended_at: Option<String>,
}

/// Repositories of an installation.
#[derive(Debug, Deserialize)]
pub(super) struct Repositories {
    pub(super) repositories: Vec<FullName>,
}

/// A repository by its name.
#[derive(Debug, Deserialize)]
pub(super) struct FullName {
    pub(super) full_name: String,
}

/// A row of the log of deliveries.
#[derive(Debug, Deserialize)]
pub(super) struct DeliveryRow {
    pub(super) id: u64,
    pub(super) guid: String,
    pub(super) event: String,
    #[serde(default)]
    status: String,
    status_code: u16,
}

impl DeliveryRow {
    /// Whether somebody answered that it was taken.
    pub(super) fn was_taken(&self) -> bool {
        (200..300).contains(&self.status_code)
    }

    /// Whether it is under way.
    pub(super) fn is_pending(&self) -> bool {
        self.status_code == 0 && self.status == "pending"
    }
}

/// A delivery with what was sent.
#[derive(Debug, Deserialize)]
pub(super) struct WholeDelivery {
    pub(super) request: DeliveryRequest,
}

/// What was sent.
#[derive(Debug, Deserialize)]
pub(super) struct DeliveryRequest {
    pub(super) payload: serde_json::Value,
}

/// What somebody may do in a repository: `admin`, `write`, `read`, `none`.
#[derive(Debug, Deserialize)]
pub(super) struct CollaboratorPermission {
    pub(super) permission: String,
}

/// A comment, below a pull request or on its lines.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenComment {
    #[serde(default)]
    pub(super) body: String,
}

/// A file, as the contents API shows it.
#[derive(Debug, Deserialize)]
pub(super) struct Contents {
    /// In base 64, in lines; empty for a file above a megabyte.
    #[serde(default)]
    content: String,
}

impl Contents {
    /// Its text, if it is one.
    pub(super) fn text(self) -> Option<String> {
        use base64::{Engine, prelude::BASE64_STANDARD};
        let digits: String = self.content.split_whitespace().collect();
        let bytes = BASE64_STANDARD.decode(digits).ok()?;
        String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
    }
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
    pub(super) user: Option<Account>,
}

/// A comment on lines.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ReviewComment {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: String,
    #[serde(default)]
    pub(super) path: String,
    pub(super) user: Option<Account>,
    pub(super) in_reply_to_id: Option<u64>,
    /// The head it was written on.
    pub(super) original_commit_id: Option<String>,
    /// The line it is on now; none once it is outdated, and folded away.
    pub(super) line: Option<u64>,
    pub(super) reactions: Option<ReactionCounts>,
}

/// How many reacted to something.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ReactionCounts {
    #[serde(rename = "-1", default)]
    pub(super) down: u64,
}

/// A reaction.
#[derive(Debug, Deserialize)]
pub(super) struct Reaction {
    pub(super) content: String,
    pub(super) user: Option<Account>,
}

/// What somebody may do in a repository.
#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) permission: String,
}

impl ReviewComment {
    /// Whether this account wrote it.
    pub(super) fn is_by(&self, login: &str) -> bool {
        self.user.as_ref().is_some_and(|user| user.login == login)
    }
}

impl IssueComment {
    /// Whether this account wrote it, with this marker.
    pub(super) fn is_ours(&self, login: &str, marker: &str) -> bool {
        let by_us = self.user.as_ref().is_some_and(|user| user.login == login);
        by_us && self.body.as_deref().is_some_and(|body| body.starts_with(marker))
    }
}

/// A comment below a pull request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct IssueComment {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) html_url: String,
    pub(super) user: Option<Account>,
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
#[derive(Debug, Clone, Deserialize)]
pub(super) struct CheckRun {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) external_id: Option<String>,
    #[serde(default)]
    pub(super) output: CheckOutput,
}

/// What a check run shows.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct CheckOutput {
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    #[serde(default, skip_serializing)]
    pub(super) annotations_count: u64,
}

/// A remark of a check run about lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Annotation {
    pub(super) path: String,
    pub(super) start_line: u32,
    pub(super) end_line: u32,
    pub(super) annotation_level: String,
    pub(super) title: Option<String>,
    pub(super) message: String,
}
