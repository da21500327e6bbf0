//! For code scanning: SARIF 2.1.0, whatever of it GitHub's wants, and nothing that depends on the
//! machine but the repository's place.
//!
//! Lines are those of the head. A finding about the base side, or about a whole file, has a file
//! and no region: a region of another revision would point to the wrong lines. What a comment in
//! the source suppresses is counted by the judge and not kept, so there is no suppressed result.

mod model;
mod rules;

use std::{collections::BTreeMap, path::Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use url::Url;

use self::model::{
    ArtifactChange, ArtifactLocation, BaseId, CodeFlow, Configuration, Content, Descriptor, Driver,
    Fix, FlowLocation, Found, Invocation, Location, Log, MappedTo, Message, Notification,
    PhysicalLocation, Properties, Reference, Region, Replacement, Run, ThreadFlow, Tool,
    VersionControl,
};
use super::{Checked, ReportContext, coverage, escape, findings, verdict};
use crate::{
    analysis::{Finding, FlowStep, Severity, Side},
    workflows::review::state::{Outcome, ReviewState},
};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What paths are relative to.
const ROOT: &str = "%SRCROOT%";

/// What stands for itself in a path of a URI.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Kinds of notification.
const KINDS: [(&str, &str, &str); 4] = [
    ("run-failed", "The run failed, and the review is what there was by then", "error"),
    ("not-reviewed", "A part of the change could not be reviewed", "error"),
    ("skipped", "A changed file was not read, on purpose", "note"),
    ("remark", "Something to know about a file that was reviewed", "note"),
];

/// The review as a SARIF log, with a newline at the end.
pub fn sarif(state: &ReviewState, about: &ReportContext) -> String {
    let log = Log { schema: SCHEMA, version: "2.1.0", runs: [run(state, about)] };
    // Strings, numbers and maps keyed by strings always have a JSON form.
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn run(state: &ReviewState, about: &ReportContext) -> Run {
    let mut rules: Vec<Descriptor> = Vec::new();
    let mut results = Vec::new();
    for finding in findings(state) {
        let known = rules.iter().position(|rule| rule.id == finding.rule);
        let index = known.unwrap_or_else(|| {
            rules.push(rules::descriptor(state, finding));
            rules.len() - 1
        });
        results.push(found(finding, index, about));
    }
    let left_out = state.judgement.as_ref().map(|j| j.left_out).unwrap_or_default();
    let properties = [
        ("run", json!(about.run)),
        ("base", json!(state.target.base)),
        ("verdict", json!(verdict(state))),
        ("leftOut", json!(left_out)),
    ];
    let root = "The root of the repository; lines are those of the revision under review.";
    Run {
        tool: Tool { driver: driver(rules) },
        invocations: [invocation(state, about)],
        version_control_provenance: provenance(state).into_iter().collect(),
        original_uri_base_ids: [(ROOT, BaseId { description: Message::plain(root) })].into(),
        column_kind: "unicodeCodePoints",
        results,
        properties: properties.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
    }
}

fn driver(rules: Vec<Descriptor>) -> Driver {
    let kind = |(id, text, level): (&str, &str, &'static str)| Descriptor {
        id: id.to_owned(),
        short_description: Message::plain(text),
        full_description: None,
        help: None,
        help_uri: None,
        default_configuration: Configuration { level },
        properties: Properties::new(),
    };
    Driver {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        rules,
        notifications: KINDS.map(kind).into(),
    }
}

/// The commit reviewed, and where it is.
fn provenance(state: &ReviewState) -> Option<VersionControl> {
    let repository = Url::from_directory_path(Path::new(&state.target.repo)).ok()?;
    Some(VersionControl {
        repository_uri: repository.into(),
        revision_id: state.target.head.clone(),
        mapped_to: MappedTo { uri_base_id: ROOT },
    })
}

/// Whether all was reviewed, and what was not: a scan that lacks a part did not succeed, or the
/// alerts of that part would be taken for mended.
fn invocation(state: &ReviewState, about: &ReportContext) -> Invocation {
    let mut notifications = Vec::new();
    if let Some(error) = &about.error {
        notifications.push(notification(0, error, None));
    }
    for report in state.agents.values() {
        if let Outcome::Failed(why) = &report.outcome {
            notifications.push(notification(1, &format!("{}: {why}", report.agent), None));
        }
    }
    for row in coverage(state) {
        let Some(reason) = &row.reason else { continue };
        let kind = match row.status {
            Checked::Failed => 1,
            Checked::Skipped => 2,
            Checked::Done => 3,
        };
        notifications.push(notification(kind, reason, Some(&row.path)));
    }
    Invocation {
        execution_successful: about.error.is_none() && verdict(state) != "incomplete",
        tool_execution_notifications: notifications,
    }
}

fn notification(index: usize, text: &str, path: Option<&str>) -> Notification {
    let (id, _, level) = KINDS[index];
    Notification {
        descriptor: Reference { id: id.to_owned(), index },
        level,
        message: Message::plain(escape::plain(text)),
        locations: path.map(|path| location(path, None)).into_iter().collect(),
    }
}

fn found(finding: &Finding, rule_index: usize, about: &ReportContext) -> Found {
    let on_head = finding.side == Side::Right && !finding.is_whole_file();
    let mut title = finding.title.clone();
    if finding.side == Side::Left && !finding.is_whole_file() {
        title.push_str(&format!(" (line {} of the base)", finding.start_line));
    }
    let region = on_head.then(|| Region {
        snippet: Some(Content { text: about.code.lines(finding).join("\n") }),
        ..lines(finding)
    });
    let weight = f64::from(finding.confidence) * weight(finding.severity);
    Found {
        rule_id: finding.rule.clone(),
        rule_index,
        level: level(finding.severity),
        message: rules::both(&format!("{title}\n\n{}", finding.body)),
        locations: [location(&finding.path, region)],
        code_flows: code_flow(finding).into_iter().collect(),
        partial_fingerprints: [("verdict/v1", finding.fingerprint.clone())].into(),
        rank: (weight * 100.0).round(),
        fixes: fix(finding).filter(|_| on_head).into_iter().collect(),
        properties: properties(finding),
    }
}

/// The way of a value to where it does harm.
fn code_flow(finding: &Finding) -> Option<CodeFlow> {
    let step = |step: &FlowStep| {
        let (start_line, end_line) = (step.line, step.line);
        let region = Region { start_line, end_line, ..Region::default() };
        let message = Some(Message::plain(escape::plain(&step.note)));
        FlowLocation { location: Location { message, ..location(&step.path, Some(region)) } }
    };
    let locations: Vec<FlowLocation> = finding.flow.iter().map(step).collect();
    (!locations.is_empty()).then_some(CodeFlow { thread_flows: [ThreadFlow { locations }] })
}

fn properties(finding: &Finding) -> Properties {
    let properties: BTreeMap<&str, serde_json::Value> = [
        ("severity", json!(finding.severity)),
        ("confidence", json!(finding.confidence)),
        ("agent", json!(finding.agent)),
        ("source", json!(finding.source)),
        ("side", json!(finding.side)),
    ]
    .into();
    properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The finding's lines, whole, without the last one's end.
fn lines(finding: &Finding) -> Region {
    Region { start_line: finding.start_line, end_line: finding.end_line, ..Region::default() }
}

/// The suggestion in place of the lines. One that was made from a masked line is none: it would
/// put the mask where the secret is.
fn fix(finding: &Finding) -> Option<Fix> {
    let suggestion = finding.suggestion.as_deref().filter(|text| !text.contains("****"))?;
    // An empty text in place of none: readers such as reviewdog take it for granted.
    let replacement = if suggestion.is_empty() {
        let after = finding.end_line.checked_add(1)?;
        let (start_column, end_column) = (Some(1), Some(1));
        let region = Region { start_column, end_line: after, end_column, ..lines(finding) };
        Replacement { deleted_region: region, inserted_content: Content { text: String::new() } }
    } else {
        let text = suggestion.strip_suffix('\n').unwrap_or(suggestion).to_owned();
        Replacement { deleted_region: lines(finding), inserted_content: Content { text } }
    };
    let artifact_location = artifact(&finding.path);
    Some(Fix {
        description: Message::plain(escape::plain(&finding.title)),
        artifact_changes: [ArtifactChange { artifact_location, replacements: [replacement] }],
    })
}

fn location(path: &str, region: Option<Region>) -> Location {
    let artifact_location = artifact(path);
    let physical_location = PhysicalLocation { artifact_location, region };
    Location { physical_location, message: None }
}

fn artifact(path: &str) -> ArtifactLocation {
    ArtifactLocation { uri: utf8_percent_encode(path, PATH).to_string(), uri_base_id: ROOT }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// From the least to the most important.
fn weight(severity: Severity) -> f64 {
    match severity {
        Severity::Info => 0.2,
        Severity::Low => 0.4,
        Severity::Medium => 0.6,
        Severity::High => 0.8,
        Severity::Critical => 1.0,
    }
}
