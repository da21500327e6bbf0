//! The agents: one file each, and THE list.
//!
//! An agent reviews the change from one side. It never fails the review: what goes wrong in one of
//! its tasks becomes part of that task's report, and the review says what is missing. Each of its
//! tasks runs under the agent's own timeout; all read through one [`ChangeReader`], so texts are
//! read, masked and parsed once however many agents there are.

mod logic;
mod pattern;
mod security;
mod style;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;

use super::{
    deps::ReviewDeps,
    plan::{self, Chunk},
    reader::{Analysed, ChangeReader, Limits, keep_first},
    state::{AgentReport, Ingested, Outcome, ReviewFile},
};
use crate::{
    analysis::{Finding, assign_fingerprints},
    base::{Fault, Result},
    forge::{FileChange, Target},
};

/// What one attempt of a task may take, unless its agent says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// One view of a change.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Names the agent, its node, and the agent of its findings. A word that stays.
    fn id(&self) -> &'static str;

    /// What one attempt of one of its tasks may take.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }

    /// Its tasks, at least one: chunks that together hold all files. One chunk, unless the change
    /// is large.
    fn plan(&self, files: &[ReviewFile], limits: &Limits) -> Vec<Chunk> {
        plan::chunks(files, limits, false)
    }

    /// Reviews one chunk.
    ///
    /// # Errors
    /// Transient if another attempt may help. The review goes on without this chunk otherwise.
    async fn review(&self, ctx: &AgentContext<'_>, chunk: &Chunk) -> Result<ChunkReport>;
}

/// Every agent.
pub const AGENTS: &[&dyn Agent] =
    &[&style::Style, &security::Security, &logic::Logic, &pattern::Pattern];

/// What an agent is given: the change as ingest planned it, and the reader of its texts.
pub struct AgentContext<'a> {
    /// What the nodes of the review share.
    pub deps: &'a ReviewDeps,
    /// The change.
    pub change: &'a Ingested,
    /// Reads it.
    pub reader: Arc<ChangeReader>,
    /// The agent's id.
    pub agent: &'a str,
}

/// What one task found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChunkReport {
    /// What it found; agent and fingerprint are set afterwards.
    pub findings: Vec<Finding>,
    /// Paths it could not review, each with the reason.
    pub unread: BTreeMap<String, String>,
    /// Paths it did not review on purpose, each with the reason.
    pub skipped: BTreeMap<String, String>,
    /// How many more findings of a rule there were than are kept, by path.
    pub left_out: BTreeMap<String, u64>,
    /// What a reader should know about a path that was reviewed.
    pub notes: BTreeMap<String, String>,
}

impl<'a> AgentContext<'a> {
    /// The files of a chunk that are to be reviewed.
    pub fn files(&self, chunk: &Chunk) -> Vec<&'a FileChange> {
        chunk.of(&self.change.files).map(|file| &file.change).collect()
    }

    /// What the analysers of every category say about each file of a chunk.
    pub(super) async fn analysed(
        &self,
        chunk: &Chunk,
    ) -> Result<Vec<(&'a FileChange, Arc<Analysed>)>> {
        let files = self.files(chunk);
        let analysed = self.reader.analysed(&self.change.rules, &files).await?;
        Ok(files.into_iter().zip(analysed).collect())
    }

    /// What the analysers of the category of the agent's name found in a chunk.
    ///
    /// # Errors
    /// When the forge does not answer.
    pub async fn category(&self, chunk: &Chunk) -> Result<ChunkReport> {
        let (mut report, mut kept) = (ChunkReport::default(), HashMap::new());
        for (file, analysed) in self.analysed(chunk).await? {
            let own = analysed.findings.iter().filter(|f| f.agent == self.agent);
            let mut findings: Vec<Finding> = own.cloned().collect();
            let mut left_out = analysed.left_out.get(self.agent).copied().unwrap_or_default();
            keep_first(&mut findings, &mut kept, |_| left_out += 1);
            report.findings.append(&mut findings);
            let path = || file.path.clone();
            report.unread.extend(analysed.failed.clone().map(|why| (path(), why)));
            report.skipped.extend(analysed.skipped.clone().map(|why| (path(), why)));
            let mut notes = analysed.cut_off.iter();
            let note = notes.find(|(category, _)| category.word() == self.agent);
            report.notes.extend(note.map(|(_, why)| (path(), why.clone())));
            report.left_out.extend((left_out > 0).then(|| (path(), left_out)));
        }
        Ok(report)
    }
}

/// Runs one task of an agent: its chunk of this number.
///
/// # Errors
/// When the forge does not answer; worth another try if the fault says so.
pub async fn run(
    deps: &ReviewDeps,
    target: &Target,
    agent: &dyn Agent,
    change: &Ingested,
    number: u32,
) -> Result<AgentReport> {
    if !change.settings.wants(agent.id()) {
        return Ok(report(agent, number, Outcome::Off, ChunkReport::default()));
    }
    let reader = deps.open(target).await?;
    let ctx = AgentContext { deps, change, reader, agent: agent.id() };
    let chunk = usize::try_from(number).ok().and_then(|at| change.plan.of(agent.id()).get(at));
    let none = || Fault::permanent(format!("agent `{}` has no chunk {number}", agent.id()));
    let mut found = agent.review(&ctx, chunk.ok_or_else(none)?).await?;
    for finding in &mut found.findings {
        agent.id().clone_into(&mut finding.agent);
    }
    assign_fingerprints(&mut found.findings);
    Ok(report(agent, number, Outcome::Done, found))
}

/// The report of a task that gave up.
pub fn gave_up(agent: &dyn Agent, number: u32, fault: &Fault) -> AgentReport {
    report(agent, number, Outcome::Failed(fault.message.clone()), ChunkReport::default())
}

fn report(agent: &dyn Agent, chunk: u32, outcome: Outcome, found: ChunkReport) -> AgentReport {
    let ChunkReport { findings, unread, skipped, left_out, notes } = found;
    let report = AgentReport::new(agent.id(), chunk, outcome);
    AgentReport { findings, unread, skipped, left_out, notes, ..report }
}
