//! Structural rules: their file format, the built-in set, and how they are compiled.
//!
//! A rule is one YAML file. `rule`, `constraints`, `utils` and `transform` mean what ast-grep says
//! they mean; the other keys are those of [`RuleFile`]. The examples are tests: each `invalid` one
//! yields exactly one finding of the rule in each of its languages, each `valid` one none.

#[path = "rules/list.rs"]
mod list;

use std::{collections::HashMap, sync::OnceLock};

use ast_grep_config::{DeserializeEnv, Fixer, RuleCore, SerializableRuleCore, from_str};
use ast_grep_core::{Language, Matcher};
use ast_grep_language::SupportLang;
use serde::Deserialize;

pub use list::BUILT_IN;

use super::{Category, Confidence, Finding, Lines, Severity, SourceText, scan};

/// A rule as its file says it.
#[derive(Deserialize)]
pub struct RuleFile {
    /// The rule's name.
    pub id: String,
    /// The languages it reads.
    pub languages: Vec<SupportLang>,
    /// Whose business it is.
    pub category: Category,
    /// How much a match matters.
    pub severity: Severity,
    /// How sure a match is.
    pub confidence: Confidence,
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
    /// Sources without a match.
    pub valid: Vec<String>,
    /// Sources with exactly one match.
    pub invalid: Vec<String>,
    /// What it matches.
    #[serde(flatten)]
    pub matcher: SerializableRuleCore,
}

/// A rule file is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule file `{file}`: {cause}")]
pub struct RuleError {
    /// The file.
    pub file: String,
    /// The reason and all that lies behind it.
    pub cause: String,
}

/// A rule ready for one language.
pub(super) struct CompiledRule {
    pub(super) id: String,
    pub(super) category: Category,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) matcher: RuleCore,
    pub(super) fix: Option<Fixer>,
}

/// The rules of one language, found by the kind of node they can match.
#[derive(Default)]
pub(super) struct LanguageRules {
    pub(super) rules: Vec<CompiledRule>,
    pub(super) by_kind: HashMap<u16, Vec<usize>>,
}

/// Compiled rules, ready to scan. Expensive to make, cheap to share.
#[derive(Default)]
pub struct Ruleset {
    languages: HashMap<SupportLang, LanguageRules>,
}

impl Ruleset {
    /// The rules that come with verdict, compiled on first use.
    ///
    /// # Errors
    /// When one of them is broken, which a test rules out.
    pub fn built_in() -> Result<&'static Self, RuleError> {
        static RULES: OnceLock<Result<Ruleset, RuleError>> = OnceLock::new();
        RULES.get_or_init(|| Self::parse(BUILT_IN)).as_ref().map_err(Clone::clone)
    }

    /// Compiles `(file name, text)` pairs.
    ///
    /// # Errors
    /// At the first file that is no rule.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, RuleError> {
        let mut set = Self::default();
        for (name, text) in files {
            set.add(&read(name, text)?).map_err(|cause| error(name, cause))?;
        }
        Ok(set)
    }

    /// The findings of every rule on the touched lines of `source`; fingerprints not yet set.
    pub fn scan(&self, source: SourceText<'_>, lines: &Lines<'_>) -> Vec<Finding> {
        let language = SupportLang::from_path(source.path);
        let rules = language.and_then(|language| Some((language, self.languages.get(&language)?)));
        rules.map_or_else(Vec::new, |(language, rules)| scan::scan(rules, language, source, lines))
    }

    /// Whether any rule reads the language of `path`.
    pub fn reads(&self, path: &str) -> bool {
        SupportLang::from_path(path).is_some_and(|l| self.languages.contains_key(&l))
    }

    fn add(&mut self, file: &RuleFile) -> Result<(), String> {
        for language in &file.languages {
            let compiled = compile(file, *language)?;
            let kinds =
                compiled.matcher.potential_kinds().ok_or("it matches every kind of node")?;
            let rules = self.languages.entry(*language).or_default();
            let index = rules.rules.len();
            for kind in &kinds {
                let kind = u16::try_from(kind).map_err(|e| e.to_string())?;
                rules.by_kind.entry(kind).or_default().push(index);
            }
            rules.rules.push(compiled);
        }
        Ok(())
    }
}

/// Reads one rule file.
///
/// # Errors
/// When it is not one.
pub fn read(name: &str, text: &str) -> Result<RuleFile, RuleError> {
    from_str::<RuleFile>(text).map_err(|e| error(name, e.to_string()))
}

fn compile(file: &RuleFile, language: SupportLang) -> Result<CompiledRule, String> {
    let env = DeserializeEnv::new(language);
    let matcher = file.matcher.get_matcher(env).map_err(|e| chain(&e))?;
    let fix = file.fix.as_deref().map(|fix| Fixer::from_str(fix, &language)).transpose();
    let cwe = file.cwe.map(|n| format!(" (CWE-{n})")).unwrap_or_default();
    Ok(CompiledRule {
        id: file.id.clone(),
        category: file.category,
        severity: file.severity,
        confidence: file.confidence,
        title: file.title.trim().to_owned(),
        body: format!("{}{cwe}\n\n{}", file.problem.trim(), file.advice.trim()),
        matcher,
        fix: fix.map_err(|e| chain(&e))?,
    })
}

fn error(file: &str, cause: String) -> RuleError {
    RuleError { file: file.to_owned(), cause }
}

/// An error with everything behind it: the outermost alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
