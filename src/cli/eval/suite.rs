//! The cases of a suite: folders with a `case.toml`, or pull requests with golden comments.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::CliError;
use crate::workflows::review::{Expected, GoldenComment, GoldenPull};

/// `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    /// What it is about, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file")]
    about: String,
    /// The repository, where it is none that `base/` and `head/` make; relative to the case.
    #[serde(default)]
    repo: Option<PathBuf>,
    #[serde(default = "parent")]
    base: String,
    #[serde(default = "head")]
    head: String,
    /// What should be found; nothing in a clean case.
    #[serde(default)]
    expected: Vec<Expected>,
}

fn parent() -> String {
    "HEAD~1".to_owned()
}

fn head() -> String {
    "HEAD".to_owned()
}

/// What is reviewed, and what should be found.
pub(super) struct Case {
    pub(super) name: String,
    /// The input of its review.
    pub(super) input: Value,
    pub(super) wanted: Wanted,
    /// The repository, if it was made for this.
    _made: Option<TempDir>,
}

/// What should be found.
pub(super) enum Wanted {
    /// Something at these lines.
    Lines(Vec<Expected>),
    /// What these comments say.
    Comments(Vec<GoldenComment>),
}

fn bad(path: &Path, why: impl Display) -> CliError {
    CliError::usage(format!("{}: {why}", path.display()))
}

/// The cases of a folder, or of a file of golden comments.
pub(super) fn read(suite: &Path) -> Result<Vec<Case>, CliError> {
    if suite.is_file() {
        return golden(suite);
    }
    let entries = fs::read_dir(suite).map_err(|error| bad(suite, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let folders = paths.iter().filter(|path| path.join("case.toml").is_file());
    let mut cases = folders.map(|folder| case(folder)).collect::<Result<Vec<_>, _>>()?;
    if cases.is_empty() {
        let files = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
        cases = files
            .map(|file| golden(file))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect();
    }
    match cases.is_empty() {
        true => Err(bad(
            suite,
            "there is no case in it: a folder with a `case.toml`, or golden comments (`*.json`)",
        )),
        false => Ok(cases),
    }
}

/// The case of a folder.
fn case(folder: &Path) -> Result<Case, CliError> {
    let path = folder.join("case.toml");
    let text = fs::read_to_string(&path).map_err(|error| bad(&path, error))?;
    let CaseFile { repo, base, head, expected, .. } =
        toml::from_str(&text).map_err(|error| bad(&path, error))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (repo, made) = match repo {
        Some(repo) => (folder.join(repo), None),
        None => {
            let made = repository(folder).map_err(|why| bad(folder, why))?;
            (made.path().to_owned(), Some(made))
        }
    };
    let input = json!({"repo": repo, "base": base, "head": head});
    Ok(Case { name, input, wanted: Wanted::Lines(expected), _made: made })
}

/// The pull requests of a file of golden comments.
fn golden(file: &Path) -> Result<Vec<Case>, CliError> {
    let text = fs::read_to_string(file).map_err(|error| bad(file, error))?;
    let pulls: Vec<GoldenPull> = serde_json::from_str(&text).map_err(|error| bad(file, error))?;
    let case = |pull: GoldenPull| {
        let place = pull
            .place()
            .ok_or_else(|| bad(file, format!("`{}` is no address of a pull request", pull.url)))?;
        let input = json!({ "github-preview": place });
        let wanted = Wanted::Comments(pull.comments);
        Ok(Case { name: place, input, wanted, _made: None })
    };
    pulls.into_iter().map(case).collect()
}

/// A repository of two commits, `base/` and `head/`.
fn repository(case: &Path) -> Result<TempDir, String> {
    let made = tempfile::tempdir().map_err(|error| error.to_string())?;
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=verdict", "-c", "user.email=verdict@localhost"])
            .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
            .args(args)
            .current_dir(made.path())
            .output()
            .map_err(|error| format!("git: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    git(&["init", "-q"])?;
    for side in ["base", "head"] {
        git(&["rm", "-rfq", "--ignore-unmatch", "."])?;
        copy(&case.join(side), made.path()).map_err(|error| format!("{side}: {error}"))?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "--allow-empty", "-m", side])?;
    }
    Ok(made)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
