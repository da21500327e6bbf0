//! The outside: the settings file, environment variables, the files they name.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    ConfigError,
    keys::{PREFIX, known_keys, may_be_a_file},
    layer::Layer,
};

/// The file looked for in the working directory.
const FILE_NAME: &str = "verdict.toml";

/// The settings file's layer; `None` when nobody named one and there is none.
pub(super) fn file(explicit: Option<&Path>, cwd: &Path) -> Result<Option<Layer>, ConfigError> {
    let path = cwd.join(explicit.unwrap_or(Path::new(FILE_NAME)));
    match fs::read_to_string(&path) {
        Ok(text) => Layer::toml(&path.display().to_string(), &text).map(Some),
        Err(error) if explicit.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, String::new(), &error)),
    }
}

/// One layer per variable of ours. An empty variable counts as unset.
pub(super) fn variables(env: &BTreeMap<String, String>) -> Result<Vec<Layer>, ConfigError> {
    let known = known_keys();
    let mut layers = Vec::new();
    for (variable, text) in env.iter().filter(|(_, text)| !text.is_empty()) {
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        let key = name.to_ascii_lowercase().replace("__", ".");
        let behind = key.strip_suffix("_file").filter(|key| may_be_a_file(key));
        let layer = match behind.filter(|_| !known.contains(&key)) {
            Some(key) => {
                let plain = variable.strip_suffix("_FILE").unwrap_or(variable);
                if env.get(plain).is_some_and(|text| !text.is_empty()) {
                    return Err(ConfigError::Twice { variable: plain.to_owned() });
                }
                Layer::variable(variable, key, &secret_file(variable, text)?)?
            }
            None => Layer::variable(variable, &key, text)?,
        };
        layers.push(layer);
    }
    Ok(layers)
}

/// The content of the file a `*_FILE` variable names, without the line ends at its end.
fn secret_file(variable: &str, path: &str) -> Result<String, ConfigError> {
    let text = fs::read_to_string(path)
        .map_err(|error| unreadable(path.into(), format!(" (named by {variable})"), &error))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn unreadable(path: PathBuf, named: String, error: &io::Error) -> ConfigError {
    ConfigError::Unreadable { path, named, why: error.to_string() }
}

/// `$XDG_STATE_HOME/verdict/verdict.db`, else under `~/.local/state`. Relative folders are
/// ignored, as the XDG specification asks.
pub(super) fn state_file(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let folder = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("verdict").join("verdict.db"))
}
