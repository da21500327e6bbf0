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

/// What is not taken from a file that nobody named.
const TOOLS: &str = "workflows.review.tools";

/// The settings file's layer; `None` when nobody named one and there is none. What is wrong in it is
/// added to `wrong`.
pub(super) fn file(
    explicit: Option<&Path>,
    cwd: &Path,
    wrong: &mut Vec<ConfigError>,
) -> Option<Layer> {
    let path = cwd.join(explicit.unwrap_or(Path::new(FILE_NAME)));
    match fs::read_to_string(&path) {
        Ok(text) => {
            let source_name = path.display().to_string();
            let mut layer = Layer::toml(&source_name, &text, wrong);
            if explicit.is_none() && layer.remove(TOOLS) {
                let why = "names programs to run, which a file counts for only when --config names it: \
                           the one in the working directory may be part of somebody's change";
                let (key, why) = (TOOLS.to_owned(), why.to_owned());
                wrong.push(ConfigError::BadValue { key, source_name, why });
            }
            Some(layer)
        }
        Err(error) if explicit.is_none() && error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            wrong.push(unreadable(path, String::new(), &error));
            None
        }
    }
}

/// One layer per variable of ours. An empty variable counts as unset; what is wrong is added to
/// `wrong`.
pub(super) fn variables(
    env: &BTreeMap<String, String>,
    wrong: &mut Vec<ConfigError>,
) -> Vec<Layer> {
    let set = env.iter().filter(|(name, text)| name.starts_with(PREFIX) && !text.is_empty());
    let layers = set.map(|(variable, text)| layer(variable, text, env));
    layers.filter_map(|layer| layer.map_err(|error| wrong.push(error)).ok()).collect()
}

fn layer(variable: &str, text: &str, env: &BTreeMap<String, String>) -> Result<Layer, ConfigError> {
    let name = variable.strip_prefix(PREFIX).unwrap_or_default();
    let key = name.to_ascii_lowercase().replace("__", ".");
    let behind = key.strip_suffix("_file").filter(|key| may_be_a_file(key));
    let Some(key) = behind.filter(|_| !known_keys().contains(&key)) else {
        return Layer::variable(variable, &key, text);
    };
    let plain = variable.strip_suffix("_FILE").unwrap_or(variable);
    if env.get(plain).is_some_and(|text| !text.is_empty()) {
        return Err(ConfigError::Twice { variable: plain.to_owned() });
    }
    Layer::variable(variable, key, &secret_file(variable, text)?)
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
