//! What a workflow's state is: one typed struct, changed only by updates, at step barriers.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::base::Fault;

/// The state of a run. It is never stored: it is what comes of `new` and every `merge` since, in
/// order, so both must depend on nothing but their arguments. A change of either is a new version
/// of the workflow. Updates are written down as JSON, so their numbers must be finite.
pub trait State: Clone + Serialize + Send + Sync + 'static {
    /// What starts a run.
    type Input: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// A node's partial update. Fields it does not mention stay as they were.
    type Update: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Names of fields, at any depth, whose values never appear in logs, events or listings: of the
    /// state, of inputs and updates, of requests and answers. Texts that nodes write themselves
    /// (errors, reasons) are theirs to keep clean.
    const SENSITIVE: &'static [&'static str] = &[];
    /// Whether [`State::check`] says anything; if so each merge works on a copy.
    const CHECKED: bool = false;

    /// The state a run starts with.
    fn new(input: Self::Input) -> Self;

    /// Whether the update may be merged: ranges, references, sizes. Asked when the node ends,
    /// against the state it saw, so a refusal is that node's failure.
    ///
    /// # Errors
    /// Names the field and what was expected.
    fn validate(&self, update: &Self::Update) -> Result<(), Invalid> {
        let _ = update;
        Ok(())
    }

    /// Merges one update, field by field (replace, append, keyed map…). Called in task order.
    fn merge(&mut self, update: Self::Update);

    /// What must hold between steps whatever was merged. Asked only if [`State::CHECKED`].
    ///
    /// # Errors
    /// Names the field and what was expected.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Asked when the run completes: whether it should be woken later to run again the tasks that
    /// failed and were passed over, and after how long. `times` counts the wake-ups so far.
    fn revisit(&self, times: u32) -> Option<std::time::Duration> {
        let _ = times;
        None
    }
}

/// An update or a state that breaks a rule of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid update: field `{field}`: expected {expected}")]
pub struct Invalid {
    /// The field, by its path.
    pub field: String,
    /// The type or range it should have had.
    pub expected: String,
}

impl Invalid {
    /// The field, and the type or range it should have had.
    pub fn new(field: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { field: field.into(), expected: expected.into() }
    }
}

impl From<Invalid> for Fault {
    fn from(invalid: Invalid) -> Self {
        Fault::permanent(invalid.to_string())
    }
}

/// `value` with every field named in `names`, at any depth, replaced by `"[redacted]"`.
pub fn redact(mut value: Value, names: &[&str]) -> Value {
    if !names.is_empty() {
        redact_in(&mut value, names);
    }
    value
}

fn redact_in(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if names.contains(&name.as_str()) {
                    *field = Value::String("[redacted]".to_owned());
                } else {
                    redact_in(field, names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_in(item, names)),
        _ => {}
    }
}
