//! What was reviewed, per file and agent.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::workflows::review::{
    models::ModelTask,
    state::{AgentReport, Ingested, Outcome, ReviewFile, ReviewState},
};

/// Whether something was reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
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
    pub status: Checked,
    /// Why it was not reviewed, or what to know though it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Lines the change touches.
    pub lines: u64,
    /// By agent, and by tool that the worker was to run on it.
    pub agents: BTreeMap<String, Checked>,
}

/// Every changed path, in the order of the change.
pub fn coverage(state: &ReviewState) -> Vec<Coverage> {
    let Some(change) = &state.ingested else { return Vec::new() };
    let files = change.files.iter().enumerate();
    files.map(|(at, file)| of_file(state, change, (at, file))).collect()
}

fn of_file(state: &ReviewState, change: &Ingested, (at, file): (usize, &ReviewFile)) -> Coverage {
    let path = &file.change.path;
    let mut agents = BTreeMap::new();
    let (mut reason, mut left_out) = (file.skipped.clone(), file.left_out);
    let mut notes: Vec<String> = file.note.iter().cloned().collect();
    for agent in change.plan.agents() {
        let report = report_of(state, change, agent, at);
        left_out += report.and_then(|r| r.left_out.get(path)).copied().unwrap_or_default();
        notes.extend(report.and_then(|r| r.notes.get(path)).cloned());
        let (checked, why) = match of_agent(file, agent, report) {
            (Checked::Done, None) => of_models(state, change, agent, (at, path)),
            other => other,
        };
        reason = reason.or(why);
        agents.insert(agent.to_owned(), checked);
    }
    let worst = agents.values().filter(|l| **l == Checked::Failed).max();
    let best = agents.values().min();
    let status = worst.or(best).copied().unwrap_or(Checked::Skipped);
    for (tool, why) in of_tools(state, change, (at, path)) {
        let checked = if why.is_some() { Checked::Failed } else { Checked::Done };
        notes.extend(why);
        agents.insert(tool.to_owned(), checked);
    }
    let reason = reason.or_else(|| note(notes, left_out));
    Coverage { path: path.clone(), status, reason, lines: file.touched(), agents }
}

/// What a reader should know of a file that was reviewed.
fn note(mut notes: Vec<String>, left_out: u64) -> Option<String> {
    if left_out > 0 {
        notes.push(format!("{left_out} more findings of rules that found 500 before"));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The report of the task of `agent` that the file at this place belongs to.
fn report_of<'s>(
    state: &'s ReviewState,
    change: &Ingested,
    agent: &str,
    at: usize,
) -> Option<&'s AgentReport> {
    let at = u32::try_from(at).unwrap_or(u32::MAX - 1);
    let number = change.plan.of(agent).iter().position(|chunk| chunk.files.contains(&at))?;
    let mut reports = state.agents.values();
    reports.find(|r| r.agent == agent && usize::try_from(r.chunk) == Ok(number))
}

/// What the models of an agent left of a file that its analysis has done.
fn of_models(
    state: &ReviewState,
    change: &Ingested,
    agent: &str,
    (at, path): (usize, &str),
) -> (Checked, Option<String>) {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let mine = |(_, task): &(u32, &ModelTask)| task.agent == agent && task.files.contains(&at);
    for (number, _) in (0..).zip(&change.models).filter(mine) {
        let why = match state.models.get(&number) {
            None => Some(format!("{agent}: its model was not asked")),
            Some(AgentReport { outcome: Outcome::Failed(why), .. }) => {
                Some(format!("{agent}, its model: {why}"))
            }
            Some(report) => report.unread.get(path).cloned(),
        };
        if why.is_some() {
            return (Checked::Failed, why);
        }
    }
    (Checked::Done, None)
}

/// The tools that were to be run on a file, each with what went wrong. They do not decide whether the
/// file was reviewed.
fn of_tools<'s>(
    state: &'s ReviewState,
    change: &'s Ingested,
    (at, path): (usize, &str),
) -> impl Iterator<Item = (&'s str, Option<String>)> {
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let tasks = (0..).zip(&change.tool_tasks).filter(move |(_, task)| task.files.contains(&at));
    tasks.map(move |(number, task)| {
        let why = match state.tool_runs.get(&number) {
            None => Some(format!("{} did not run", task.tool)),
            Some(AgentReport { outcome: Outcome::Failed(why), .. }) => {
                Some(format!("{}: {why}", task.tool))
            }
            Some(report) => report.unread.get(path).cloned(),
        };
        (&*task.tool, why)
    })
}

fn of_agent(
    file: &ReviewFile,
    agent: &str,
    report: Option<&AgentReport>,
) -> (Checked, Option<String>) {
    if file.skipped.is_some() {
        return (Checked::Skipped, None);
    }
    let Some(report) = report else {
        return (Checked::Failed, Some(format!("{agent} did not run")));
    };
    let path = &file.change.path;
    match (&report.outcome, report.unread.get(path), report.skipped.get(path)) {
        (Outcome::Off, ..) => (Checked::Skipped, None),
        (Outcome::Failed(why), ..) => (Checked::Failed, Some(format!("{agent}: {why}"))),
        (Outcome::Done, Some(why), _) => (Checked::Failed, Some(why.clone())),
        (Outcome::Done, None, Some(why)) => (Checked::Skipped, Some(why.clone())),
        (Outcome::Done, None, None) => (Checked::Done, None),
    }
}
