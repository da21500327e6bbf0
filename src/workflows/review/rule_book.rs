//! Every rule, built in or a repository's own, for people who ask about them.

use serde::Serialize;

use super::settings_file::did_you_mean;
use crate::{
    analysis::{
        Category, CheckInfo, Confidence, RuleError, RuleFile, Ruleset, Severity, TEXT_CHECKS,
        examples,
        flow::{self, FlowRule},
        rules::{BUILT_IN, BuiltIn},
        secrets::{self, KindInfo},
        sides::CHECKS,
    },
    base::{Fault, Result},
};

/// What there is to know about one rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleInfo {
    /// Its name.
    pub id: String,
    /// Whose business it is.
    pub category: Category,
    /// How much a match matters.
    pub severity: Severity,
    /// How sure a match is.
    pub confidence: Confidence,
    /// The languages it reads; empty for any text.
    pub languages: Vec<String>,
    /// The weakness it is an instance of.
    pub cwe: Option<u32>,
    /// What is wrong, in one line.
    pub title: String,
    /// Why it is wrong.
    pub problem: String,
    /// What to do.
    pub advice: String,
    /// What is put in place of a match.
    pub fix: Option<String>,
    /// Sources without a match.
    pub valid: Vec<String>,
    /// Sources with one.
    pub invalid: Vec<String>,
    /// The file it stands in, for a repository's own.
    pub file: Option<String>,
}

/// How the examples went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// How many rules.
    pub rules: usize,
    /// How many examples, counted once per language.
    pub examples: usize,
    /// What is wrong, one entry each.
    pub wrong: Vec<String>,
}

/// The rules that come with verdict, and those of a repository.
pub struct RuleBook {
    set: Ruleset,
    rules: Vec<(RuleFile, Option<String>)>,
    broken: Vec<RuleError>,
}

impl RuleBook {
    /// The built-in rules and those in `own`, pairs of path and text.
    ///
    /// # Errors
    /// When a built-in rule is broken, which a test rules out.
    pub fn new(own: &[(String, String)]) -> Result<Self> {
        let fault = |error: RuleError| Fault::permanent(error.to_string());
        let mut set = Ruleset::built_in();
        let mut found = Vec::new();
        for rule in BUILT_IN {
            found.push((rule.read().map_err(fault)?, None));
        }
        let mut broken = Vec::new();
        for (path, text) in own {
            match set.add(path, text) {
                Ok(file) => found.push((file, Some(path.clone()))),
                Err(error) => broken.push(error),
            }
        }
        found.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        Ok(Self { set, rules: found, broken })
    }

    /// Every rule, by name: each id that a finding can carry.
    pub fn list(&self) -> Vec<RuleInfo> {
        let rules = self.rules.iter().map(|(rule, file)| RuleInfo::of_file(rule, file.clone()));
        let mut all: Vec<RuleInfo> = rules.chain(RuleInfo::without_file()).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// The rule of this name.
    pub fn find(&self, id: &str) -> Option<RuleInfo> {
        let rule = self.rules.iter().find(|(rule, _)| rule.id == id);
        let rule = rule.map(|(rule, file)| RuleInfo::of_file(rule, file.clone()));
        rule.or_else(|| RuleInfo::without_file().find(|info| info.id == id))
    }

    /// `; did you mean …?`, or nothing when no rule has a name like that.
    pub fn did_you_mean(&self, id: &str) -> String {
        let rules = self.list();
        did_you_mean(id, rules.iter().map(|rule| rule.id.as_str()))
    }

    /// The files that are no rules, each with line and cause.
    pub fn broken(&self) -> &[RuleError] {
        &self.broken
    }

    /// Tries the examples of every rule, or of those of these names.
    pub fn test(&self, only: &[String]) -> Tried {
        let mut tried = Tried::default();
        tried.wrong.extend(self.broken.iter().map(ToString::to_string));
        let wanted = |rule: &RuleFile| only.is_empty() || only.contains(&rule.id);
        for (rule, file) in self.rules.iter().filter(|(rule, _)| wanted(rule)) {
            let (examples, wrong) = examples::check(&self.set, rule);
            tried.rules += 1;
            tried.examples += examples;
            let place = file.as_deref().map(|f| format!("{f}: ")).unwrap_or_default();
            if rule.valid.is_empty() || rule.invalid.is_empty() {
                let id = &rule.id;
                tried.wrong.push(format!("{place}`{id}` lacks valid or invalid examples"));
            }
            tried.wrong.extend(wrong.iter().map(|w| format!("{place}{}", told(w))));
        }
        tried
    }
}

fn told(wrong: &examples::Wrong) -> String {
    let examples::Wrong { rule, language, expected, found, example } = wrong;
    format!("`{rule}` in {language}: {found} findings in place of {expected} in\n{example}")
}

impl RuleInfo {
    /// The built-in rule of this name.
    pub(super) fn built_in(id: &str) -> Option<Self> {
        if let Some(rule) = BuiltIn::named(id) {
            return rule.read().ok().map(|rule| Self::of_file(&rule, None));
        }
        Self::without_file().find(|info| info.id == id)
    }

    /// The name of every built-in rule.
    pub(super) fn built_in_ids() -> impl Iterator<Item = String> {
        let checks = CHECKS.iter().chain(TEXT_CHECKS).map(|check| check.id.to_owned());
        let flows = flow::rules().map(|rule| rule.id.to_owned());
        let secrets = KindInfo::all().map(|kind| kind.rule);
        BUILT_IN.iter().map(|rule| rule.id.to_owned()).chain(checks).chain(flows).chain(secrets)
    }

    /// What is looked for by code: flows, checks, kinds of credential.
    fn without_file() -> impl Iterator<Item = Self> {
        let checks = CHECKS.iter().chain(TEXT_CHECKS).map(Self::of_check);
        checks.chain(flow::rules().map(Self::of_flow)).chain(KindInfo::all().map(Self::of_secret))
    }

    /// Of a rule file.
    pub(super) fn of_file(rule: &RuleFile, file: Option<String>) -> Self {
        Self {
            id: rule.id.clone(),
            category: rule.category,
            severity: rule.severity,
            confidence: rule.confidence,
            languages: rule.languages.clone(),
            cwe: rule.cwe,
            title: rule.title.trim().to_owned(),
            problem: rule.problem.trim().to_owned(),
            advice: rule.advice.trim().to_owned(),
            fix: rule.fix.clone(),
            valid: rule.valid.clone(),
            invalid: rule.invalid.clone(),
            file,
        }
    }

    fn of_check(check: &CheckInfo) -> Self {
        Self {
            id: check.id.to_owned(),
            category: check.category,
            severity: check.severity,
            confidence: check.confidence,
            languages: check.languages(),
            cwe: cwe_in(check.problem),
            title: check.title.to_owned(),
            problem: check.problem.to_owned(),
            advice: check.advice.to_owned(),
            fix: None,
            valid: Vec::new(),
            invalid: Vec::new(),
            file: None,
        }
    }

    fn of_flow(rule: FlowRule) -> Self {
        let examples = |bad: bool| flow::model::examples_of(rule.id, bad);
        Self {
            id: rule.id.to_owned(),
            category: Category::Security,
            severity: rule.severity,
            confidence: rule.confidence,
            languages: flow::LANGUAGES.iter().map(|name| (*name).to_owned()).collect(),
            cwe: Some(rule.cwe),
            title: rule.title.to_owned(),
            problem: rule.problem.to_owned(),
            advice: rule.advice.to_owned(),
            fix: None,
            valid: examples(false),
            invalid: examples(true),
            file: None,
        }
    }

    fn of_secret(kind: KindInfo) -> Self {
        Self {
            id: kind.rule,
            category: Category::Security,
            severity: kind.severity,
            confidence: kind.confidence,
            languages: Vec::new(),
            cwe: cwe_in(secrets::PROBLEM),
            title: kind.title,
            problem: secrets::PROBLEM.to_owned(),
            advice: secrets::ADVICE.to_owned(),
            fix: None,
            valid: Vec::new(),
            invalid: Vec::new(),
            file: None,
        }
    }
}

/// The weakness that a text names, as `CWE-89`.
pub(super) fn cwe_in(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("CWE-")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}
