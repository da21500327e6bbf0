//! For GitLab's merge requests: a report of code quality, which is a list of issues in the format of
//! Code Climate as far as GitLab reads it.
//!
//! Lines are those of the head; an issue about the base side or a whole file stands at line 1. What
//! of the review is missing is an issue, too: a report that shows nothing else must not look clean.

use serde::Serialize;

use super::{ReportContext, escape, findings, missing};
use crate::{
    analysis::{Finding, Severity, Side},
    workflows::review::state::ReviewState,
};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    /// The same wherever the lines move to; no two of a report are alike.
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The review as a report of code quality, with a newline at the end.
pub fn gitlab(state: &ReviewState, about: &ReportContext) -> String {
    let failed = about.error.as_deref().map(|why| incomplete("review-failed", why));
    let parts = missing(state).join("; ");
    let missing = (!parts.is_empty()).then(|| incomplete("review-incomplete", &parts));
    let found = findings(state).into_iter().map(issue);
    let issues: Vec<Issue> = failed.into_iter().chain(missing).chain(found).collect();
    // Strings and numbers always have a JSON form.
    let mut text = serde_json::to_string_pretty(&issues).unwrap_or_default();
    text.push('\n');
    text
}

fn issue(finding: &Finding) -> Issue {
    let on_head = finding.side == Side::Right && !finding.is_whole_file();
    let why = finding.body.trim().split("\n\n").next().unwrap_or_default();
    Issue {
        description: one_line(&format!("{}. {why}", finding.title)),
        check_name: finding.rule.clone(),
        fingerprint: finding.fingerprint.clone(),
        severity: severity(finding.severity),
        location: at(&finding.path, if on_head { finding.start_line } else { 1 }),
    }
}

fn incomplete(check: &str, why: &str) -> Issue {
    Issue {
        description: one_line(&format!("The review is incomplete. {why}")),
        check_name: check.to_owned(),
        fingerprint: check.to_owned(),
        severity: severity(Severity::Medium),
        location: at(".", 1),
    }
}

fn at(path: &str, begin: u32) -> Location {
    Location { path: path.to_owned(), lines: Lines { begin } }
}

fn one_line(text: &str) -> String {
    escape::plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "minor",
        Severity::Medium => "major",
        Severity::High => "critical",
        Severity::Critical => "blocker",
    }
}
