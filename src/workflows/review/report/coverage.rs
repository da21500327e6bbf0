//! What was looked at, per file and agent.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    analysis::Category,
    workflows::review::state::{Outcome, ReviewFile, ReviewState},
};

/// Whether something was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Looked {
    /// It was.
    Done,
    /// It was not, on purpose.
    Skipped,
    /// It was not, because something went wrong.
    Failed,
}

/// What became of one changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The path.
    pub path: String,
    /// The worst of its agents.
    pub status: Looked,
    /// Why it was not looked at, or what to know though it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Lines the change touches.
    pub lines: u64,
    /// By agent.
    pub agents: BTreeMap<&'static str, Looked>,
}

/// Every changed path, in the order of the change.
pub fn coverage(state: &ReviewState) -> Vec<Coverage> {
    let files = state.ingested.iter().flat_map(|i| &i.files);
    files.map(|file| of_file(state, file)).collect()
}

fn of_file(state: &ReviewState, file: &ReviewFile) -> Coverage {
    let mut agents = BTreeMap::new();
    let mut reason = file.skipped.clone().or_else(|| file.note.clone());
    for category in Category::ALL {
        let (looked, why) = of_agent(state, file, *category);
        reason = reason.or(why);
        agents.insert(category.word(), looked);
    }
    let worst = agents.values().filter(|l| **l == Looked::Failed).max();
    let best = agents.values().min();
    let status = worst.or(best).copied().unwrap_or(Looked::Skipped);
    Coverage { path: file.change.path.clone(), status, reason, lines: file.touched(), agents }
}

fn of_agent(state: &ReviewState, file: &ReviewFile, agent: Category) -> (Looked, Option<String>) {
    if file.skipped.is_some() {
        return (Looked::Skipped, None);
    }
    match state.agents.get(&agent).map(|r| (&r.outcome, r.unread.get(&file.change.path))) {
        None => (Looked::Failed, Some(format!("{agent} did not run"))),
        Some((Outcome::Off, _)) => (Looked::Skipped, None),
        Some((Outcome::Failed(why), _)) => (Looked::Failed, Some(format!("{agent}: {why}"))),
        Some((Outcome::Done, Some(why))) => (Looked::Failed, Some(why.clone())),
        Some((Outcome::Done, None)) => (Looked::Done, None),
    }
}
