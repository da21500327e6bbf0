//! What a review knows, as it is kept in the run.
//!
//! The state holds no content: for each file its object ids and the touched lines. Whoever needs
//! a text reads it by object id and masks it anew ([`super::texts`] does both), so neither the
//! store nor a log can hold a secret, and the state stays small however large the change is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{input::Target, judge::Judgement, own_rules::OwnRule, settings::Settings};
use crate::{
    analysis::{Category, Finding},
    forge::{FileChange, Range},
    graph::{Invalid, State},
};

/// The state of a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewState {
    /// What it starts from.
    pub target: Target,
    /// What ingest found; absent before.
    pub ingested: Option<Ingested>,
    /// What each agent reported.
    pub agents: BTreeMap<Category, AgentReport>,
    /// What the judge decided; absent before.
    pub judgement: Option<Judgement>,
    /// Where it went; absent before.
    pub published: Option<Published>,
}

/// What one node adds to the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewUpdate {
    /// From `ingest`.
    Ingested(Ingested),
    /// From an agent.
    Agent(AgentReport),
    /// From `judge`.
    Judged(Judgement),
    /// From `publish`.
    Published(Published),
}

/// The change as it will be reviewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ingested {
    /// The two object ids compared.
    pub range: Range,
    /// The settings of the base side.
    pub settings: Settings,
    /// The repository's own rules, of the base side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OwnRule>,
    /// Every changed path.
    pub files: Vec<ReviewFile>,
    /// What ingest itself found: secrets, bad settings, file-level surprises.
    pub findings: Vec<Finding>,
}

/// A changed path and whether it will be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFile {
    /// The change.
    #[serde(flatten)]
    pub change: FileChange,
    /// Whether its text was looked at.
    pub read: bool,
    /// Why no agent reads it; absent when they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Something a reader should know though it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ReviewFile {
    /// How many lines of the head the change touches.
    pub fn touched(&self) -> u64 {
        self.change.added().map(|r| u64::from(r.end() - r.start()) + 1).sum()
    }
}

/// What one agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// Which agent.
    pub agent: Category,
    /// How it went.
    pub outcome: Outcome,
    /// What it found.
    pub findings: Vec<Finding>,
    /// Paths it could not read, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unread: BTreeMap<String, String>,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It looked at everything it should.
    Done,
    /// The settings turned it off.
    Off,
    /// It gave up; the review goes on without it and says so.
    Failed(String),
}

/// Where a review went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Published {
    /// It stays in the run, to be shown on request.
    InRun,
}

impl State for ReviewState {
    type Input = Target;
    type Update = ReviewUpdate;

    fn new(target: Target) -> Self {
        Self { target, ingested: None, agents: BTreeMap::new(), judgement: None, published: None }
    }

    fn validate(&self, update: &ReviewUpdate) -> Result<(), Invalid> {
        match update {
            ReviewUpdate::Ingested(_) => Ok(()),
            _ if self.ingested.is_none() => {
                Err(Invalid::new("ingested", "the change, before anything else"))
            }
            ReviewUpdate::Agent(report) => check_findings(report),
            ReviewUpdate::Published(_) if self.judgement.is_none() => {
                Err(Invalid::new("judgement", "a judgement, before it is published"))
            }
            ReviewUpdate::Judged(_) | ReviewUpdate::Published(_) => Ok(()),
        }
    }

    fn merge(&mut self, update: ReviewUpdate) {
        match update {
            ReviewUpdate::Ingested(ingested) => self.ingested = Some(ingested),
            ReviewUpdate::Agent(report) => {
                self.agents.insert(report.agent, report);
            }
            ReviewUpdate::Judged(judgement) => self.judgement = Some(judgement),
            ReviewUpdate::Published(published) => self.published = Some(published),
        }
    }
}

fn check_findings(report: &AgentReport) -> Result<(), Invalid> {
    let right = |f: &Finding| f.start_line <= f.end_line && f.fingerprint.len() == 16;
    if report.findings.iter().all(right) {
        Ok(())
    } else {
        Err(Invalid::new("findings", "ordered lines and a fingerprint of 16 hex digits"))
    }
}
