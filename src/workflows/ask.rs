//! What nodes ask outside: a language model, or a person.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    base::{Fault, Result, invalid_input},
    graph::{Context, NodeError, State},
    model::{self, Account, Model, Request},
};

/// What a model is asked.
pub(super) struct Question<'q> {
    /// What it is for: `WORKFLOW.NODE`.
    pub(super) purpose: &'q str,
    /// The task, the same each time.
    pub(super) instructions: &'q str,
    /// What this question is about.
    pub(super) prompt: String,
}

/// Asks the model for a `T` in the name of a node, which needs no retries of its own for it: the
/// model has its own.
///
/// # Errors
/// As [`model::complete`]; permanent, naming the setting, when no model is configured.
pub(super) async fn ask_model<T, S, D>(
    ctx: &Context<S, D>,
    model: Option<&Arc<dyn Model>>,
    question: Question<'_>,
) -> Result<T>
where
    T: JsonSchema + DeserializeOwned,
    S: State,
    D: Send + Sync + 'static,
{
    let Question { purpose, instructions, prompt } = question;
    let (watched, run) = (ctx.clone(), ctx.run().id.to_string());
    let request = Request::new(purpose, instructions, prompt)
        .cancelled_by(ctx.cancelled().clone())
        .paid_by(Account { run, ..Account::default() })
        .reporting(move |progress| watched.progress("tokens", progress));
    let completed = model::complete(model::configured(model)?, request).await;
    Ok(completed.map_err(Fault::from)?.value)
}

/// Asks a person for a `T`. An answer of another shape, or one that does not pass `check`, does not
/// fail the node: the question is asked again, under the name `NAME-2` and so on, with the reason as
/// its `problem`.
///
/// # Errors
/// The interrupt, until somebody has answered.
pub(super) fn ask_person<T, S, D>(
    ctx: &Context<S, D>,
    name: &str,
    request: &impl Serialize,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, NodeError>
where
    T: DeserializeOwned,
    S: State,
{
    let unwritable = |e: serde_json::Error| Fault::permanent(format!("`{name}` is no JSON: {e}"));
    let mut request = serde_json::to_value(request).map_err(unwritable)?;
    let (mut asked, mut times) = (name.to_owned(), 1);
    loop {
        let answer: Value = ctx.interrupt(&asked, &request)?;
        let answer = serde_json::from_value::<T>(answer).map_err(|error| invalid_input(&error));
        match answer.and_then(|answer| check(&answer).map(|()| answer)) {
            Ok(answer) => return Ok(answer),
            Err(problem) => request["problem"] = Value::String(problem),
        }
        times += 1;
        asked = format!("{name}-{times}");
    }
}
