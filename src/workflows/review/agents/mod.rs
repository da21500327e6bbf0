//! The agents: one file each, and THE list.
//!
//! An agent looks at the change from one side. It never fails the review: what goes wrong in it
//! becomes part of its report, and the review says what is missing.

mod logic;
mod pattern;
mod security;
mod style;

use std::collections::BTreeMap;

use super::{
    deps::ReviewDeps,
    state::{AgentReport, Ingested, Outcome},
    texts,
};
use crate::{
    analysis::{Category, Finding, assign_fingerprints},
    base::{Fault, Result},
    forge::FileChange,
};

/// What sets an agent apart. Its name, and its node's, is its category's word.
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// Which findings are its business.
    pub category: Category,
    /// What it looks for, for people.
    pub purpose: &'static str,
}

/// Every agent.
pub const AGENTS: &[Agent] = &[style::AGENT, security::AGENT, logic::AGENT, pattern::AGENT];

/// Runs one agent over the change.
///
/// # Errors
/// When the forge does not answer; worth another try if the fault says so.
pub async fn run(deps: &ReviewDeps, agent: Agent, change: &Ingested) -> Result<AgentReport> {
    let category = agent.category;
    if !change.settings.agents.contains(&category) {
        let (findings, unread) = Default::default();
        return Ok(AgentReport { agent: category, outcome: Outcome::Off, findings, unread });
    }
    let files = readable(change);
    let readings = texts::readings(deps, &change.range, &change.rules, &files).await?;
    let mut findings: Vec<Finding> = Vec::new();
    let mut unread = BTreeMap::new();
    for (file, reading) in files.iter().zip(readings.iter()) {
        findings.extend(reading.findings.iter().filter(|f| f.agent == category).cloned());
        if let Some(why) = &reading.failed {
            unread.insert(file.path.clone(), why.clone());
        }
    }
    assign_fingerprints(&mut findings);
    Ok(AgentReport { agent: category, outcome: Outcome::Done, findings, unread })
}

/// The report of an agent that gave up.
pub fn gave_up(agent: Agent, fault: &Fault) -> AgentReport {
    AgentReport {
        agent: agent.category,
        outcome: Outcome::Failed(fault.message.clone()),
        findings: Vec::new(),
        unread: BTreeMap::new(),
    }
}

fn readable(change: &Ingested) -> Vec<&FileChange> {
    change.files.iter().filter(|f| f.read).map(|f| &f.change).collect()
}
