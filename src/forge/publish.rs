//! The port that takes finished reviews.
//!
//! A review is published by one node, which may run again after a crash, or in a fork of its run.
//! So a publisher is told what tells repetitions apart, and publishing twice under one key must
//! leave one review.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Target;
use crate::base::Result;

/// Takes finished reviews: the other half of a forge.
#[async_trait]
pub trait Publisher: Send + Sync + 'static {
    /// Publishes a review, or finds that it was published under the same key before. Not called in
    /// a fork that may not publish.
    ///
    /// # Errors
    /// Transient when publishing again may help.
    async fn publish(&self, context: &PublishContext, review: &Publication) -> Result<Published>;

    /// What was said about the subject of this target before. A forge that keeps nothing knows
    /// nothing.
    ///
    /// # Errors
    /// Transient when asking again may help.
    async fn history(&self, _target: &Target) -> Result<History> {
        Ok(History::default())
    }

    /// Shows where a review stands that is not published. Idempotent. A forge without a place for it
    /// shows nothing. Not called in a fork that may not publish.
    ///
    /// # Errors
    /// Transient when showing it again may help.
    async fn show(&self, _target: &Target, _run: &str, _standing: &Standing) -> Result<()> {
        Ok(())
    }
}

/// What earlier reviews of a subject said, and what people made of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The head that was reviewed last, if it is another than the target's.
    pub last_head: Option<String>,
    /// The fingerprints of what was found there, or was said at any time.
    pub known: BTreeSet<String>,
    /// The fingerprints of what people who may write to the repository dismissed.
    pub dismissed: BTreeSet<String>,
}

/// Where a review stands that is not published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is under way and waits for these.
    Started(Vec<String>),
    /// Nothing happens for now, for this reason.
    Waiting(String),
    /// A review of a newer head took its place.
    Superseded,
    /// It was stopped.
    Cancelled,
    /// It was given up, for this reason. It may be taken up again.
    Failed(String),
}

/// Which attempt of which run publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishContext {
    /// The same for every attempt of one run, another for every other.
    pub idempotency_key: String,
    /// Whether the run is a fork: what its parent published is not its own.
    pub fork: bool,
    /// Which attempt of this execution, from 1.
    pub attempt: u32,
}

/// A finished review. Secrets are masked in all of it, and its Markdown is safe to show: nothing of
/// the change acts in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// What was reviewed.
    pub target: Target,
    /// The run.
    pub run: String,
    /// `clean`, `comments`, `changes_requested` or `incomplete`.
    pub verdict: &'static str,
    /// Whether any file was reviewed; a review of none says nothing good of the change.
    pub reviewed: bool,
    /// What comes before the findings, as Markdown: verdict, counts.
    pub opening: String,
    /// What comes after them: what was left out and why, what is missing, coverage.
    pub closing: String,
    /// Each finding, most important first.
    pub comments: Vec<Comment>,
    /// The fingerprints of everything that was found, shown or not: what was said before and is not
    /// among them is fixed, unless `unsettled` says that nobody knows.
    pub found: BTreeSet<String>,
    /// By changed path the agents and tools that did not review it. Of an agent that did, it is known what
    /// is still true, but for what is unsteady: that may be of any of them.
    pub unsettled: BTreeMap<String, BTreeSet<String>>,
}

/// A finding, as far as a forge shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Names the same finding across reviews.
    pub fingerprint: String,
    /// The agent that it belongs to.
    pub agent: String,
    /// Whether it may not be found again in the same code: a model or another tool found it.
    pub unsteady: bool,
    /// `info`, `low`, `medium`, `high` or `critical`.
    pub severity: &'static str,
    /// What it says in one line, as plain text.
    pub title: String,
    /// What it says, as plain text.
    pub text: String,
    /// The path, as named on its side.
    pub path: String,
    /// Whether its lines are those of the base.
    pub on_base: bool,
    /// First and last line, inclusive; `None` for the file as a whole.
    pub lines: Option<(u32, u32)>,
    /// Title and explanation, Markdown, for a comment on its lines.
    pub body: String,
    /// The same with its place, for the summary.
    pub in_summary: String,
    /// What to put in place of the lines.
    pub suggestion: Option<String>,
}

/// Where a review went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Published {
    /// It stays in the run, to be shown on request.
    InRun,
    /// It stands on the forge, at this address.
    At(String),
    /// Nowhere: the head moved meanwhile, and the review is of a commit that nobody merges.
    HeadMoved,
}
