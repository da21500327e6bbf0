//! Runs as they are shown.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::words;
use crate::{
    base::Timestamp,
    graph::{
        Failure, Head, RunId, RunStatus, Timings,
        store::{Question, Waiting, WaitingFor},
    },
    workflows::{Asked, Inspected},
};

/// A run as listings show it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Run {
    /// Its id: 32 hex digits.
    #[schema(value_type = String)]
    pub id: RunId,
    /// Its workflow.
    pub workflow: String,
    /// Its key: one key, one run.
    pub key: String,
    /// What it is about.
    pub subject: Option<String>,
    /// Where it stands.
    #[schema(schema_with = words::run_status)]
    pub status: RunStatus,
    /// What it waits for.
    pub waiting: Option<WaitsFor>,
    /// Executions that ended in a counted failure.
    pub executions: u32,
    /// When it was opened: RFC 3339.
    pub created_at: String,
    /// When something last happened to it: RFC 3339.
    pub updated_at: String,
    /// What went wrong last.
    pub error: Option<String>,
}

/// What a run waits for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WaitsFor {
    /// The kind.
    #[serde(rename = "for")]
    #[schema(schema_with = words::waiting_for)]
    pub kind: WaitingFor,
    /// Until when, if it waits for a time or has a deadline: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why, if a node said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when no worker knew its version: RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The oldest open interrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Vec<Interrupt>>,
    /// The keys of the events it waits for, the oldest wait first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// How many interrupts, or events, there are beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
}

/// An event that was sent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SentEvent {
    /// Its id.
    pub id: String,
    /// The runs that received it just now.
    #[schema(value_type = Vec<String>)]
    pub runs: Vec<RunId>,
}

/// An open interrupt, in short.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Interrupt {
    /// Its id.
    pub id: String,
    /// What is asked, in one line.
    pub title: String,
}

/// An open interrupt and the run that waits for its answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WaitingInterrupt {
    /// The run.
    #[schema(value_type = String)]
    pub run: RunId,
    /// Its workflow.
    pub workflow: String,
    /// What the run is about.
    pub subject: Option<String>,
    /// The interrupt's id, to answer it by.
    pub interrupt: String,
    /// What is asked, in one line.
    pub title: String,
    /// Since when the run waits: RFC 3339.
    pub since: String,
}

/// A run by itself: what listings show, its state, and what it waits for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RunDetails {
    /// What listings show.
    #[serde(flatten)]
    pub run: Run,
    /// The version of its workflow.
    pub version: u32,
    /// No worker takes it up before: RFC 3339.
    pub not_before: Option<String>,
    /// The process that holds it, or held it last.
    pub owner: Option<String>,
    /// Tasks of the current step without a result.
    pub pending: Vec<PendingTask>,
    /// Interrupts nobody has answered, sensitive fields redacted.
    #[schema(value_type = Vec<OpenInterrupt>)]
    pub interrupts: Vec<Asked>,
    /// Failures so far.
    #[schema(value_type = Vec<FailureRow>)]
    pub failures: Vec<Failure>,
    /// Dead letters written about it.
    pub letters: Vec<RunLetter>,
    /// What it took.
    #[schema(value_type = TimingsRow)]
    pub timings: Timings,
    /// The result as its workflow writes it for people, once the run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The state, sensitive fields redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
}

/// A task without a result.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PendingTask {
    /// Its place among the step's tasks, from 0.
    pub index: u32,
    /// Its node.
    #[schema(value_type = String)]
    pub node: Arc<str>,
    /// What it waits for.
    pub waits: &'static str,
}

/// A dead letter of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RunLetter {
    /// Its id.
    pub id: String,
    /// Whether the queue has it.
    pub confirmed: bool,
}

/// The JSON of [`Asked`].
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the JSON of another type")]
struct OpenInterrupt {
    /// Its id, to answer it by.
    id: String,
    /// The node that asks.
    node: String,
    /// What is asked.
    request: Value,
    /// Since when: RFC 3339.
    at: String,
}

/// The JSON of [`Failure`].
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the JSON of another type")]
struct FailureRow {
    /// The step.
    step: u32,
    /// The node, unless it was the step as a whole.
    node: Option<String>,
    /// `{"kind","message","retry_after"?}`: the kind is transient, timeout, outage or permanent.
    fault: Value,
}

/// The JSON of [`Timings`].
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the JSON of another type")]
struct TimingsRow {
    /// Active time, in milliseconds.
    total_ms: f64,
    /// Time by node, in milliseconds.
    nodes: std::collections::BTreeMap<String, f64>,
    /// The order in which tasks ended.
    order: Vec<String>,
    /// Tries beyond the first, by node.
    retries: std::collections::BTreeMap<String, u32>,
}

impl RunDetails {
    /// The same without the state.
    #[must_use]
    pub fn without_state(self) -> Self {
        Self { state: None, ..self }
    }
}

/// A run as listings show it at this time.
pub fn run(head: &Head, now: Timestamp) -> Run {
    Run {
        id: head.id.clone(),
        workflow: head.workflow.clone(),
        key: head.key.clone(),
        subject: head.subject.clone(),
        status: head.status,
        waiting: head.waits(now).map(|waits| waits_for(waits, head.not_before)),
        executions: head.executions,
        created_at: head.created_at.to_string(),
        updated_at: head.updated_at.to_string(),
        error: head.error.clone(),
    }
}

fn waits_for(waiting: Waiting, not_before: Option<Timestamp>) -> WaitsFor {
    let until = not_before.filter(|at| at.0 > 0).map(|at| at.to_string());
    let bare = WaitsFor {
        kind: waiting.kind(),
        until,
        reason: None,
        since: None,
        interrupts: None,
        events: None,
        more: None,
    };
    match waiting {
        Waiting::Person { interrupts, more } => WaitsFor {
            interrupts: Some(interrupts.into_iter().map(Interrupt::from).collect()),
            more: (more > 0).then_some(more),
            ..bare
        },
        Waiting::Event { events, more } => WaitsFor {
            events: Some(events.into_iter().map(|event| event.title).collect()),
            more: (more > 0).then_some(more),
            ..bare
        },
        Waiting::Time { reason } => WaitsFor { reason, ..bare },
        Waiting::Version { since } => WaitsFor { since: Some(since.to_string()), ..bare },
        Waiting::Limit | Waiting::Lease => bare,
    }
}

impl From<Question> for Interrupt {
    fn from(Question { id, title }: Question) -> Self {
        Self { id, title }
    }
}

/// The open interrupts of a run that its head names.
pub fn interrupts(head: &Head) -> Vec<WaitingInterrupt> {
    let Some(Waiting::Person { interrupts, .. }) = &head.waiting else { return Vec::new() };
    let row = |question: &Question| WaitingInterrupt {
        run: head.id.clone(),
        workflow: head.workflow.clone(),
        subject: head.subject.clone(),
        interrupt: question.id.clone(),
        title: question.title.clone(),
        since: head.updated_at.to_string(),
    };
    interrupts.iter().map(row).collect()
}

/// A run by itself: what listings show, its state, and what it waits for.
pub fn run_details(seen: &Inspected, now: Timestamp) -> RunDetails {
    let head = &seen.head;
    let pending = seen.pending.iter().cloned();
    let letters = seen.letters.iter().cloned();
    RunDetails {
        run: run(head, now),
        version: head.workflow_version,
        not_before: head.not_before.map(|at| at.to_string()),
        owner: head.lease.as_ref().map(|lease| lease.owner.clone()),
        pending: pending.map(|(index, node, waits)| PendingTask { index, node, waits }).collect(),
        interrupts: seen.interrupts.clone(),
        failures: seen.failures.clone(),
        letters: letters.map(|(id, confirmed)| RunLetter { id, confirmed }).collect(),
        timings: seen.timings.clone(),
        result: seen.rendered.clone().filter(|_| head.status.is_final()),
        state: Some(seen.state.clone()),
    }
}
