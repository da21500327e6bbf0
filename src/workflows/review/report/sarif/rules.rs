//! What SARIF says about the rules of the findings: what there is to know about each rule, else what
//! the first finding of it says.

use serde_json::json;

use super::{
    level,
    model::{Configuration, Descriptor, Message, Properties},
};
use crate::{
    analysis::{Category, Confidence, Finding, Severity, rules},
    workflows::review::{RuleInfo, report::escape, rule_book::cwe_in, state::ReviewState},
};

/// The descriptor of a finding's rule.
pub(super) fn descriptor(state: &ReviewState, finding: &Finding) -> Descriptor {
    let info = RuleInfo::built_in(&finding.rule).or_else(|| own_rule(state, &finding.rule));
    info.map_or_else(|| of_finding(finding), |info| of_rule(&info))
}

/// The rule of this name among those of the repository.
fn own_rule(state: &ReviewState, id: &str) -> Option<RuleInfo> {
    let own = state.ingested.iter().flat_map(|i| &i.rules);
    // Only a text that names it is worth parsing.
    let mut own = own.filter(|rule| rule.text.contains(id));
    let rule =
        own.find_map(|rule| rules::read(&rule.path, &rule.text).ok().filter(|file| file.id == id));
    rule.map(|rule| RuleInfo::of_file(&rule, None))
}

fn of_rule(rule: &RuleInfo) -> Descriptor {
    let properties = RuleProperties {
        category: rule.category.word(),
        severity: rule.severity,
        confidence: rule.confidence,
        cwe: rule.cwe,
    };
    Descriptor {
        id: rule.id.clone(),
        short_description: Message::plain(escape::plain(&rule.title)),
        full_description: Some(Message::plain(escape::plain(&rule.problem))),
        help: Some(both(&format!("{}\n\n{}", rule.problem, rule.advice))),
        help_uri: rule.cwe.map(page_of),
        default_configuration: Configuration { level: level(rule.severity) },
        properties: properties.properties(),
    }
}

/// Of what a model found: its finding is all there is to know.
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
        help_uri: info.cwe.map(page_of),
        default_configuration: Configuration { level: level(finding.severity) },
        properties: info.properties(),
    }
}

/// The page about a weakness.
fn page_of(cwe: u32) -> String {
    format!("https://cwe.mitre.org/data/definitions/{cwe}.html")
}

/// A text that is Markdown, as such and plain.
pub(super) fn both(text: &str) -> Message {
    Message { text: escape::plain(text), markdown: Some(escape::prose(text)) }
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
