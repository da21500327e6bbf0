//! The shape of JSON: which keys every example has, and of what type.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The types that a key has in all examples that have it, for keys that every example has.
fn shape(examples: &[&Value]) -> BTreeMap<String, BTreeSet<&'static str>> {
    let mut keys: Option<BTreeSet<String>> = None;
    let mut types: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    for example in examples {
        let mut paths = BTreeMap::new();
        walk("", example, &mut paths);
        let here: BTreeSet<_> = paths.keys().cloned().collect();
        keys = Some(keys.map_or(here.clone(), |keys| keys.intersection(&here).cloned().collect()));
        for (path, kind) in paths {
            types.entry(path).or_default().insert(kind);
        }
    }
    let keys = keys.unwrap_or_default();
    types.retain(|path, _| keys.contains(path));
    types
}

/// Every key below a value, as a path, with the type of what it holds. Lists are not looked into.
fn walk(path: &str, value: &Value, found: &mut BTreeMap<String, &'static str>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{key}");
        walk(&path, value, found);
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        found.insert(path, kind);
    }
}

/// Where a webhook differs from GitHub's examples of its event and action.
pub fn differences(event: &str, payload: &Value, examples: &Value) -> Vec<String> {
    let of_event = examples.as_array().unwrap().iter().filter(|entry| entry["name"] == event);
    let all: Vec<_> = of_event.flat_map(|entry| entry["examples"].as_array().unwrap()).collect();
    let same: Vec<_> =
        all.iter().copied().filter(|example| example["action"] == payload["action"]).collect();
    let wanted = shape(if same.is_empty() { &all } else { &same });
    assert!(!wanted.is_empty(), "GitHub has no example of {event}");
    let mut ours = BTreeMap::new();
    walk("", payload, &mut ours);
    // What an account or repository of the example happens to have, and what an installation of old had.
    let other = |path: &str| {
        path.contains("/permissions/") || path.contains("/milestone") || path.contains("/assignee")
    };
    let gone = |path: &str| matches!(path, "/installation/created_at" | "/installation/updated_at");
    let mut differences = Vec::new();
    for (path, types) in wanted.iter().filter(|(path, _)| !other(path) && !gone(path)) {
        match ours.get(path) {
            // GitHub says less about what is null.
            None if has_null_above(path, &ours) => {}
            None => differences.push(format!("{path} is missing")),
            Some(kind) if types.contains(kind) || *kind == "null" || types.contains("null") => {}
            Some(kind) => differences.push(format!("{path} is {kind}, not {types:?}")),
        }
    }
    differences
}

fn has_null_above(path: &str, ours: &BTreeMap<String, &'static str>) -> bool {
    let parents = path.match_indices('/').skip(1).map(|(at, _)| &path[..at]);
    parents.into_iter().any(|parent| ours.get(parent) == Some(&"null"))
}
