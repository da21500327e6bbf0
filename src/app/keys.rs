//! Keys of model providers, from the variables that their own tools read.

use std::{env, fs};

use crate::base::Secret;

/// The key in the variable `name`, or in the file that `name_FILE` names.
pub(super) fn of_provider(name: &str) -> Option<Secret> {
    let given = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let in_file = || {
        let path = given(&format!("{name}_FILE"))?;
        let read = fs::read_to_string(&path);
        read.map_err(|error| tracing::warn!(path, %error, "a model provider's key cannot be read"))
            .ok()
    };
    given(name).or_else(in_file).map(|key| Secret::from(key.trim()))
}
