//! The call everybody uses: the schema is made from a type, the answer becomes a value of it, and an answer that does not fit
//! is sent back once, with the reason.

use std::{any, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;

use super::{
    Model,
    error::{FailureKind, ModelError},
    json,
    request::{Answer, Correction, Finish, OutputSchema, Request, Usage},
};
use crate::base::invalid_input;

/// How much of an answer that does not fit is sent back.
const MAX_CORRECTED_BYTES: usize = 8_000;

/// A value that a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed<T> {
    /// The value.
    pub value: T,
    /// What it used, the repair included.
    pub usage: Usage,
    /// The model that answered, as `adapter::name`.
    pub model: String,
    /// Whether the answer was cut off: what it says holds, and more may be missing.
    pub incomplete: bool,
}

/// Asks for a value of `T`.
///
/// # Errors
/// As [`Model::answer`]; and [`FailureKind::Unreadable`] when the second answer fits no better than the first.
pub async fn complete<T>(
    model: &dyn Model,
    mut request: Request,
) -> Result<Completed<T>, ModelError>
where
    T: JsonSchema + DeserializeOwned,
{
    request.schema = Arc::new(schema_of::<T>());
    let first = model.answer(&request).await?;
    let why = match read(&first) {
        Ok(value) => return Ok(completed(value, &first, Usage::default())),
        Err(why) => why,
    };
    let paid = first.usage;
    // Asked again it would be cut off again.
    if first.finish != Finish::Whole {
        return Err(unreadable(&request, &first, &why).having_paid(paid));
    }
    let end = first.text.floor_char_boundary(MAX_CORRECTED_BYTES.min(first.text.len()));
    request.correction = Some(Correction { answer: first.text[..end].to_owned(), why });
    let second = model.answer(&request).await.map_err(|error| error.having_paid(paid))?;
    match read(&second) {
        Ok(value) => Ok(completed(value, &second, paid)),
        Err(why) => {
            let usage = second.usage;
            Err(unreadable(&request, &second, &why).having_paid(paid).having_paid(usage))
        }
    }
}

fn completed<T>(value: T, answer: &Answer, mut usage: Usage) -> Completed<T> {
    usage += answer.usage;
    let incomplete = answer.finish != Finish::Whole;
    Completed { value, usage, model: answer.model.clone(), incomplete }
}

fn unreadable(request: &Request, answer: &Answer, why: &str) -> ModelError {
    let (purpose, model) = (&request.purpose, &answer.model);
    ModelError::new(
        FailureKind::Unreadable,
        format!("{purpose}: the answer of {model} does not fit its schema: {why}"),
    )
}

/// The value in an answer, or why there is none. The reason quotes nothing of the answer.
fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, String> {
    let cut = answer.finish != Finish::Whole;
    let value = json::read(&answer.text, cut)?;
    serde_json::from_value(value).map_err(|error| invalid_input(&error))
}

/// The JSON Schema of a type, without references.
fn schema_of<T: JsonSchema>() -> OutputSchema {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    let name = any::type_name::<T>().rsplit("::").next().unwrap_or("answer");
    let name = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    OutputSchema { name, schema }
}
