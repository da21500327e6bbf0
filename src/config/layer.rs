//! One source of settings: the settings file, or one environment variable. Each is a layer of its
//! own, so that an error and `config show` can name it.

use figment::{
    Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Value},
};

use super::{
    ConfigError, Settings,
    error_map::bad_value,
    keys::{SECRETS, join, known_keys, nearest},
};

/// Settings from one source, all keys known.
pub(super) struct Layer {
    source: String,
    values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}

impl Layer {
    /// The settings file's text.
    pub(super) fn toml(source: &str, text: &str) -> Result<Self, ConfigError> {
        let values: Dict = toml::from_str(text).map_err(|error| syntax(source, text, &error))?;
        Self::checked(source.to_owned(), values)
    }

    /// One setting from an environment variable. Its text becomes whatever the setting's type
    /// accepts first: text, a number or truth value, a list.
    pub(super) fn variable(source: &str, key: &str, text: &str) -> Result<Self, ConfigError> {
        let mut first_error = None;
        for value in readings(text) {
            let layer = Self::checked(source.to_owned(), nest(key, value))?;
            match Figment::from(Layer::defaults()).merge(&layer).extract::<Settings>() {
                Ok(_) => return Ok(layer),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        let error = first_error.unwrap_or_else(|| figment::Error::from(String::from("empty")));
        Err(bad_value(error))
    }

    /// What holds when nobody says otherwise.
    pub(super) fn defaults() -> Self {
        let values = Value::serialize(Settings::default()).ok().and_then(Value::into_dict);
        Self { source: "default".to_owned(), values: values.unwrap_or_default() }
    }

    fn checked(source: String, values: Dict) -> Result<Self, ConfigError> {
        check("", &values, &source, &known_keys())?;
        Ok(Self { source, values })
    }
}

/// Refuses keys nobody knows, and secrets that are no text (before an error could quote them).
fn check(path: &str, table: &Dict, source: &str, known: &[String]) -> Result<(), ConfigError> {
    let bad = |key, why: &str| {
        let (source_name, why) = (source.to_owned(), why.to_owned());
        Err(ConfigError::BadValue { key, source_name, why })
    };
    for (name, value) in table {
        let key = join(path, name);
        if known.contains(&key) {
            let filled = value.as_str().is_some_and(|text| !text.trim().is_empty());
            if SECRETS.contains(&key.as_str()) && !filled {
                return bad(key, "expected text that is not empty");
            }
            continue;
        }
        let is_section = known.iter().any(|known| known.starts_with(&format!("{key}.")));
        match value {
            Value::Dict(_, inner) if is_section || !inner.is_empty() => {
                check(&key, inner, source, known)?;
            }
            _ if is_section => return bad(key, "expected a table of settings"),
            _ => return Err(unknown(key, source, known)),
        }
    }
    Ok(())
}

fn unknown(key: String, source: &str, known: &[String]) -> ConfigError {
    let hint = nearest(&key, known).map(|near| format!("; did you mean `{near}`?"));
    ConfigError::UnknownKey { key, source_name: source.to_owned(), hint: hint.unwrap_or_default() }
}

/// What the text of a variable could mean, likeliest first.
fn readings(text: &str) -> Vec<Value> {
    let mut readings = vec![Value::from(text)];
    let trimmed = text.trim();
    if let Ok(number) = trimmed.parse::<u64>() {
        readings.push(Value::from(number));
    } else if let Ok(number) = trimmed.parse::<f64>() {
        readings.push(Value::from(number));
    }
    if let Ok(truth) = trimmed.parse::<bool>() {
        readings.push(Value::from(truth));
    }
    if trimmed.starts_with('[') {
        let list = serde_json::from_str::<Vec<serde_json::Value>>(trimmed).ok();
        readings.extend(list.and_then(|list| Value::serialize(list).ok()));
    } else {
        let list: Vec<_> = trimmed.split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
        readings.extend(Value::serialize(list).ok());
    }
    readings
}

/// `a.b.c` and a value as nested tables.
fn nest(key: &str, value: Value) -> Dict {
    match key.split_once('.') {
        Some((head, rest)) => Dict::from([(head.to_owned(), Value::from(nest(rest, value)))]),
        None => Dict::from([(key.to_owned(), value)]),
    }
}

fn syntax(source: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    ConfigError::Syntax {
        source_name: source.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        why: error.message().trim().replace('\n', ", "),
    }
}
