//! What other tools found, as the findings of one more source: brought into a review of a repository on
//! this machine, or run by the worker on any change.
//!
//! Reading a log finds the repository's paths for the log's, our words for its words, masks secrets, and
//! keeps what is about changed files: that is part of what the run starts from. Ingest places it on
//! changed lines, and the judge weighs it with everything else that was found.
//!
//! What it never does: open what a log names, keep a text that was not masked, or start anything but the
//! tools of the worker's own settings.
//!
//! | file | is |
//! |---|---|
//! | `log.rs` | the part of SARIF 2.1.0 that is read |
//! | `paths.rs` | its URIs as paths of the repository |
//! | `finding.rs` | a result as a finding |
//! | `place.rs` | findings on changed lines |
//! | `harm.rs` | which findings are about the same harm, and as one |
//! | `options.rs`, `presets.rs` | the tools of the worker's settings |
//! | `runner.rs` | one of them on a change |
//! | `checkout.rs` | the folder that it runs in |
//! | `process.rs` | its process |
//! | `shellcheck.rs` | ShellCheck's own log as SARIF |

mod checkout;
mod finding;
mod harm;
mod log;
mod options;
mod paths;
mod place;
mod presets;
mod process;
mod runner;
mod shellcheck;

use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::{
    finding::Reading,
    log::{Head, Log, Run},
};
pub(super) use self::{
    harm::{merge_into, same_cause, same_harm},
    place::Placing,
};
pub use self::{
    options::{ReviewOptions, ToolOptions},
    runner::{ToolDispatch, ToolRun, ToolTask, Tools, gave_up, run},
};
use crate::analysis::Finding;

/// A log with more results than this is not read.
const MAX_RESULTS: usize = 100_000;

/// Of more findings in changed files than these the rest is counted.
const MAX_FINDINGS: usize = 2_000;

/// Names of tools and versions are cut after so many characters.
const MAX_NAME_CHARS: usize = 60;

/// What one run of a tool found, as far as a change is concerned; masked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolReport {
    /// The tool, and what became of its results.
    #[serde(flatten)]
    pub tool: ToolUse,
    /// What it found in changed files. Lines are those that its log names; a quote is what it says
    /// stands there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A tool whose log was brought into a review, and what became of its results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Its name, as its log has it.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How many results it had.
    pub results: usize,
    /// How many of them are on changed lines.
    pub placed: usize,
    /// How many more it had in changed files and was told to let pass.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suppressed: usize,
    /// Why its results are not all that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Whether the worker ran it where it could reach a network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub networked: bool,
}

/// A text is no log that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It is no JSON, or not of SARIF's shape.
    #[error("it is no SARIF log: {0}")]
    Malformed(String),
    /// It is of another version.
    #[error("it is of SARIF {0}; only 2.1.0 is read")]
    Version(String),
    /// There is too much in it.
    #[error("it has {0} results; at most {MAX_RESULTS} are read")]
    TooManyResults(usize),
}

/// The changed files: by path of the repository, what the review calls them.
pub(super) type ChangedPaths = HashMap<String, String>;

impl ToolReport {
    /// A log larger than this is not read.
    pub const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024;

    /// Reads a SARIF log about the repository at `root`: a report for each run in it.
    ///
    /// # Errors
    /// When it is none, or too much.
    pub(super) fn read(
        log: &[u8],
        root: &Path,
        changed: &ChangedPaths,
    ) -> Result<Vec<Self>, LogError> {
        let log = log.strip_prefix(b"\xef\xbb\xbf").unwrap_or(log);
        let malformed = |error: serde_json::Error| LogError::Malformed(error.to_string());
        let head: Head = serde_json::from_slice(log).map_err(malformed)?;
        match head.version {
            Some(version) if version == "2.1.0" => {}
            Some(version) => return Err(LogError::Version(name(&version))),
            None => return Err(LogError::Malformed("it names no version".to_owned())),
        }
        let log: Log = serde_json::from_slice(log).map_err(malformed)?;
        let results: usize = log.runs.iter().flat_map(|run| &run.results).map(Vec::len).sum();
        if results > MAX_RESULTS {
            return Err(LogError::TooManyResults(results));
        }
        Ok(log.runs.iter().map(|run| Self::of_run(run, root, changed)).collect())
    }

    fn of_run(run: &Run, root: &Path, changed: &ChangedPaths) -> Self {
        let reading = Reading::new(run, root, changed);
        let (mut tool, mut findings) = (reading.tool(), Vec::new());
        for outcome in run.results.iter().flatten().filter(|outcome| outcome.is_failure()) {
            let suppressed = outcome.is_suppressed();
            tool.results += usize::from(!suppressed);
            let Some(finding) = reading.finding(outcome) else { continue };
            if suppressed {
                tool.suppressed += 1;
            } else {
                findings.push(finding);
            }
        }
        let beyond = findings.len().saturating_sub(MAX_FINDINGS);
        if beyond > 0 {
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            findings.truncate(MAX_FINDINGS);
            let why = format!("{beyond} of its results in changed files were too many to be read");
            tool.missing.get_or_insert(why);
        }
        Self { tool, findings }
    }
}

/// Names what tools found in a run's key, in 12 hex digits.
pub(super) fn digest(reports: &[ToolReport]) -> String {
    let text = serde_json::to_string(reports).unwrap_or_default();
    hex::encode(&Sha256::digest(text)[..6])
}

/// A text that names something, masked, in one line, and no longer than a name is.
fn name(text: &str) -> String {
    finding::line(text, MAX_NAME_CHARS)
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}
