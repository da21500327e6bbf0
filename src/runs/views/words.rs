//! The words of the engine's enums as schemas, read off the enums themselves.

use utoipa::openapi::{
    Array, Object, ObjectBuilder,
    schema::{ArrayBuilder, SchemaType, Type},
};

use crate::graph::{
    RunStatus,
    store::{LetterReason, LetterState, WaitingFor},
};

fn one_of(description: &str, words: &[&'static str]) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .enum_values(Some(words.iter().copied()))
        .build()
}

/// A run's status.
pub fn run_status() -> Object {
    one_of("Where the run stands", &RunStatus::ALL.map(RunStatus::as_str))
}

/// What a run waits for.
pub fn waiting_for() -> Object {
    one_of("What it waits for", &WaitingFor::ALL.map(WaitingFor::as_str))
}

/// A dead letter's reason.
pub fn letter_reason() -> Object {
    one_of("Why it was given up", &LetterReason::ALL.map(LetterReason::as_str))
}

/// A dead letter's reason, where any will do.
pub fn any_letter_reason() -> Object {
    let mut reason = letter_reason();
    reason.schema_type = SchemaType::from_iter([Type::String, Type::Null]);
    reason.enum_values.get_or_insert_default().push(serde_json::Value::Null);
    reason
}

/// A dead letter's state.
pub fn letter_state() -> Object {
    one_of("What became of it", &LetterState::ALL.map(LetterState::as_str))
}

/// Any number of statuses.
pub fn run_statuses() -> Array {
    ArrayBuilder::new().items(run_status()).build()
}

/// Any number of kinds of waiting.
pub fn waiting_kinds() -> Array {
    ArrayBuilder::new().items(waiting_for()).build()
}
