//! What SARIF says about the rules of the findings: from their rule files, or what is told of the
//! checks of both sides, where there are any; else from the first finding of each.

use serde_json::json;

use super::{
    level,
    model::{Configuration, Descriptor, Message, Properties},
};
use crate::{
    analysis::{
        Category, Confidence, Finding, Severity,
        flow::{self, FlowRule},
        rules::{self, RuleFile},
        sides::{self, CHECKS},
    },
    workflows::review::{report::escape, state::ReviewState},
};

/// The descriptor of a finding's rule.
pub(super) fn descriptor(state: &ReviewState, finding: &Finding) -> Descriptor {
    if let Some(rule) = rule_file(state, &finding.rule) {
        return of_file(&rule);
    }
    if let Some(flow) = flow::rules().find(|rule| rule.id == finding.rule) {
        return of_flow(&flow);
    }
    let check = CHECKS.iter().find(|check| check.id == finding.rule);
    check.map_or_else(|| of_finding(finding), of_check)
}

/// The rule of this name, built in or of the repository.
fn rule_file(state: &ReviewState, id: &str) -> Option<RuleFile> {
    if let Some((file, text)) = rules::built_in(id) {
        return rules::read(file, text).ok();
    }
    let own = state.ingested.iter().flat_map(|i| &i.rules);
    // Only a text that names it is worth parsing.
    let mut own = own.filter(|rule| rule.text.contains(id));
    own.find_map(|rule| rules::read(&rule.path, &rule.text).ok().filter(|file| file.id == id))
}

fn of_file(rule: &RuleFile) -> Descriptor {
    let (problem, advice) = (rule.problem.trim(), rule.advice.trim());
    let info = RuleProperties {
        category: rule.category.word(),
        severity: rule.severity,
        confidence: rule.confidence,
        cwe: rule.cwe,
    };
    Descriptor {
        id: rule.id.clone(),
        short_description: Message::plain(escape::plain(rule.title.trim())),
        full_description: Some(Message::plain(escape::plain(problem))),
        help: Some(both(&format!("{problem}\n\n{advice}"))),
        default_configuration: Configuration { level: level(rule.severity) },
        properties: info.properties(),
    }
}

/// Of a kind of flow.
fn of_flow(rule: &FlowRule) -> Descriptor {
    let info = RuleProperties {
        category: Category::Security.word(),
        severity: rule.severity,
        confidence: rule.confidence,
        cwe: Some(rule.cwe),
    };
    Descriptor {
        id: rule.id.to_owned(),
        short_description: Message::plain(rule.title),
        full_description: Some(Message::plain(rule.problem)),
        help: Some(both(&format!("{}\n\n{}", rule.problem, rule.advice))),
        default_configuration: Configuration { level: level(rule.severity) },
        properties: info.properties(),
    }
}

/// Of a check of both sides.
fn of_check(check: &sides::CheckInfo) -> Descriptor {
    let info = RuleProperties {
        category: check.category.word(),
        severity: check.severity,
        confidence: check.confidence,
        cwe: cwe_in(check.problem),
    };
    Descriptor {
        id: check.id.to_owned(),
        short_description: Message::plain(check.title),
        full_description: Some(Message::plain(check.problem)),
        help: Some(both(&format!("{}\n\n{}", check.problem, check.advice))),
        default_configuration: Configuration { level: level(check.severity) },
        properties: info.properties(),
    }
}

/// Of another check, a kind of credential or a model: its findings are all there is to know.
fn of_finding(finding: &Finding) -> Descriptor {
    let info = RuleProperties {
        category: &finding.agent,
        severity: finding.severity,
        confidence: finding.confidence,
        cwe: cwe_in(&finding.body),
    };
    let mut name = escape::plain(&finding.rule.replace('-', " "));
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Descriptor {
        id: finding.rule.clone(),
        short_description: Message::plain(name.clone()),
        full_description: Some(Message::plain(name)),
        help: Some(both(&finding.body)),
        default_configuration: Configuration { level: level(finding.severity) },
        properties: info.properties(),
    }
}

/// A text that is Markdown, as such and plain.
pub(super) fn both(text: &str) -> Message {
    Message { text: escape::plain(text), markdown: Some(escape::prose(text)) }
}

/// The weakness a body names, as `CWE-89`.
fn cwe_in(body: &str) -> Option<u32> {
    let (_, rest) = body.split_once("CWE-")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

struct RuleProperties<'a> {
    /// For rules of agents that have no category, the agent.
    category: &'a str,
    severity: Severity,
    confidence: Confidence,
    cwe: Option<u32>,
}

impl RuleProperties<'_> {
    /// What GitHub's code scanning, and those who copy it, sort and filter by.
    fn properties(&self) -> Properties {
        let mut tags = vec![self.category.to_owned()];
        tags.extend(self.cwe.map(|number| format!("external/cwe/cwe-{number:03}")));
        let mut properties = Properties::new();
        properties.insert("category".into(), json!(self.category));
        properties.insert("tags".into(), json!(tags));
        properties.insert("precision".into(), json!(precision(self.confidence)));
        properties.insert("problem.severity".into(), json!(problem(self.severity)));
        if self.category == Category::Security.word() {
            properties.insert("security-severity".into(), json!(score(self.severity)));
        }
        properties
    }
}

fn precision(confidence: Confidence) -> &'static str {
    match confidence.get() {
        90.. => "very-high",
        75.. => "high",
        50.. => "medium",
        _ => "low",
    }
}

fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "recommendation",
    }
}

/// In the middle of the range that GitHub shows under the same word.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.1",
    }
}
