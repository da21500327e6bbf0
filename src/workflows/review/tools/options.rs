//! The tools of the worker's settings, and what is run for each.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::presets::{Output, PRESETS, Preset, USUAL_SETTINGS};
use crate::{
    analysis::globs::{self, GlobSet},
    workflows::review::{agents::AGENTS, settings_file::did_you_mean},
};

/// A tool may not take longer than this: a review has half an hour.
const MAX_TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// Names of tools are no longer than this.
const MAX_NAME_CHARS: usize = 40;

/// Stands for the files that a tool is given, an argument each.
pub(super) const FILES: &str = "{files}";

/// Stands for the rules of the settings.
const RULES: &str = "{rules}";

/// Options of reviews.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewOptions {
    /// Tools that are run on every change.
    pub tools: Vec<ToolOptions>,
}

impl ReviewOptions {
    /// The first option that cannot work, with the reason.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        Tool::all(&self.tools).err().map(|why| ("tools", why))
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolOptions {
    /// What is known about it already.
    pub preset: Option<String>,
    /// What it is called where it is missing. Unset: the preset.
    pub name: Option<String>,
    /// The program and its arguments, for no shell; with a preset, the program alone.
    pub command: Vec<String>,
    /// Which files it is given, as globs. Empty: those of the preset.
    pub files: Vec<String>,
    /// What one run of it may take.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// The file or folder that `{rules}` stands for.
    pub rules: Option<PathBuf>,
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self {
            preset: None,
            name: None,
            command: Vec::new(),
            files: Vec::new(),
            timeout: Duration::from_secs(60),
            rules: None,
        }
    }
}

/// A tool as it is run.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) program: String,
    /// Its arguments, the files still to be put in.
    pub(super) arguments: Vec<String>,
    pub(super) options: ToolOptions,
    pub(super) output: Output,
    /// Whether an exit code above 1 says that something went wrong.
    pub(super) strict: bool,
    files: GlobSet,
    settings: GlobSet,
}

impl Tool {
    /// Every tool of the settings.
    pub(super) fn all(options: &[ToolOptions]) -> Result<Vec<Self>, String> {
        let mut tools: Vec<Self> = Vec::new();
        for (number, options) in (1..).zip(options) {
            let what = options.name.as_ref().or(options.preset.as_ref());
            let what = what.map_or(format!("tool {number}"), |name| format!("tool `{name}`"));
            let tool = Self::new(options).map_err(|why| format!("{what}: {why}"))?;
            if tools.iter().any(|known| known.name == tool.name) {
                return Err(format!("{what}: there are two of this name; give one another `name`"));
            }
            tools.push(tool);
        }
        Ok(tools)
    }

    fn new(options: &ToolOptions) -> Result<Self, String> {
        let preset = options.preset.as_deref().map(preset).transpose()?;
        let name = options.name.as_deref().or(preset.map(|preset| preset.name));
        let name = name.ok_or("it needs a `preset`, or a `name` and a `command`")?.to_owned();
        check_name(&name)?;
        if options.timeout.is_zero() || options.timeout > MAX_TIMEOUT {
            return Err("its `timeout` is not more than 0 and at most 20m".to_owned());
        }
        let (program, mut arguments) = match preset {
            Some(preset) => of_preset(preset, options)?,
            None => of_command(options)?,
        };
        if program.contains('/') && !program.starts_with('/') {
            return Err(format!("`{program}` is neither a name nor an absolute path"));
        }
        if let Some(rules) = &options.rules {
            let rules = rules.to_str().ok_or("the path of its `rules` is not UTF-8")?;
            arguments.iter_mut().for_each(|one| *one = one.replace(RULES, rules));
        }
        let files = match (preset, options.files.is_empty()) {
            (Some(preset), true) => globs::compile(preset.files),
            (None, true) => Err("it needs `files`, like [\"*.py\"]".to_owned()),
            (_, false) => globs::compile(&options.files),
        };
        let of_presets = PRESETS.iter().flat_map(|preset| preset.settings);
        let settings = match preset {
            Some(preset) => globs::compile(preset.settings),
            None => globs::compile(&Vec::from_iter(of_presets.chain(USUAL_SETTINGS))),
        };
        Ok(Self {
            name,
            program,
            arguments,
            options: options.clone(),
            output: preset.map_or(Output::Sarif, |preset| preset.output),
            strict: preset.is_some(),
            files: files?,
            settings: settings?,
        })
    }

    /// Whether it is given a file.
    pub(super) fn wants(&self, path: &str) -> bool {
        self.files.is_match(path) && !self.settings.is_match(path)
    }
}

fn preset(word: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name == word).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        let hint = did_you_mean(word, names.iter().copied());
        let only = if hint.is_empty() { format!(", only {}", names.join(", ")) } else { hint };
        format!("there is no preset `{word}`{only}")
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(sound) {
        return Err("its `name` has other characters than letters, digits, - _ .".to_owned());
    }
    match AGENTS.iter().any(|agent| agent.id() == name) {
        true => Err("an agent has this name; give it another".to_owned()),
        false => Ok(()),
    }
}

fn of_preset(preset: &Preset, options: &ToolOptions) -> Result<(String, Vec<String>), String> {
    let program = match &options.command[..] {
        [] => preset.name.to_owned(),
        [program] => program.clone(),
        _ => return Err("with a preset its `command` is the program alone".to_owned()),
    };
    let rules = match &options.rules {
        Some(_) => preset.with_rules.ok_or("this preset takes no `rules`")?,
        None => preset.without_rules.ok_or("it needs `rules`: a file or folder of your own")?,
    };
    let put_in = |one: &&'static str| match *one {
        RULES => rules.to_vec(),
        other => vec![other],
    };
    let arguments = preset.arguments.iter().flat_map(put_in).map(str::to_owned);
    Ok((program, arguments.collect()))
}

fn of_command(options: &ToolOptions) -> Result<(String, Vec<String>), String> {
    let (program, arguments) = options.command.split_first().ok_or("it needs a `command`")?;
    let named = arguments.iter().any(|one| one.contains(RULES));
    match (named, &options.rules) {
        (true, None) => return Err("its `command` names {rules}, and it has none".to_owned()),
        (false, Some(_)) => return Err("its `command` does not name {rules}".to_owned()),
        _ if program.is_empty() => return Err("it needs a `command`".to_owned()),
        _ => {}
    }
    if arguments.iter().any(|one| one.contains(FILES) && one != FILES) {
        return Err("{files} is an argument of its own".to_owned());
    }
    Ok((program.clone(), arguments.to_vec()))
}
