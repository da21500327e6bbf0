//! The files structural rules are written in, and the built-in ones.
//!
//! A rule is one YAML file. `rule`, `constraints`, `utils` and `transform` mean what ast-grep says
//! they mean; the other keys are those of [`RuleFile`]. The examples are tests: each `invalid` one
//! yields exactly one finding of the rule in each of its languages, each `valid` one none.

use std::collections::BTreeMap;

use ast_grep_config::{SerializableRuleCore, from_str};
use serde::{Deserialize, de::IgnoredAny};

use super::{Category, Confidence, Lang, Severity, globs};

/// Every built-in rule, in the order of their files. Made by `build.rs`.
pub const BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// A rule that comes with verdict. `\w`, `\d` and `\s` mean ASCII in it.
pub struct BuiltIn {
    /// Its file in the folder `rules`.
    pub file: &'static str,
    /// As [`RuleFile::id`], which the file is named by.
    pub id: &'static str,
    /// As [`RuleFile::languages`].
    pub languages: &'static [&'static str],
    /// As [`RuleFile::needs`].
    pub needs: &'static [&'static str],
    /// Its file without the examples, as JSON.
    rule: &'static str,
    /// And they.
    examples: &'static str,
}

impl BuiltIn {
    /// The rule of this name.
    pub fn named(id: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|rule| rule.id == id)
    }

    /// All that its file says.
    ///
    /// # Errors
    /// When it is no rule, which a test rules out.
    pub fn read(&self) -> Result<RuleFile, RuleError> {
        #[derive(Deserialize)]
        struct Examples {
            valid: Vec<String>,
            invalid: Vec<String>,
        }
        let wrong = |e: serde_json::Error| RuleError::new(self.file, "", e.to_string());
        let Examples { valid, invalid } = serde_json::from_str(self.examples).map_err(wrong)?;
        let rule = self.to_scan_with().map_err(wrong)?;
        Ok(RuleFile { valid, invalid, ..rule })
    }

    /// The rule without its examples.
    pub(super) fn to_scan_with(&self) -> Result<RuleFile, serde_json::Error> {
        serde_json::from_str(self.rule)
    }
}

/// A rule as its file says it.
#[derive(Deserialize)]
pub struct RuleFile {
    /// The rule's name.
    pub id: String,
    /// The languages it reads.
    pub languages: Vec<String>,
    /// Globs of the paths it reads; empty for every path of its languages.
    #[serde(default)]
    pub files: Vec<String>,
    /// A text without any of these strings cannot match, and is not searched; empty for none.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Whose business it is.
    pub category: Category,
    /// The list in `lifetimes.tsv` one of whose names a match must contain. It holds from the day on which that one ended.
    #[serde(default)]
    pub ends: Option<String>,
    /// Whether a match that names the owner of the repository (`acme/tool` in a repository of acme's) is let pass.
    #[serde(default)]
    pub strangers: bool,
    /// How much a match matters.
    pub severity: Severity,
    /// How sure a match is.
    pub confidence: Confidence,
    /// What a match in a test, an example or its data is worth; by default, what concerns security
    /// is softened there.
    #[serde(default)]
    pub tests: Option<InTests>,
    /// The weakness it is an instance of (CWE number).
    #[serde(default)]
    pub cwe: Option<u32>,
    /// What is wrong, in one line.
    pub title: String,
    /// Why it is wrong.
    pub problem: String,
    /// What to do.
    pub advice: String,
    /// What to put in place of the match, where that is always safe.
    #[serde(default)]
    pub fix: Option<String>,
    /// Sources without a match. A built-in rule has some, as the next.
    #[serde(default)]
    pub valid: Vec<String>,
    /// Sources with exactly one match.
    #[serde(default)]
    pub invalid: Vec<String>,
    /// What it matches.
    #[serde(flatten)]
    pub matcher: SerializableRuleCore,
}

/// What a match in a test is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InTests {
    /// As much as elsewhere.
    Report,
    /// Below the usual threshold of confidence.
    Soften,
    /// Nothing.
    Skip,
}

/// A rule file is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule file `{file}`{}: {cause}", place(*line))]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The line it is about; 0 where that is not known.
    pub line: u32,
    /// The reason and all that lies behind it.
    pub cause: String,
}

fn place(line: u32) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

impl RuleError {
    /// About the line that first names what the cause names in backticks.
    pub(super) fn new(file: &str, text: &str, cause: String) -> Self {
        let named = cause.split('`').skip(1).step_by(2);
        // The innermost cause comes last.
        let lines = named
            .filter(|n| !n.is_empty())
            .filter_map(|n| text.lines().position(|l| l.contains(n)));
        let line = lines.last();
        Self { file: file.to_owned(), line: line.map_or(0, one_up), cause }
    }
}

fn one_up(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

const KEYS: &[&str] = &[
    "id",
    "languages",
    "files",
    "needs",
    "category",
    "ends",
    "strangers",
    "severity",
    "confidence",
    "tests",
    "cwe",
    "title",
    "problem",
    "advice",
    "fix",
    "valid",
    "invalid",
    "rule",
    "constraints",
    "utils",
    "transform",
];

/// Reads one rule file.
///
/// # Errors
/// When it is not one.
pub fn read(name: &str, text: &str) -> Result<RuleFile, RuleError> {
    let keys: BTreeMap<String, IgnoredAny> = parse(name, text)?;
    let wrong = |cause: String| RuleError::new(name, text, cause);
    if let Some(key) = keys.keys().find(|k| !KEYS.contains(&k.as_str())) {
        return Err(wrong(format!("unknown key `{key}`; the keys are {}", KEYS.join(", "))));
    }
    let file: RuleFile = parse(name, text)?;
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if file.id.is_empty() || !file.id.chars().all(sound) {
        return Err(wrong(format!("id `{}`: use small letters, digits and dashes", file.id)));
    }
    if file.languages.is_empty() {
        return Err(wrong("`languages` is empty".into()));
    }
    for language in &file.languages {
        Lang::named(language).map_err(wrong)?;
    }
    globs::compile(&file.files).map_err(|cause| wrong(format!("files: {cause}")))?;
    Ok(file)
}

pub(super) fn parse<'t, T: Deserialize<'t>>(name: &str, text: &'t str) -> Result<T, RuleError> {
    from_str::<T>(text).map_err(|error| {
        let line = error.location().and_then(|l| u32::try_from(l.line()).ok());
        let cause = error.to_string();
        let cause = cause.lines().next().unwrap_or(&cause);
        // The line is told beside it.
        let cause = match cause.strip_prefix("error: line ").and_then(|c| c.split_once(": ")) {
            Some((_, cause)) => cause.to_owned(),
            None => cause.to_owned(),
        };
        match line {
            Some(line) if line > 0 => RuleError { file: name.to_owned(), line, cause },
            _ => RuleError::new(name, text, cause),
        }
    })
}
