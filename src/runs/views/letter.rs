//! Dead letters as they are shown.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::words;
use crate::graph::{
    RunId,
    store::{Letter, LetterReason, LetterState},
};

/// A dead letter as listings show it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeadLetter {
    /// Its id.
    pub id: String,
    /// Why it was given up.
    #[schema(schema_with = words::letter_reason)]
    pub reason: LetterReason,
    /// Its run, if it had come to one.
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// Its workflow, if known.
    pub workflow: Option<String>,
    /// The node that failed.
    pub node: Option<String>,
    /// What went wrong.
    pub error: String,
    /// Executions that failed.
    pub executions: u32,
    /// When it first failed: RFC 3339.
    pub first_at: String,
    /// When it failed last: RFC 3339.
    pub last_at: String,
    /// What became of it.
    #[schema(schema_with = words::letter_state)]
    pub state: LetterState,
}

/// A dead letter by itself.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeadLetterDetails {
    /// What listings show.
    #[serde(flatten)]
    pub letter: DeadLetter,
    /// Whether the queue's own dead-letter place has confirmed it.
    pub confirmed: bool,
    /// The message's headers.
    pub headers: BTreeMap<String, String>,
    /// The message's body as people may read it: sensitive fields redacted.
    pub payload: String,
}

/// A dead letter as listings show it.
pub fn dead_letter(letter: &Letter) -> DeadLetter {
    DeadLetter {
        id: letter.id.clone(),
        reason: letter.reason,
        run: letter.run.clone(),
        workflow: letter.workflow.clone(),
        node: letter.node.clone(),
        error: letter.error.clone(),
        executions: letter.executions,
        first_at: letter.first_at.to_string(),
        last_at: letter.last_at.to_string(),
        state: letter.state,
    }
}

/// A dead letter by itself, with its payload as people may read it.
pub fn dead_letter_details(letter: &Letter, payload: &str) -> DeadLetterDetails {
    DeadLetterDetails {
        letter: dead_letter(letter),
        confirmed: letter.confirmed,
        headers: letter.headers.clone(),
        payload: payload.to_owned(),
    }
}
