//! What a repository says about its own reviews: `.verdict.toml` on the base side.
//!
//! ```toml
//! [review]
//! agents = ["security", "logic"]   # default: all
//! include = ["src/**"]             # default: everything
//! ignore = ["src/legacy/"]
//! min_severity = "low"             # info low medium high critical
//! min_confidence = 0.5
//! max_findings = 30
//! ```
//! A file that cannot be read as this is reported in the review, and the defaults hold.

use serde::{Deserialize, Serialize};

use crate::analysis::{Category, Confidence, Severity, globs};

/// Where it stands in a repository.
pub const FILE: &str = ".verdict.toml";

/// The settings of one review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The agents that run.
    pub agents: Vec<Category>,
    /// Only paths that match one of these are reviewed; empty for all.
    pub include: Vec<String>,
    /// Paths that match one of these are not.
    pub ignore: Vec<String>,
    /// Findings below it are left out.
    pub min_severity: Severity,
    /// Findings below it are left out.
    pub min_confidence: Confidence,
    /// How many findings are shown; the rest is counted.
    pub max_findings: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agents: Category::ALL.to_vec(),
            include: Vec::new(),
            ignore: Vec::new(),
            min_severity: Severity::Low,
            min_confidence: Confidence::hundredths(50),
            max_findings: 30,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    review: Settings,
}

impl Settings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// Line and reason.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let file: File = toml::from_str(text).map_err(|error| Problem {
            line: error.span().map_or(0, |span| line_of(text, span.start)),
            cause: error.message().to_owned(),
        })?;
        let settings = file.review;
        for (key, patterns) in [("include", &settings.include), ("ignore", &settings.ignore)] {
            globs::compile(patterns).map_err(|cause| Problem {
                line: text.lines().position(|l| l.trim_start().starts_with(key)).map_or(0, one_up),
                cause: format!("{key}: {cause}"),
            })?;
        }
        Ok(settings)
    }
}

/// A settings file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, 0 when it is about the whole file.
    pub line: u32,
    /// The reason.
    pub cause: String,
}

fn line_of(text: &str, offset: usize) -> u32 {
    one_up(text.bytes().take(offset).filter(|b| *b == b'\n').count())
}

fn one_up(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}
