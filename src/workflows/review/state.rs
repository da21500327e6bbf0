//! What a review knows, as it is kept in the run.
//!
//! The state holds no content: for each file its object ids and the touched lines. Whoever needs
//! a text reads it by object id and masks it anew ([`super::reader`] does both), so neither the
//! store nor a log can hold a secret, and the state stays small however large the change is.
//!
//! Version 4 of the workflow. Runs of older ones load, too: those of version 3 have no tasks for tools, those of version 2 none for
//! models either, and in those of version 1 the change has no plan, since each agent had one task, and names its two commits once
//! more.

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::{
    judge::Judgement,
    models::{ModelTask, ModelUse},
    overrides::Overrides,
    own_rules::OwnRule,
    plan::Plan,
    settings::Settings,
    tools::{ToolReport, ToolRun, ToolTask, ToolUse},
};
use crate::{
    analysis::Finding,
    forge::{FileChange, Introduction, Published, Target},
    graph::{Invalid, State},
};

/// What a review starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewStart {
    /// What to review.
    #[serde(flatten)]
    pub target: Target,
    /// What counts more than the repository's settings.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    pub settings: Overrides,
    /// What other tools found in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolReport>,
    /// How its author describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introduction: Option<Introduction>,
}

impl From<Target> for ReviewStart {
    fn from(target: Target) -> Self {
        Self { target, settings: Overrides::default(), tools: Vec::new(), introduction: None }
    }
}

/// The state of a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewState {
    /// What it starts from.
    pub target: Target,
    /// What counts more than the repository's settings.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    pub overrides: Overrides,
    /// What other tools found; ingest places it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolReport>,
    /// How its author describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introduction: Option<Introduction>,
    /// What ingest found; absent before.
    pub ingested: Option<Ingested>,
    /// What each task of each agent reported.
    pub agents: BTreeMap<ReportKey, AgentReport>,
    /// What each task for models reported, by its number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<u32, AgentReport>,
    /// What each task for a tool reported, by its number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_runs: BTreeMap<u32, AgentReport>,
    /// What the judge decided; absent before.
    pub judgement: Option<Judgement>,
    /// Where it went; absent before.
    pub published: Option<Published>,
}

/// Names a report: the agent's id, and the number of the chunk. Written as `style` for the first,
/// `style#1` for the next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportKey {
    /// The agent's id.
    pub agent: String,
    /// Which of its chunks, from 0.
    pub chunk: u32,
}

impl fmt::Display for ReportKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk {
            0 => f.write_str(&self.agent),
            chunk => write!(f, "{}#{chunk}", self.agent),
        }
    }
}

impl FromStr for ReportKey {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (agent, chunk) = match text.split_once('#') {
            Some((agent, chunk)) => (agent, chunk.parse()?),
            None => (text, 0),
        };
        Ok(Self { agent: agent.to_owned(), chunk })
    }
}

impl Serialize for ReportKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ReportKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// What one node adds to the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewUpdate {
    /// From `ingest`.
    Ingested(Ingested),
    /// From a task of an agent.
    Agent(AgentReport),
    /// From a task for models; its chunk is the task's number.
    Model(AgentReport),
    /// From a task for a tool; its chunk is the task's number.
    Tool(AgentReport),
    /// From `judge`.
    Judged(Judgement),
    /// From `publish`.
    Published(Published),
}

/// The change as it will be reviewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ingested {
    /// The settings of the base side.
    pub settings: Settings,
    /// The repository's own rules, of the base side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OwnRule>,
    /// Every changed path.
    pub files: Vec<ReviewFile>,
    /// What ingest itself found: secrets, bad settings, surprises about files as a whole; and what
    /// other tools found on changed lines.
    pub findings: Vec<Finding>,
    /// The tools that found it, and what became of all their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// Which agents review it, and in which chunks.
    #[serde(default)]
    pub plan: Plan,
    /// What agents ask models about, a task each; none without a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelTask>,
    /// The tools that are run on it, a task each; none unless the worker's settings name some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_tasks: Vec<ToolTask>,
}

impl Ingested {
    /// The files of a task, by their places.
    pub(super) fn files_at(&self, places: &[u32]) -> Vec<&FileChange> {
        let place = |at: &u32| usize::try_from(*at).ok().and_then(|at| self.files.get(at));
        places.iter().filter_map(place).map(|file| &file.change).collect()
    }
}

/// A changed path and whether it will be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFile {
    /// The change.
    #[serde(flatten)]
    pub change: FileChange,
    /// Whether its text was read.
    pub read: bool,
    /// Why no agent reviews it; absent when they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Something a reader should know though it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many more secrets of a kind there were than are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl ReviewFile {
    /// Whether agents are to review it.
    pub fn is_readable(&self) -> bool {
        self.read && self.skipped.is_none()
    }

    /// How many lines of the head the change touches.
    pub fn touched(&self) -> u64 {
        self.change.added().map(|r| u64::from(r.end() - r.start()) + 1).sum()
    }
}

/// What one task of an agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentReport {
    /// The agent's id.
    pub agent: String,
    /// Which of its chunks, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub chunk: u32,
    /// How it went.
    pub outcome: Outcome,
    /// What it found.
    pub findings: Vec<Finding>,
    /// Paths it could not review, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unread: BTreeMap<String, String>,
    /// Paths it did not review on purpose, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, String>,
    /// How many more findings of a rule there were than are kept, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// What a reader should know about a path that was reviewed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// What models did for it; absent in a report of the analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
    /// What became of a tool; absent unless it is the report of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRun>,
}

impl AgentReport {
    /// A report without findings.
    pub fn new(agent: &str, chunk: u32, outcome: Outcome) -> Self {
        Self {
            agent: agent.to_owned(),
            chunk,
            outcome,
            findings: Vec::new(),
            unread: BTreeMap::new(),
            skipped: BTreeMap::new(),
            left_out: BTreeMap::new(),
            notes: BTreeMap::new(),
            model: None,
            tool: None,
        }
    }
}

/// How a task of an agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It reviewed everything it should.
    Done,
    /// The settings turned it off.
    Off,
    /// It gave up; the review goes on without it and says so.
    Failed(String),
}

fn is_zero<N: PartialEq + Default>(number: &N) -> bool {
    *number == N::default()
}

/// How long after a review that models or tools left incomplete they are asked again, the first time and later.
const REVISITS: [Duration; 4] = [
    Duration::from_secs(300),
    Duration::from_secs(1_800),
    Duration::from_secs(7_200),
    Duration::from_secs(28_800),
];

impl ReviewState {
    /// What every task reported.
    pub fn reports(&self) -> impl Iterator<Item = &AgentReport> {
        self.agents.values().chain(self.models.values()).chain(self.tool_runs.values())
    }

    /// The tools whose findings it has, and what became of their results.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        let brought = self.ingested.iter().flat_map(|change| &change.tools);
        let runs = self.tool_runs.values().filter_map(|report| report.tool.as_ref());
        brought.chain(runs.flat_map(|run| &run.uses))
    }

    /// Whether a model failed in a way that asking again later cannot cure, and how.
    pub fn refusal(&self) -> Option<&str> {
        let refused =
            |report: &&AgentReport| report.model.as_ref().is_some_and(|used| used.permanent);
        self.models.values().find(refused).and_then(|report| match &report.outcome {
            Outcome::Failed(why) => Some(why.as_str()),
            _ => None,
        })
    }
}

impl State for ReviewState {
    type Input = ReviewStart;
    type Update = ReviewUpdate;

    fn new(request: ReviewStart) -> Self {
        Self {
            target: request.target,
            overrides: request.settings,
            tools: request.tools,
            introduction: request.introduction,
            ingested: None,
            agents: BTreeMap::new(),
            models: BTreeMap::new(),
            tool_runs: BTreeMap::new(),
            judgement: None,
            published: None,
        }
    }

    fn validate(&self, update: &ReviewUpdate) -> Result<(), Invalid> {
        match update {
            ReviewUpdate::Ingested(_) => Ok(()),
            _ if self.ingested.is_none() => {
                Err(Invalid::new("ingested", "the change, before anything else"))
            }
            ReviewUpdate::Agent(report)
            | ReviewUpdate::Model(report)
            | ReviewUpdate::Tool(report) => check_findings(report),
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
                let key = ReportKey { agent: report.agent.clone(), chunk: report.chunk };
                self.agents.insert(key, report);
            }
            ReviewUpdate::Model(report) => {
                self.models.insert(report.chunk, report);
            }
            ReviewUpdate::Tool(report) => {
                self.tool_runs.insert(report.chunk, report);
            }
            ReviewUpdate::Judged(judgement) => self.judgement = Some(judgement),
            ReviewUpdate::Published(published) => self.published = Some(published),
        }
    }

    /// What models did not answer they are asked again, and tools that may do better later are run again.
    fn revisit(&self, times: u32) -> Option<Duration> {
        let failed = |report: &AgentReport| matches!(report.outcome, Outcome::Failed(_));
        let times = usize::try_from(times).ok()?;
        let curable =
            |report: &&AgentReport| report.tool.as_ref().is_some_and(|run| !run.permanent);
        let mut left = self.models.values().chain(self.tool_runs.values().filter(curable));
        REVISITS.get(times).copied().filter(|_| left.any(failed))
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
