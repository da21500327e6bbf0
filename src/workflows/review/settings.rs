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
//!
//! [review.rules]
//! js-empty-catch = "off"
//! tf-public-bucket = "critical"    # in place of the rule's own severity
//! ```
//! A file that cannot be read as this is reported in the review, and the defaults hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analysis::{Category, Confidence, Finding, Severity, Side, Source, globs};

/// Where it stands in a repository.
pub const FILE: &str = ".verdict.toml";

/// The settings of one review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The ids of the agents that run; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
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
    /// What findings of single rules count as, in place of what the rules say.
    pub rules: BTreeMap<String, Weight>,
}

/// What a repository says about one rule: a severity, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Weight {
    /// Its findings are not shown.
    Off,
    /// Its findings are of this severity.
    Severity(Severity),
}

impl TryFrom<String> for Weight {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        if word == "off" {
            return Ok(Self::Off);
        }
        word.parse().map(Self::Severity).map_err(|error| format!("{error}, off"))
    }
}

impl From<Weight> for String {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Off => "off".to_owned(),
            Weight::Severity(severity) => severity.word().to_owned(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agents: None,
            include: Vec::new(),
            ignore: Vec::new(),
            min_severity: Severity::Low,
            min_confidence: Confidence::hundredths(50),
            max_findings: 30,
            rules: BTreeMap::new(),
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
    /// Reads a settings file, which may name these agents.
    ///
    /// # Errors
    /// Line and reason.
    pub fn parse(text: &str, agents: &[&str]) -> Result<Self, Problem> {
        let file: File = toml::from_str(text).map_err(|error| Problem {
            line: error.span().map_or(0, |span| line_of(text, span.start)),
            cause: match error.message().trim() {
                "" => "this is not TOML; a value may be missing".to_owned(),
                message => message.to_owned(),
            },
        })?;
        let settings = file.review;
        for (key, patterns) in [("include", &settings.include), ("ignore", &settings.ignore)] {
            globs::compile(patterns).map_err(|cause| Problem {
                line: text.lines().position(|l| l.trim_start().starts_with(key)).map_or(0, one_up),
                cause: format!("{key}: {cause}"),
            })?;
        }
        let named = settings.agents.iter().flatten();
        match named.into_iter().find(|id| !agents.contains(&id.as_str())) {
            None => Ok(settings),
            Some(unknown) => Err(Problem {
                line: line_with(text, unknown),
                cause: format!(
                    "unknown variant `{unknown}`, expected one of `{}`",
                    agents.join("`, `")
                ),
            }),
        }
    }

    /// Whether an agent is to run.
    pub fn wants(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|ids| ids.iter().any(|id| id == agent))
    }

    /// Whether a path is to be reviewed.
    ///
    /// # Errors
    /// The first pattern that is none; [`Settings::parse`] lets none through.
    pub fn paths(&self) -> Result<impl Fn(&str) -> Result<(), &'static str> + use<>, String> {
        let (include, ignore) = (globs::compile(&self.include)?, globs::compile(&self.ignore)?);
        Ok(move |path: &str| {
            if !include.is_empty() && !include.is_match(path) {
                Err("not included by the settings")
            } else if ignore.is_match(path) {
                Err("ignored by the settings")
            } else {
                Ok(())
            }
        })
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

impl Settings {
    /// A problem for each rule that is named here and that `known` does not know.
    pub fn unknown_rules(&self, text: &str, known: impl Fn(&str) -> bool) -> Vec<Problem> {
        let unknown = self.rules.keys().filter(|id| !known(id));
        let problem = |id: &String| Problem {
            line: line_with(text, id),
            cause: format!("rules: there is no rule `{id}`"),
        };
        unknown.map(problem).collect()
    }
}

/// A finding about a file that tells verdict what to do, which the change need not touch.
pub(super) fn diagnostic(
    rule: &str,
    path: &str,
    title: &str,
    line: u32,
    cause: &str,
    after: &str,
) -> Finding {
    let place = if line == 0 { String::new() } else { format!("line {line}: ") };
    Finding {
        fingerprint: String::new(),
        agent: Category::Pattern.into(),
        rule: rule.to_owned(),
        path: path.to_owned(),
        side: Side::Left,
        start_line: 0,
        end_line: 0,
        severity: Severity::Medium,
        confidence: Confidence::hundredths(100),
        title: title.to_owned(),
        body: format!("{place}{}\n\n{after}", cause.trim()),
        suggestion: None,
        quote: String::new(),
        source: Source::Verdict,
        flow: Vec::new(),
    }
}

/// The first line that holds `word`, 0 when none does.
fn line_with(text: &str, word: &str) -> u32 {
    text.lines().position(|line| line.contains(word)).map_or(0, one_up)
}

fn line_of(text: &str, offset: usize) -> u32 {
    one_up(text.bytes().take(offset).filter(|b| *b == b'\n').count())
}

fn one_up(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}
