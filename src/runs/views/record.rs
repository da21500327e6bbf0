//! A record of a run's log as it is shown.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    base::Fault,
    graph::{HistoryEntry, Meta, TaskStart},
};

/// A record as listings show it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Record)]
pub struct HistoryRow {
    /// Its number in the run's log, from 1.
    pub seq: u64,
    /// What kind of record: `started`, `task_finished`, …
    pub kind: &'static str,
    /// The subgraph it is of, by the tasks it is in: `STEP.TASK`, outermost first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The step it is about.
    pub step: Option<u32>,
    /// The node it is about; in a subgraph `NODE/NODE`.
    #[schema(value_type = Option<String>)]
    pub node: Option<Arc<str>>,
    /// The task of the step.
    pub index: Option<u32>,
    /// How often the task was tried.
    pub attempt: Option<u32>,
    /// When: RFC 3339.
    pub at: String,
    /// How long the task took, all tries together.
    pub duration_ms: Option<f64>,
    /// How the task failed, passed over or not: `{"kind","message","retry_after"?}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub fault: Option<Fault>,
    /// What else there is to say, for people.
    #[serde(skip)]
    pub note: String,
}

impl HistoryRow {
    /// Of a record.
    pub fn of(entry: HistoryEntry) -> Self {
        let HistoryEntry { seq, at, path, meta } = entry;
        let named = |node: Arc<str>| Some(path.name(&node));
        let bare = Self {
            seq,
            kind: meta.kind(),
            path: path.tasks(),
            step: meta.step(),
            node: None,
            index: None,
            attempt: None,
            at: at.to_string(),
            duration_ms: None,
            fault: None,
            note: String::new(),
        };
        match meta {
            Meta::TaskFinished { node, index, attempts, us, fault, .. } => Self {
                node: named(node),
                index: Some(index),
                attempt: Some(attempts),
                duration_ms: Some(us as f64 / 1e3),
                note: fault.as_ref().map(|fault| fault.message.clone()).unwrap_or_default(),
                fault,
                ..bare
            },
            Meta::Interrupted { id, node, index, .. } => {
                Self { node: named(node), index, note: id, ..bare }
            }
            Meta::Parked { node, index, until, reason, .. } => Self {
                node: named(node),
                index: Some(index),
                note: format!("until {until}: {reason}"),
                ..bare
            },
            Meta::Reopened { why, from, .. } => Self { step: Some(from), note: why, ..bare },
            Meta::Resumed { id, .. } | Meta::Letter { id } | Meta::LetterConfirmed { id } => {
                Self { note: id, ..bare }
            }
            Meta::Superseded { by } => Self { note: format!("by {by}"), ..bare },
            Meta::Cancelled { by } => Self { note: format!("by {by}"), ..bare },
            Meta::Forked { parent, step, .. } => {
                Self { step: Some(step), note: format!("from {parent}"), ..bare }
            }
            Meta::Started { .. } | Meta::StepFinished { .. } | Meta::Finished { .. } => bare,
        }
    }
}

/// A task that has started, as it is shown to whoever follows its run.
#[derive(Debug, Clone, Serialize)]
pub struct StartedTask {
    /// The subgraph it is in, by the tasks around it: `STEP.TASK`, outermost first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The step.
    pub step: u32,
    /// The node; in a subgraph `NODE/NODE`.
    pub node: Arc<str>,
    /// Its place among the step's tasks.
    pub index: u32,
    /// Since when it was to run: RFC 3339.
    pub at: String,
}

impl StartedTask {
    /// Of a task.
    pub fn of(task: TaskStart) -> Self {
        let TaskStart { path, step, node, index, at } = task;
        let node = path.name(&node);
        Self { path: path.tasks(), step, node, index, at: at.to_string() }
    }
}
