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
//! guidelines = ["AGENTS.md"]       # shown to models
//!
//! [[review.instructions]]          # told to models
//! paths = ["src/api/**"]           # default: for all files
//! text = "Every route must call `authorize` first."
//!
//! [review.rules]
//! js-empty-catch = "off"
//! tf-public-bucket = "critical"    # in place of the rule's own severity
//! ```
//! Sections `[[review.path]]` hold for some paths, see [`PathSettings`].
//! What starts a review is in `[triggers]`, see `triggers.rs`.
//! A file that cannot be read as this is reported in the review, and the defaults hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use super::settings_file::{Problem, SECTIONS_OF_VERDICT};
use super::{
    rule_book::RuleInfo,
    settings_file::{self, File, did_you_mean, line_with},
    triggers::Triggers,
};
use crate::analysis::{
    CheckInfo, Confidence, Finding, Severity, Side, Source,
    globs::{self, GlobSet},
};

/// Where it stands in a repository.
pub const FILE: &str = ".verdict.toml";

/// Guideline files that many tools read.
const GUIDELINES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];

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
    /// What models are told about files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instruction>,
    /// Files that say how code is written here, shown to models.
    pub guidelines: Vec<String>,
    /// What findings of single rules count as, in place of what the rules say.
    pub rules: BTreeMap<String, Weight>,
    /// What holds for some paths in place of the above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathSettings>,
}

/// What holds for some paths. Of several that match, the later ones win.
///
/// ```toml
/// [[review.path]]
/// match = ["src/legacy/"]
/// min_severity = "high"
/// [review.path.rules]
/// js-empty-catch = "off"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathSettings {
    /// Which paths.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// In place of the review's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<Severity>,
    /// In place of the review's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_confidence: Option<Confidence>,
    /// Beside the review's own, before them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, Weight>,
}

/// The settings of each path, with its patterns compiled.
pub struct ByPath<'s> {
    settings: &'s Settings,
    sections: Vec<(GlobSet, &'s PathSettings)>,
}

impl ByPath<'_> {
    fn sections(&self, path: &str) -> impl Iterator<Item = &PathSettings> {
        let sections = self.sections.iter().rev();
        sections.filter(move |(set, _)| set.is_match(path)).map(|(_, section)| *section)
    }

    /// Whether a finding of this weight at a path is to be shown.
    pub fn shows(&self, path: &str, severity: Severity, confidence: Confidence) -> bool {
        let least = self.sections(path).find_map(|section| section.min_severity);
        let surest = self.sections(path).find_map(|section| section.min_confidence);
        severity >= least.unwrap_or(self.settings.min_severity)
            && confidence >= surest.unwrap_or(self.settings.min_confidence)
    }

    /// What findings of a rule count as at a path.
    pub fn weight(&self, path: &str, rule: &str) -> Option<Weight> {
        let own = self.sections(path).find_map(|section| section.rules.get(rule));
        own.or_else(|| self.settings.rules.get(rule)).copied()
    }
}

/// What a repository tells models about some of its files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// The paths it is about; all of them when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// What is told.
    pub text: String,
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

pub(super) fn unknown_agent(id: &str, agents: &[&str]) -> String {
    let near = did_you_mean(id, agents.iter().copied());
    format!("unknown agent `{id}`, expected one of `{}`{near}", agents.join("`, `"))
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
            instructions: Vec::new(),
            guidelines: GUIDELINES.map(str::to_owned).to_vec(),
            rules: BTreeMap::new(),
            path: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads a settings file, which may name these agents.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn parse(text: &str, agents: &[&str]) -> Result<Self, Vec<Problem>> {
        let (File { review: settings, triggers }, mut problems) = settings_file::read(text);
        let patterns = [
            ("include", &settings.include),
            ("ignore", &settings.ignore),
            ("base_branches", &triggers.base_branches),
        ];
        let sections = settings.path.iter().map(|section| ("match", &section.matches));
        let told = settings.instructions.iter().map(|told| ("paths", &told.paths));
        let all = patterns.into_iter().chain(sections).chain(told);
        for (key, pattern) in all.flat_map(|(key, list)| list.iter().map(move |one| (key, one))) {
            let wrong = globs::compile(std::slice::from_ref(pattern)).err();
            problems.extend(wrong.map(|cause| Problem {
                line: line_with(text, pattern),
                cause: format!("{key}: {cause}"),
            }));
        }
        let named = settings.agents.iter().flatten();
        let unknown = named.filter(|id| !agents.contains(&id.as_str()));
        problems.extend(
            unknown
                .map(|id| Problem { line: line_with(text, id), cause: unknown_agent(id, agents) }),
        );
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }

    /// What a settings file says about triggers. One that cannot be read is reported by the reviews
    /// that the defaults start.
    pub fn triggers(text: &str) -> Triggers {
        match settings_file::read(text) {
            (file, problems) if problems.is_empty() => file.triggers,
            _ => Triggers::default(),
        }
    }

    /// Whether an agent is to run.
    pub fn wants(&self, agent: &str) -> bool {
        self.agents.as_ref().is_none_or(|ids| ids.iter().any(|id| id == agent))
    }

    /// The settings of each path. A pattern that is none matches nothing; [`Settings::parse`] lets none
    /// through.
    pub fn by_path(&self) -> ByPath<'_> {
        let compiled = |section: &'_ PathSettings| globs::compile(&section.matches);
        let sections = self.path.iter().filter_map(|one| Some((compiled(one).ok()?, one)));
        ByPath { settings: self, sections: sections.collect() }
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

impl Settings {
    /// A problem for each rule that is named here and that `known` does not know.
    pub fn unknown_rules(&self, text: &str, known: impl Fn(&str) -> bool) -> Vec<Problem> {
        let everywhere = self.rules.keys();
        let named = everywhere.chain(self.path.iter().flat_map(|section| section.rules.keys()));
        let unknown: Vec<&String> = named.filter(|id| !known(id)).collect();
        if unknown.is_empty() {
            return Vec::new();
        }
        let ids: Vec<String> = RuleInfo::built_in_ids().collect();
        let near = |id: &str| did_you_mean(id, ids.iter().map(String::as_str));
        let problem = |id: &String| Problem {
            line: line_with(text, id),
            cause: format!("rules: there is no rule `{id}`{}", near(id)),
        };
        unknown.into_iter().map(problem).collect()
    }
}

/// A finding about a file that tells verdict what to do, which the change need not touch.
pub(super) fn diagnostic(
    check: &CheckInfo,
    path: &str,
    line: u32,
    cause: &str,
    after: &str,
) -> Finding {
    let place = if line == 0 { String::new() } else { format!("line {line}: ") };
    Finding {
        fingerprint: String::new(),
        agent: check.category.into(),
        rule: check.id.to_owned(),
        path: path.to_owned(),
        side: Side::Left,
        start_line: 0,
        end_line: 0,
        severity: check.severity,
        confidence: check.confidence,
        title: check.title.to_owned(),
        body: format!("{place}{}\n\n{after}", cause.trim()),
        suggestion: None,
        quote: String::new(),
        source: Source::Verdict,
        flow: Vec::new(),
        unless: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P1: settings per folder; of several that match, the later ones win.
    #[test]
    fn a_folder_has_settings_of_its_own() {
        let text = "[review]\nmin_severity = \"low\"\n[review.rules]\nr = \"off\"\n\
            [[review.path]]\nmatch = [\"src/legacy/\"]\nmin_severity = \"high\"\n\
            [[review.path]]\nmatch = [\"src/legacy/core/\"]\nmin_confidence = 0.9\n\
            [review.path.rules]\nr = \"critical\"\n";
        let settings = Settings::parse(text, &["style"]).unwrap();
        let at = settings.by_path();
        let sure = Confidence::hundredths(95);
        assert!(at.shows("src/new.rs", Severity::Low, sure));
        assert!(!at.shows("src/legacy/old.rs", Severity::Low, sure));
        assert!(at.shows("src/legacy/old.rs", Severity::High, Confidence::hundredths(60)));
        assert!(!at.shows("src/legacy/core/a.rs", Severity::High, Confidence::hundredths(60)));
        assert!(!at.shows("src/legacy/core/a.rs", Severity::Medium, sure));
        assert_eq!(at.weight("src/new.rs", "r"), Some(Weight::Off));
        let critical = Some(Weight::Severity(Severity::Critical));
        assert_eq!(at.weight("src/legacy/core/a.rs", "r"), critical);
        let bad = Settings::parse("[[review.path]]\nmatch = [\"a[\"]\n", &[]).unwrap_err();
        assert_eq!((bad.len(), bad[0].line), (1, 2));
        assert_eq!(settings.unknown_rules(text, |_| false).len(), 2);
    }
}
