//! The settings as `verdict config show` lists them.

use serde::Serialize;
use serde_json::Value;

use crate::base::mask_urls;

use super::{
    Settings,
    keys::{SECRETS, leaves, variable_of},
};

/// One setting as it holds now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Dotted: `worker.lease`.
    pub key: String,
    /// The value; `(set)` or `(unset)` for a secret, `(unset)` for what has no value. Passwords in
    /// URLs are masked.
    pub value: String,
    /// The file or variable it came from, or `default`.
    pub origin: String,
    /// The environment variable that would set it.
    pub variable: String,
}

impl Settings {
    /// Every setting, sorted by key.
    pub fn describe(&self) -> Vec<Described> {
        let open = leaves(self).into_iter().map(|(key, value)| self.entry(key, shown(&value)));
        let secrets = SECRETS.iter().map(|&key| {
            let set = self.origin(key) != "default";
            self.entry(key.to_owned(), if set { "(set)" } else { UNSET }.to_owned())
        });
        let mut all: Vec<_> = open.chain(secrets).collect();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all
    }

    fn entry(&self, key: String, value: String) -> Described {
        let origin = self.origin(&key).to_owned();
        let variable = variable_of(&key);
        Described { key, value, origin, variable }
    }
}

const UNSET: &str = "(unset)";

fn shown(value: &Value) -> String {
    match value {
        Value::Null => UNSET.to_owned(),
        Value::String(text) => mask_urls(text).into_owned(),
        other => mask_urls(&other.to_string()).into_owned(),
    }
}
