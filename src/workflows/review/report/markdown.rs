//! For a comment on a pull request: everything a reader needs, and nothing that acts. What does not
//! fit into a comment is counted.

use std::fmt::Write;

use super::{
    Checked, Coverage, ReportContext, counted, counts_of, coverage, covered,
    escape::{block, cell, code, prose, sentence},
    findings, missing, models_words, tools_words, verdict,
};
use crate::{
    analysis::{Finding, Side},
    workflows::review::state::ReviewState,
};

/// A comment on GitHub holds 65,536 characters; findings may take so many bytes of it.
const FINDINGS: usize = 48_000;

/// And the missing parts, and the table of coverage, so many each.
const REST: usize = 7_000;

/// Of a finding that goes over many lines, so many are quoted.
const LINES: usize = 20;

/// The review as Markdown.
pub fn markdown(state: &ReviewState, about: &ReportContext) -> String {
    let mut out = head(state, about);
    let shown = findings(state);
    let mut left = 0;
    for (path, of_file) in by_file(&shown) {
        let head = format!("### {}\n\n", code(path));
        let mut begun = false;
        for finding in of_file {
            let text = written(finding, about);
            if out.len() + head.len() + text.len() > FINDINGS {
                left += 1;
                continue;
            }
            if !begun {
                out.push_str(&head);
            }
            begun = true;
            out.push_str(&text);
        }
    }
    if left > 0 {
        let more = counted(left, "finding does", "findings do");
        line(&mut out, format_args!("**And {more} not fit into a comment.**\n"));
    }
    out.push_str(&closing(state, about));
    out
}

/// What comes before the findings: verdict and counts.
pub fn opening(state: &ReviewState, about: &ReportContext) -> String {
    head(state, about)
}

/// What comes after the findings: what was left out, what is missing, coverage.
pub fn closing(state: &ReviewState, about: &ReportContext) -> String {
    let mut out = String::new();
    left_out(state, &mut out);
    gaps(state, &mut out);
    table(state, &mut out);
    foot(state, about, &mut out);
    out
}

/// A finding as a comment on its lines.
pub fn comment(finding: &Finding) -> String {
    let mut out = String::new();
    line(&mut out, format_args!("**{} · {}**\n", finding.severity, sentence(&finding.title)));
    line(&mut out, format_args!("{}\n", prose(&finding.body)));
    let by = code(&format!("{}/{}", finding.agent, finding.rule));
    line(&mut out, format_args!("{by} · confidence {}", finding.confidence));
    out
}

/// A finding with its file, for a summary in which it stands alone.
pub fn in_summary(finding: &Finding, about: &ReportContext) -> String {
    format!("### {}\n\n{}", code(&finding.path), written(finding, about))
}

fn line(out: &mut String, text: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn head(state: &ReviewState, about: &ReportContext) -> String {
    let word = match verdict(state) {
        "clean" => "nothing to say",
        "comments" => "comments",
        "changes_requested" => "changes requested",
        _ => "incomplete",
    };
    let mut out = format!("## verdict: {word}\n\n");
    let counts: Vec<String> =
        counts_of(state).iter().map(|(severity, count)| format!("{count} {severity}")).collect();
    if !counts.is_empty() {
        let total = counted(findings(state).len(), "finding", "findings");
        line(&mut out, format_args!("**{total}**: {}\n", counts.join(" · ")));
    }
    if let Some(error) = &about.error {
        line(&mut out, format_args!("**The review failed:** {}\n", sentence(error)));
    }
    out
}

/// The findings of each file, files in the order of their first.
fn by_file<'a>(findings: &[&'a Finding]) -> Vec<(&'a str, Vec<&'a Finding>)> {
    let mut files: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match files.iter_mut().find(|(path, _)| *path == finding.path) {
            Some((_, of_file)) => of_file.push(finding),
            None => files.push((&finding.path, vec![finding])),
        }
    }
    files
}

fn written(finding: &Finding, about: &ReportContext) -> String {
    let mut out = String::new();
    let title = sentence(&finding.title);
    line(&mut out, format_args!("#### {} · {}{title}\n", finding.severity, place(finding)));
    let by = code(&format!("{}/{}", finding.agent, finding.rule));
    line(&mut out, format_args!("{by} · confidence {}\n", finding.confidence));
    let lines = about.code.lines(finding);
    let fix = about.code.fix(finding).map(|fix| fix.diff()).unwrap_or_default();
    if !lines.is_empty() {
        let shown = lines.iter().take(LINES).copied();
        line(&mut out, block(extension(&finding.path), shown));
        if lines.len() > LINES {
            line(&mut out, format_args!("… and {} more lines\n", lines.len() - LINES));
        }
    }
    line(&mut out, format_args!("{}\n", prose(&finding.body)));
    if !fix.is_empty() {
        let fix: Vec<String> = fix.iter().map(|(sign, text)| format!("{sign}{text}")).collect();
        line(&mut out, block("diff", fix.iter().map(String::as_str)));
    }
    out
}

fn place(finding: &Finding) -> String {
    if finding.is_whole_file() {
        return String::new();
    }
    let of = if finding.side == Side::Left { " of the base" } else { "" };
    match finding.end_line > finding.start_line {
        true => format!("lines {}–{}{of} · ", finding.start_line, finding.end_line),
        false => format!("line {}{of} · ", finding.start_line),
    }
}

/// What a fence calls the language of a file.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn left_out(state: &ReviewState, out: &mut String) {
    let counts = state.judgement.as_ref().map(|judgement| judgement.left_out);
    let Some(text) = counts.and_then(super::text::left_out) else { return };
    line(out, format_args!("Left out: {text}.\n"));
}

fn gaps(state: &ReviewState, out: &mut String) {
    let missing = missing(state);
    if missing.is_empty() {
        return;
    }
    line(out, "**Missing from this review:**\n");
    let rows = missing.iter().map(|gap| format!("- {}\n", sentence(gap)));
    let left = capped(rows, out);
    if left > 0 {
        line(out, format_args!("- … and {left} more"));
    }
    out.push('\n');
}

fn table(state: &ReviewState, out: &mut String) {
    let rows = coverage(state);
    line(out, format_args!("<details><summary>Coverage: {}</summary>\n", covered(state)));
    line(out, "| status | file | lines | reason |\n|---|---|---:|---|");
    let mut sorted: Vec<&Coverage> = rows.iter().collect();
    // What went wrong first; the order of the change otherwise.
    sorted.sort_by_key(|row| std::cmp::Reverse(row.status));
    let left = capped(sorted.into_iter().map(row), out);
    if left > 0 {
        line(out, format_args!("\n… and {}", counted(left, "more file", "more files")));
    }
    line(out, "\n</details>\n");
}

fn row(row: &Coverage) -> String {
    let status = match row.status {
        Checked::Done => "reviewed",
        Checked::Skipped => "skipped",
        Checked::Failed => "**failed**",
    };
    let reason = row.reason.as_deref().unwrap_or_default();
    let breaks_out = reason.contains(['|', '\\', '`']);
    let reason = if breaks_out { cell(reason) } else { sentence(reason) };
    format!("| {status} | {} | {} | {reason} |\n", cell(&row.path), row.lines)
}

/// Writes rows as long as they fit; answers how many do not.
fn capped(rows: impl Iterator<Item = String>, out: &mut String) -> usize {
    let end = out.len() + REST;
    let mut left = 0;
    for row in rows {
        if left > 0 || out.len() + row.len() > end {
            left += 1;
        } else {
            out.push_str(&row);
        }
    }
    left
}

fn foot(state: &ReviewState, about: &ReportContext, out: &mut String) {
    let short = |id: &str| id.chars().take(12).collect::<String>();
    let mut parts = vec![
        format!("verdict {}", env!("CARGO_PKG_VERSION")),
        code(&format!("{}..{}", short(&state.target.base), short(&state.target.head))),
    ];
    if !about.run.is_empty() {
        parts.push(format!("run {}", code(&about.run)));
    }
    let words = [tools_words(state), models_words(state)].into_iter().flatten();
    parts.extend(words.map(|words| sentence(&words)));
    line(out, format_args!("<sub>{}</sub>", parts.join(" · ")));
}
