//! Runs, their records and dead letters as listings show them: the JSON that README promises.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    base::Timestamp,
    graph::{Head, Meta, store::Letter},
    workflows::Inspected,
};

/// A run as listings show it at this time.
pub fn run(head: &Head, now: Timestamp) -> Value {
    json!({
        "id": head.id,
        "workflow": head.workflow,
        "key": head.key,
        "subject": head.subject,
        "status": head.status,
        "waiting": waiting(head, now),
        "executions": head.executions,
        "created_at": head.created_at.to_string(),
        "updated_at": head.updated_at.to_string(),
        "error": head.error,
    })
}

/// What it waits for, and until when if it waits for a time.
fn waiting(head: &Head, now: Timestamp) -> Value {
    let mut waiting = json!(head.waits(now));
    let until = head.not_before.filter(|at| at.0 > 0);
    if let (Value::Object(fields), Some(until)) = (&mut waiting, until) {
        fields.insert("until".to_owned(), json!(until.to_string()));
    }
    waiting
}

/// A run by itself: what listings show, its state, and what it waits for.
pub fn run_details(seen: &Inspected, now: Timestamp) -> Value {
    let pending = seen
        .pending
        .iter()
        .map(|(index, node, waits)| json!({"index": index, "node": node, "waits": waits}));
    let letters =
        seen.letters.iter().map(|(id, confirmed)| json!({"id": id, "confirmed": confirmed}));
    let more = json!({
        "version": seen.head.workflow_version,
        "not_before": seen.head.not_before.map(|at| at.to_string()),
        "owner": seen.head.lease.as_ref().map(|lease| &lease.owner),
        "pending": pending.collect::<Value>(),
        "interrupts": seen.interrupts,
        "failures": seen.failures,
        "letters": letters.collect::<Value>(),
        "timings": seen.timings,
        "state": seen.state,
    });
    with(run(&seen.head, now), more)
}

/// A dead letter as listings show it.
pub fn dead_letter(letter: &Letter) -> Value {
    json!({
        "id": letter.id,
        "reason": letter.reason,
        "run": letter.run,
        "workflow": letter.workflow,
        "node": letter.node,
        "error": letter.error,
        "executions": letter.executions,
        "first_at": letter.first_at.to_string(),
        "last_at": letter.last_at.to_string(),
        "state": letter.state,
    })
}

/// A dead letter by itself, with its payload as people may read it.
pub fn dead_letter_details(letter: &Letter, payload: &str) -> Value {
    let more =
        json!({"confirmed": letter.confirmed, "headers": letter.headers, "payload": payload});
    with(dead_letter(letter), more)
}

fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

/// A record as listings show it.
#[derive(Debug, Clone, Serialize)]
pub struct HistoryRow {
    /// Its number in the run's log, from 1.
    pub seq: u64,
    /// What kind of record.
    pub kind: &'static str,
    /// The step it is about.
    pub step: Option<u32>,
    /// The node it is about.
    pub node: Option<Arc<str>>,
    /// The task of the step.
    pub index: Option<u32>,
    /// How often the task was tried.
    pub attempt: Option<u32>,
    /// When: RFC 3339.
    pub at: String,
    /// How long the task took, all tries together.
    pub duration_ms: Option<f64>,
    /// What else there is to say, for people.
    #[serde(skip)]
    pub note: String,
}

impl HistoryRow {
    /// Of a record: its number, time and content.
    pub fn of(seq: u64, at: Timestamp, meta: Meta) -> Self {
        let bare = Self {
            seq,
            kind: meta.kind(),
            step: meta.step(),
            node: None,
            index: None,
            attempt: None,
            at: at.to_string(),
            duration_ms: None,
            note: String::new(),
        };
        match meta {
            Meta::TaskFinished { node, index, attempts, us, fault, .. } => Self {
                node: Some(node),
                index: Some(index),
                attempt: Some(attempts),
                duration_ms: Some(us as f64 / 1e3),
                note: fault.map(|fault| fault.message).unwrap_or_default(),
                ..bare
            },
            Meta::Interrupted { id, node, index, .. } => {
                Self { node: Some(node), index, note: id, ..bare }
            }
            Meta::Parked { node, index, until, reason, .. } => Self {
                node: Some(node),
                index: Some(index),
                note: format!("until {until}: {reason}"),
                ..bare
            },
            Meta::Reopened { why, from, .. } => Self { step: Some(from), note: why, ..bare },
            Meta::Resumed { id } | Meta::Letter { id } | Meta::LetterConfirmed { id } => {
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
