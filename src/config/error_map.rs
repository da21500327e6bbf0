//! From the merging library's errors to ours: which key, set where, what was expected.

use figment::error::Kind;

use super::{
    ConfigError, Settings,
    keys::{leaves, nearest},
};

/// The error of a value that does not fit its setting.
pub(super) fn bad_value(error: figment::Error) -> ConfigError {
    let key = error.path.join(".");
    let source_name = error.metadata.as_ref().map_or("the settings", |m| m.name.as_ref());
    let mut why = match &error.kind {
        Kind::InvalidType(found, wanted) | Kind::InvalidValue(found, wanted) => {
            format!("expected {}, found {found}", plain(wanted))
        }
        Kind::UnknownVariant(found, wanted) => {
            let wanted: Vec<_> = wanted.iter().map(|word| format!("`{word}`")).collect();
            format!("expected {}, found `{found}`", wanted.join(" or "))
        }
        Kind::UnknownField(found, known) => match nearest(found, known.iter().copied()) {
            Some(near) => format!("unknown name `{found}`; did you mean `{near}`?"),
            None => format!("unknown name `{found}`; there are {}", known.join(", ")),
        },
        other => other.to_string(),
    };
    if let Some(example) = example(&key).filter(|_| !why.starts_with("expected `")) {
        why.push_str(&format!(" (for example `{example}`)"));
    }
    ConfigError::BadValue { key, source_name: source_name.to_owned(), why }
}

/// Types as people name them.
fn plain(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "a sequence" => "a list",
        "path string" => "a path",
        other => other,
    }
}

/// The setting's default, where it has one: a value that surely fits.
fn example(key: &str) -> Option<String> {
    let (_, value) = leaves(&Settings::default()).into_iter().find(|(k, _)| k == key)?;
    match value {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
