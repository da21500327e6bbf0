//! One source of settings: the settings file, or one environment variable. Each is a layer of its
//! own, so that an error and `config show` can name it.

use figment::{
    Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Value},
};

use super::{
    ConfigError, Settings,
    error_map::bad_value,
    keys::{REPOSITORY_SECTIONS, SECRETS, join, known_keys, nearest},
};

/// Settings from one source, all keys known.
pub(super) struct Layer {
    /// What it is called.
    pub(super) source: String,
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
    /// The settings file's text without what is wrong in it, which is added to `wrong`.
    pub(super) fn toml(source: &str, text: &str, wrong: &mut Vec<ConfigError>) -> Self {
        let values = toml::from_str(text).unwrap_or_else(|error| {
            wrong.push(syntax(source, text, &error));
            Dict::default()
        });
        Self::checked(source.to_owned(), values, wrong)
    }

    /// One setting from an environment variable. Its text becomes whatever the setting's type
    /// accepts first: text, a number or truth value, a list.
    pub(super) fn variable(source: &str, key: &str, text: &str) -> Result<Self, ConfigError> {
        let mut first_error = None;
        for value in readings(text) {
            let mut wrong = Vec::new();
            let layer = Self::checked(source.to_owned(), nest(key, value), &mut wrong);
            if let Some(error) = wrong.pop() {
                return Err(error.after(wrong));
            }
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

    /// Whether it says anything about a setting.
    pub(super) fn holds(&self, key: &str) -> bool {
        let mut names = key.split('.');
        let first = names.next().and_then(|name| self.values.get(name));
        names.fold(first, |table, name| table?.as_dict()?.get(name)).is_some()
    }

    /// Takes the value of a setting out; whether there was one.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        remove(&mut self.values, key)
    }

    fn checked(source: String, mut values: Dict, wrong: &mut Vec<ConfigError>) -> Self {
        check("", &mut values, &mut |key, kind| wrong.push(kind.error(key, &source)));
        Self { source, values }
    }
}

fn remove(table: &mut Dict, key: &str) -> bool {
    let inner = key.split_once('.').and_then(|(name, rest)| match table.get_mut(name)? {
        Value::Dict(_, inner) => Some((inner, rest)),
        _ => None,
    });
    match inner {
        Some((inner, rest)) => remove(inner, rest),
        // What is wrong inside a list is wrong with the list.
        None => table.remove(key.split('.').next().unwrap_or(key)).is_some(),
    }
}

/// What is wrong with a key, its value aside.
enum Wrong {
    Unknown,
    /// With what was expected.
    Value(&'static str),
}

impl Wrong {
    fn error(self, key: String, source: &str) -> ConfigError {
        let source_name = source.to_owned();
        match self {
            Self::Unknown => ConfigError::UnknownKey { hint: hint(&key), key, source_name },
            Self::Value(why) => ConfigError::BadValue { key, source_name, why: why.to_owned() },
        }
    }
}

/// Takes out keys nobody knows, and secrets that are no text (before an error could quote them).
fn check(path: &str, table: &mut Dict, wrong: &mut impl FnMut(String, Wrong)) {
    let known = known_keys();
    table.retain(|name, value| {
        let key = join(path, name);
        if known.contains(&key) {
            let filled = value.as_str().is_some_and(|text| !text.trim().is_empty());
            let bad = SECRETS.contains(&key.as_str()) && !filled;
            if bad {
                wrong(key, Wrong::Value("expected text that is not empty"));
            }
            return !bad;
        }
        let is_section = known.iter().any(|known| known.starts_with(&format!("{key}.")));
        match value {
            _ if REPOSITORY_SECTIONS.contains(&key.as_str()) => wrong(key, Wrong::Unknown),
            Value::Dict(_, inner) if is_section || !inner.is_empty() => {
                check(&key, inner, wrong);
                return is_section;
            }
            _ if is_section => wrong(key, Wrong::Value("expected a table of settings")),
            _ => wrong(key, Wrong::Unknown),
        }
        false
    });
}

/// What to do about a key nobody knows.
fn hint(key: &str) -> String {
    let section = key.split('.').next().unwrap_or(key);
    if REPOSITORY_SECTIONS.contains(&section) {
        return "; what a repository says about its reviews belongs in its `.verdict.toml`".into();
    }
    let known = known_keys().iter().map(String::as_str);
    nearest(key, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
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
