//! For people. Styled with ANSI sequences: print it through `anstream`, which takes them out
//! where they are not wanted.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use anstyle::{AnsiColor, Style};
use textwrap::core::display_width;

use super::{
    Checked, ReportContext, counted, coverage, covered, findings, models_words, tame, tools_words,
    verdict_words,
};
use crate::{
    analysis::{Finding, Severity, Side},
    workflows::review::{judge::LeftOut, state::ReviewState},
};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// Of a finding that goes over many lines, so many are shown.
const LINES: usize = 6;

/// Characters of a commit id that are shown, as git does.
const SHORT_ID: usize = 10;

/// Before each line of code.
const GUTTER: usize = 8;

/// The review as text. Without `colour` it holds no ANSI sequence.
pub fn text(state: &ReviewState, about: &ReportContext, colour: bool) -> String {
    let mut out = Out { text: String::new(), colour, width: about.width.map(|w| w.max(40)) };
    for finding in findings(state) {
        out.finding(finding, about);
    }
    out.summary(state);
    out.coverage(state);
    out.reviewed(state, about);
    out.footer(state, about);
    out.text
}

struct Out {
    text: String,
    colour: bool,
    width: Option<usize>,
}

impl Out {
    fn styled(&self, style: Style, text: impl std::fmt::Display) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    fn line(&mut self, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{text}");
    }

    /// A paragraph, wrapped where there is a width.
    fn paragraph(&mut self, text: &str, first: &str, rest: &str) {
        let text = tame(text).to_string();
        let Some(width) = self.width else { return self.line(format_args!("{first}{text}")) };
        let options = textwrap::Options::new(width)
            .initial_indent(first)
            .subsequent_indent(rest)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        for line in textwrap::wrap(&text, options) {
            self.line(line);
        }
    }

    fn finding(&mut self, finding: &Finding, about: &ReportContext) {
        let severity = self.styled(style(finding.severity), finding.severity);
        let title = self.styled(BOLD, tame(&finding.title));
        self.line(format_args!("{severity} {title}"));
        self.place(finding);
        let lines = about.code.lines(finding);
        match lines.as_slice() {
            [] => {}
            [line] => self.marked(finding, line),
            lines => self.barred(finding, lines),
        }
        for line in finding.body.lines().filter(|l| !l.trim().is_empty()) {
            self.paragraph(line, "  ", "  ");
        }
        for (sign, line) in about.code.fix(finding).map(|fix| fix.diff()).unwrap_or_default() {
            let style = if sign == '-' { RED } else { GREEN };
            let line = self.styled(style, format_args!("{sign} {}", self.cut(line)));
            self.line(format_args!("      {line}"));
        }
        self.line("");
    }

    fn place(&mut self, finding: &Finding) {
        let mut place = tame(&finding.path).to_string();
        if !finding.is_whole_file() {
            let _ = write!(place, ":{}", finding.start_line);
            if finding.end_line > finding.start_line {
                let _ = write!(place, "-{}", finding.end_line);
            }
            if finding.side == Side::Left {
                place.push_str(" of the base");
            }
        }
        let by = format!("{}/{} · confidence {}", finding.agent, finding.rule, finding.confidence);
        let by = self.styled(DIM, by);
        self.line(format_args!("  {place}  {by}"));
    }

    /// The one line it is about, and a mark under it.
    fn marked(&mut self, finding: &Finding, line: &str) {
        let number = self.styled(DIM, format_args!("{:>5} │", finding.start_line));
        let shown = self.cut(line);
        self.line(format_args!("{number} {shown}"));
        let code = shown.trim_start();
        let indent = " ".repeat(display_width(&shown) - display_width(code));
        let width = display_width(code).clamp(1, 80);
        let mark = self.styled(style(finding.severity), "^".repeat(width));
        let gutter = self.styled(DIM, "      │");
        self.line(format_args!("{gutter} {indent}{mark}"));
    }

    /// The lines it is about, each marked at its number.
    fn barred(&mut self, finding: &Finding, lines: &[&str]) {
        let bar = self.styled(style(finding.severity), "┃");
        for (number, line) in (finding.start_line..).zip(lines).take(LINES) {
            let number = self.styled(DIM, format_args!("{number:>5}"));
            self.line(format_args!("{number} {bar} {}", self.cut(line)));
        }
        if let Some(more @ 1..) = lines.len().checked_sub(LINES) {
            let more = counted(more, "more line", "more lines");
            let more = self.styled(DIM, format_args!("      … {more}"));
            self.line(more);
        }
    }

    fn summary(&mut self, state: &ReviewState) {
        let count = findings(state).len();
        let word = verdict_words(state);
        let style = match word {
            "clean" => GREEN,
            "changes_requested" => RED,
            _ => AnsiColor::Yellow.on_default(),
        };
        let word = self.styled(style.bold(), word);
        self.line(format_args!("verdict: {word} · {}", counted(count, "finding", "findings")));
        let Some(judgement) = &state.judgement else { return };
        if let Some(left_out) = left_out(judgement.left_out) {
            self.paragraph(&format!("left out: {left_out}"), "", "  ");
        }
        if judgement.left_out.over_cap > 0 {
            let more = judgement.left_out.over_cap;
            let hint = "raise `max_findings` in the base side's .verdict.toml to see them";
            self.paragraph(&format!("and {more} more: {hint}"), "", "  ");
        }
        for missing in &judgement.missing {
            self.paragraph(&format!("missing: {missing}"), "", "  ");
        }
    }

    /// One line, and a table of what is to be known about some files: by status and reason.
    fn coverage(&mut self, state: &ReviewState) {
        self.line(format_args!("coverage: {}", covered(state)));
        let rows = coverage(state);
        let mut reasons: BTreeMap<(Reverse<Checked>, &str), Vec<&str>> = BTreeMap::new();
        for row in rows.iter().filter(|r| r.status != Checked::Done || r.reason.is_some()) {
            let reason = row.reason.as_deref().unwrap_or("every agent is off");
            reasons.entry((Reverse(row.status), reason)).or_default().push(&row.path);
        }
        let reason = |text: &str| tame(text).to_string();
        let widths = reasons.keys().map(|(_, why)| display_width(&reason(why)));
        let width = widths.max().unwrap_or(0).min(40);
        for ((Reverse(status), why), paths) in reasons {
            let named: Vec<String> = paths.iter().take(3).map(|p| tame(p).to_string()).collect();
            let more = match paths.len().saturating_sub(3) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let word = match status {
                Checked::Done => self.styled(DIM, "note   "),
                Checked::Skipped => self.styled(DIM, "skipped"),
                Checked::Failed => self.styled(RED, "failed "),
            };
            let why = reason(why);
            let pad = " ".repeat(width.saturating_sub(display_width(&why)));
            self.line(format_args!("  {word}  {why}{pad}  {}{more}", named.join(", ")));
        }
    }

    /// What was compared.
    fn reviewed(&mut self, state: &ReviewState, about: &ReportContext) {
        let short = |id: &str| id.chars().take(SHORT_ID).collect::<String>();
        let (base, head) = (short(&state.target.base), short(&state.target.head));
        let what = about.description.as_ref().map(|what| format!(" ({what})")).unwrap_or_default();
        self.paragraph(&format!("reviewed: {base}..{head}{what}"), "", "  ");
        if let Some(at) = about.recorded {
            self.paragraph(&format!("recorded: {at}; --fresh reviews it again"), "", "  ");
        }
    }

    fn footer(&mut self, state: &ReviewState, about: &ReportContext) {
        for words in [tools_words(state), models_words(state)].into_iter().flatten() {
            self.paragraph(&words, "", "  ");
        }
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

    /// A code line that fits a terminal.
    fn cut(&self, line: &str) -> String {
        let width = self.width.unwrap_or(168).saturating_sub(GUTTER);
        let line = tame(line.trim_end()).to_string();
        if display_width(&line) <= width {
            return line;
        }
        let mut cut = String::new();
        for c in line.chars() {
            if display_width(&cut) + 2 > width {
                break;
            }
            cut.push(c);
        }
        cut.push('…');
        cut
    }
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => RED.bold(),
        Severity::High => RED,
        Severity::Medium => AnsiColor::Yellow.on_default(),
        Severity::Low => AnsiColor::Cyan.on_default(),
        Severity::Info => DIM,
    }
}

/// What was left out, in words; `None` when nothing was.
pub(super) fn left_out(counts: LeftOut) -> Option<String> {
    let parts = [
        (counts.over_cap, "over the cap"),
        (counts.below_threshold, "below the thresholds"),
        (counts.merged, "duplicates"),
        (counts.unanchored, "without their line"),
        (counts.refuted, "refuted"),
        (counts.suppressed, "suppressed in the source"),
        (counts.dismissed, "dismissed before"),
        (counts.unchanged, "about code reviewed before"),
        (counts.off, "of rules turned off"),
        (counts.outside, "of other tools, not on changed lines"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
