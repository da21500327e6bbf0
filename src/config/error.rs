//! What can be wrong with settings, each told with the place to mend it.

use std::path::PathBuf;

/// Why settings were refused. Messages name the key and the file or variable it was set in, and
/// never hold a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A settings file, or the file behind a `*_FILE` variable, could not be read.
    #[error("cannot read {path}{named}: {why}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What named it: empty, or ` (named by VARIABLE)`.
        named: String,
        /// What the system answered.
        why: String,
    },
    /// The settings file is no TOML.
    #[error("{source_name}, line {line}, column {column}: not valid TOML: {why}")]
    Syntax {
        /// The file.
        source_name: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What the parser says; never the line itself, which may hold a secret.
        why: String,
    },
    /// No setting has this name.
    #[error("unknown setting `{key}` in {source_name}{hint}")]
    UnknownKey {
        /// The key as it was written, dotted.
        key: String,
        /// The file or variable.
        source_name: String,
        /// Empty, or `; did you mean ...?`.
        hint: String,
    },
    /// The setting exists, its value does not fit.
    #[error("bad value for `{key}` in {source_name}: {why}")]
    BadValue {
        /// The key, dotted.
        key: String,
        /// The file or variable.
        source_name: String,
        /// What was expected.
        why: String,
    },
    /// One setting came twice from the environment.
    #[error("both {variable} and {variable}_FILE are set; keep one of them")]
    Twice {
        /// The variable without `_FILE`.
        variable: String,
    },
    /// More than one of these.
    #[error("{} settings are wrong{}", .0.len(), listed(.0))]
    Several(Vec<ConfigError>),
}

fn listed(errors: &[ConfigError]) -> String {
    errors.iter().map(|error| format!("\n  {error}")).collect()
}

impl ConfigError {
    /// This one with those that were found before.
    pub(super) fn after(self, mut others: Vec<Self>) -> Self {
        if others.is_empty() {
            return self;
        }
        others.push(self);
        Self::Several(others)
    }

    /// The setting whose value does not fit.
    pub(super) fn value_of(&self) -> Option<&str> {
        match self {
            Self::BadValue { key, .. } => Some(key),
            _ => None,
        }
    }
}
