//! For people. Styled with ANSI sequences: print it through `anstream`, which takes them out
//! where they are not wanted.

use std::{collections::BTreeMap, fmt::Write};

use anstyle::{AnsiColor, Style};

use super::{About, Looked, coverage, findings, tame, verdict};
use crate::{
    analysis::{Finding, Severity},
    workflows::review::{judge::LeftOut, state::ReviewState},
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();

/// The review as text. Without `colour` it holds no ANSI sequence.
pub fn text(state: &ReviewState, about: &About, colour: bool) -> String {
    let mut out = Out { text: String::new(), colour };
    for finding in findings(state) {
        out.finding(finding);
    }
    out.summary(state);
    out.coverage(state);
    out.footer(about);
    out.text
}

struct Out {
    text: String,
    colour: bool,
}

impl Out {
    fn styled(&self, style: Style, text: impl std::fmt::Display) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    fn line(&mut self, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{text}");
    }

    fn finding(&mut self, finding: &Finding) {
        let severity = self.styled(style(finding.severity), finding.severity);
        let title = self.styled(BOLD, tame(&finding.title));
        self.line(format_args!("{severity} {title}"));
        let mut place = tame(&finding.path).to_string();
        if !finding.is_whole_file() {
            let _ = write!(place, ":{}", finding.start_line);
            if finding.end_line > finding.start_line {
                let _ = write!(place, "-{}", finding.end_line);
            }
        }
        let by = format!("{}/{} · confidence {}", finding.agent, finding.rule, finding.confidence);
        let by = self.styled(DIM, by);
        self.line(format_args!("  {place}  {by}"));
        if !finding.is_whole_file() {
            let number = self.styled(DIM, format_args!("{:>5} │", finding.start_line));
            self.line(format_args!("{number} {}", tame(&shortened(&finding.quote))));
            let indent = finding.quote.chars().take_while(|c| c.is_whitespace());
            let indent: usize = indent.map(|c| if c == '\t' { 4 } else { 1 }).sum();
            let width = tame(shortened(&finding.quote).trim()).to_string().chars().count();
            let mark = self.styled(style(finding.severity), "^".repeat(width.clamp(1, 80)));
            let gutter = self.styled(DIM, "      │");
            self.line(format_args!("{gutter} {}{mark}", " ".repeat(indent)));
        }
        for line in finding.body.lines().filter(|l| !l.trim().is_empty()) {
            self.line(format_args!("  {}", tame(line)));
        }
        if let Some(suggestion) = &finding.suggestion {
            for line in suggestion.lines() {
                let line = self.styled(GREEN, format_args!("+ {}", tame(line)));
                self.line(format_args!("      {line}"));
            }
        }
        self.line("");
    }

    fn summary(&mut self, state: &ReviewState) {
        let count = findings(state).len();
        let word = verdict(state);
        let style = match word {
            "clean" => GREEN,
            "changes_requested" => AnsiColor::Red.on_default(),
            _ => AnsiColor::Yellow.on_default(),
        };
        let word = self.styled(style.bold(), word);
        let noun = if count == 1 { "finding" } else { "findings" };
        self.line(format_args!("verdict: {word} · {count} {noun}"));
        let Some(judgement) = &state.judgement else { return };
        if let Some(left_out) = left_out(judgement.left_out) {
            self.line(format_args!("left out: {left_out}"));
        }
        for missing in &judgement.missing {
            self.line(format_args!("missing: {}", tame(missing)));
        }
    }

    fn coverage(&mut self, state: &ReviewState) {
        let rows = coverage(state);
        let lines: u64 = rows.iter().filter(|r| r.status == Looked::Done).map(|r| r.lines).sum();
        let done = rows.iter().filter(|r| r.status == Looked::Done).count();
        let files = rows.len();
        self.line(format_args!(
            "coverage: {done} of {files} changed files reviewed, {lines} lines"
        ));
        let mut reasons: BTreeMap<(Looked, &str), Vec<&str>> = BTreeMap::new();
        for row in rows.iter().filter(|r| r.status != Looked::Done || r.reason.is_some()) {
            let reason = row.reason.as_deref().unwrap_or("every agent is off");
            reasons.entry((row.status, reason)).or_default().push(&row.path);
        }
        for ((status, reason), paths) in reasons {
            let named: Vec<String> = paths.iter().take(3).map(|p| tame(p).to_string()).collect();
            let more = match paths.len().saturating_sub(3) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let word = match status {
                Looked::Done => "note",
                Looked::Skipped => "skipped",
                Looked::Failed => "failed",
            };
            self.line(format_args!("  {word}, {}: {}{more}", tame(reason), named.join(", ")));
        }
    }

    fn footer(&mut self, about: &About) {
        let nodes = about.timings.iter().filter(|(node, _)| *node != "total");
        let mut parts: Vec<String> = nodes.map(|(node, ms)| format!("{node} {ms:.0}")).collect();
        if let Some(total) = about.timings.get("total") {
            parts.insert(0, format!("{total:.0} ms"));
        }
        if !parts.is_empty() {
            let line = self.styled(DIM, format_args!("time: {}", parts.join(" · ")));
            self.line(line);
        }
        if !about.run.is_empty() {
            let line = self.styled(DIM, format_args!("run: {}", about.run));
            self.line(line);
        }
    }
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => AnsiColor::Red.on_default().bold(),
        Severity::High => AnsiColor::Red.on_default(),
        Severity::Medium => AnsiColor::Yellow.on_default(),
        Severity::Low => AnsiColor::Cyan.on_default(),
        Severity::Info => DIM,
    }
}

/// A code line that fits a terminal.
fn shortened(line: &str) -> String {
    const WIDTH: usize = 160;
    let line = line.trim_end();
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn left_out(counts: LeftOut) -> Option<String> {
    let parts = [
        (counts.over_cap, "over the cap"),
        (counts.below_threshold, "below the thresholds"),
        (counts.merged, "duplicates"),
        (counts.unanchored, "without their line"),
        (counts.suppressed, "suppressed in the source"),
        (counts.off, "of rules turned off"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
