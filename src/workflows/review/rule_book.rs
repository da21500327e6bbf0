//! Every rule, built in or a repository's own, for people who ask about them.

use serde::Serialize;

use crate::{
    analysis::{
        Category, Confidence, RuleError, RuleFile, Ruleset, Severity, examples,
        flow::{self, FlowRule},
        rules::{self, BUILT_IN},
        sides::{CHECKS, CheckInfo},
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
    /// The languages it reads.
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
        for (file, text) in BUILT_IN {
            found.push((rules::read(file, text).map_err(fault)?, None));
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

    /// Every rule and every check of both sides, by name.
    pub fn list(&self) -> Vec<RuleInfo> {
        let rules = self.rules.iter().map(|(rule, file)| info(rule, file.clone()));
        let mut all: Vec<RuleInfo> =
            rules.chain(CHECKS.iter().map(check_info)).chain(flow::rules().map(flowing)).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// The rule or check of this name.
    pub fn find(&self, id: &str) -> Option<RuleInfo> {
        let rule = self.rules.iter().find(|(rule, _)| rule.id == id);
        let rule = rule.map(|(rule, file)| info(rule, file.clone()));
        let rule = rule.or_else(|| CHECKS.iter().find(|c| c.id == id).map(check_info));
        rule.or_else(|| flow::rules().find(|rule| rule.id == id).map(flowing))
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

fn check_info(check: &CheckInfo) -> RuleInfo {
    RuleInfo {
        id: check.id.to_owned(),
        category: check.category,
        severity: check.severity,
        confidence: check.confidence,
        languages: check.languages(),
        cwe: None,
        title: check.title.to_owned(),
        problem: check.problem.to_owned(),
        advice: check.advice.to_owned(),
        fix: None,
        valid: Vec::new(),
        invalid: Vec::new(),
        file: None,
    }
}

fn flowing(rule: FlowRule) -> RuleInfo {
    let examples = |bad: bool| flow::model::examples_of(rule.id, bad);
    RuleInfo {
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

fn info(rule: &RuleFile, file: Option<String>) -> RuleInfo {
    RuleInfo {
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
