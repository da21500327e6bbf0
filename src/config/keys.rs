//! The names of all settings, read off the option structs themselves, so that a new option is
//! known, listed and checked without being named a second time.

use std::sync::LazyLock;

use serde_json::Value;

use super::Settings;

/// Settings that are secrets: shown only as set or unset. They are left out when options are
/// serialised, hence named here.
pub(super) const SECRETS: &[&str] = &[
    "github.token",
    "github.webhook_secret",
    "model.key",
    "queue.amqp.password",
    "server.read_token",
    "server.token",
    "store.encryption.keys",
    "store.postgres.password",
];

/// The sections of a repository's `.verdict.toml`, written here by mistake.
pub(super) const REPOSITORY_SECTIONS: [&str; 2] = ["review", "triggers"];

/// Settings that are no secrets but may carry a password.
const PLACES: &[&str] = &["queue.url", "store.url"];

/// Whether the setting may be given as `VARIABLE_FILE`.
pub(super) fn may_be_a_file(key: &str) -> bool {
    SECRETS.contains(&key) || PLACES.contains(&key)
}

/// Every setting, dotted and sorted: `forge.local.allow`, `log.format`, …
pub fn known_keys() -> &'static [String] {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let open = leaves(&Settings::default()).into_iter().map(|(key, _)| key);
        let mut keys: Vec<_> = open.chain(SECRETS.iter().map(|&key| key.to_owned())).collect();
        keys.sort();
        keys
    });
    &KEYS
}

/// The name of the environment variable of a setting: `VERDICT__WORKER__LEASE`.
pub fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

/// What the names of all our variables begin with.
pub(super) const PREFIX: &str = "VERDICT__";

/// Every setting that is no secret, with its value.
pub(super) fn leaves(settings: &Settings) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    if let Ok(Value::Object(sections)) = serde_json::to_value(settings) {
        collect("", sections, &mut found);
    }
    found
}

fn collect(path: &str, table: serde_json::Map<String, Value>, found: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let key = join(path, &name);
        match value {
            Value::Object(inner) => collect(&key, inner, found),
            leaf => found.push((key, leaf)),
        }
    }
}

/// `path.name`, or the name alone at the top.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The known key that was probably meant, if any is near enough.
pub(super) fn nearest<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let distance = |other: &str| {
        let whole = strsim::damerau_levenshtein(key, other);
        if last(key) == last(other) { whole.min(1) } else { whole }
    };
    let (distance, key_found) = known.into_iter().map(|k| (distance(k), k)).min()?;
    (distance <= 2.max(key.len() / 4)).then_some(key_found)
}
