//! For the log of a GitHub workflow: one annotation a line, as its runner reads them from a
//! step's output. A line is either a whole command of ours or not there at all: what comes from the
//! change is escaped, so it can neither end a command nor begin another.
//!
//! A finding about the base side has no line: the lines shown are those of the head.

use super::{ReportContext, findings, missing, tame};
use crate::{
    analysis::{Finding, Severity, Side},
    workflows::review::state::ReviewState,
};

/// The review as workflow commands, most important first: GitHub shows ten of a level per step.
pub fn github(state: &ReviewState, about: &ReportContext) -> String {
    let mut out = String::new();
    if let Some(error) = &about.error {
        out.push_str(&command("error", &[("title", "The review failed".to_owned())], error));
    }
    if !missing(state).is_empty() {
        let title = [("title", "The review is incomplete".to_owned())];
        out.push_str(&command("warning", &title, &missing(state).join("\n")));
    }
    for finding in findings(state) {
        out.push_str(&annotation(finding));
    }
    out
}

fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "notice",
    };
    let mut properties = vec![("file", finding.path.clone())];
    if finding.side == Side::Right && !finding.is_whole_file() {
        properties.push(("line", finding.start_line.to_string()));
        properties.push(("endLine", finding.end_line.to_string()));
    }
    properties.push(("title", format!("{}: {}", finding.severity, finding.title)));
    let by = format!("{}/{} · confidence {}", finding.agent, finding.rule, finding.confidence);
    command(level, &properties, &format!("{}\n\n{by}", finding.body.trim()))
}

fn command(name: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<String> =
        properties.iter().map(|(key, value)| format!("{key}={}", property(value))).collect();
    let message: Vec<String> = message.lines().map(data).collect();
    format!("::{name} {}::{}\n", properties.join(","), message.join("%0A"))
}

/// A line of a message.
fn data(text: &str) -> String {
    tame(text).to_string().replace('%', "%25")
}

/// A property's value. Of what cannot be shown only line ends keep their meaning: a file whose name
/// holds other control characters is named legibly, and not found.
fn property(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '%' | ':' | ',' => out.push_str(&format!("%{:02X}", u32::from(c))),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            c => out.push_str(&tame(c.encode_utf8(&mut [0; 4])).to_string()),
        }
    }
    out
}
