//! A review as GitHub takes it: one body within its limit, and comments on lines it shows.
//!
//! Whatever is written begins with a marker: an HTML comment that names what it is. Markers stand
//! first, since cutting takes the end.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{lines::CommentableLines, place::PullPlace};
use crate::forge::{Comment, Publication};

/// The longest body of a review or a comment, and the longest summary of a check run, in characters.
const MAX_BODY_CHARS: usize = 65_535;

/// Reviews with about a hundred comments cause trouble; more than this is not read either.
const MAX_COMMENTS: usize = 30;

/// What stands where a body was cut.
const CUT: &str = "\n\n… cut: the rest does not fit into a comment.";

/// What is kept free for the words between findings and closing.
const ROOM: usize = 500;

/// The findings of a review, each in its place.
#[derive(Debug, Default)]
pub(super) struct Placement<'a> {
    /// On lines that GitHub shows.
    pub(super) inline: Vec<Inline<'a>>,
    /// In the text.
    pub(super) elsewhere: Vec<&'a Comment>,
}

/// A comment on lines.
#[derive(Debug)]
pub(super) struct Inline<'a> {
    pub(super) finding: &'a Comment,
    /// As the API takes it.
    pub(super) value: Value,
}

/// The name of a pull request on a server, in markers.
pub(super) fn subject(host: &str, place: &PullPlace) -> String {
    format!("{host}/{}", place.to_string().to_ascii_lowercase())
}

/// What the body of the review of a head begins with.
pub(super) fn review_marker(subject: &str, head: &str) -> String {
    format!("<!-- verdict review of {subject} at {head} -->\n")
}

/// The head that a review of this pull request is of, by its body.
pub(super) fn head_of<'b>(body: &'b str, subject: &str) -> Option<&'b str> {
    let of = body.strip_prefix("<!-- verdict review of ")?.strip_prefix(subject)?;
    Some(of.strip_prefix(" at ")?.split_once(" -->")?.0)
}

/// What the body of a further review of a head begins with.
pub(super) fn addition_marker(subject: &str, head: &str) -> String {
    format!("<!-- verdict addition to the review of {subject} at {head} -->\n")
}

/// What the summary of a pull request begins with.
pub(super) fn summary_marker(subject: &str) -> String {
    format!("<!-- verdict summary of {subject} -->\n")
}

/// The last word of the marker of what may not be found again in the same code.
const UNSTEADY: &str = "unsteady";

/// The word that it was when models alone were so.
const BY_MODEL: &str = "model";

/// What the comment about a finding begins with.
pub(super) fn finding_marker(finding: &Comment) -> String {
    let Comment { fingerprint, agent, .. } = finding;
    let unsteady = if finding.unsteady { format!(" {UNSTEADY}") } else { String::new() };
    format!("<!-- verdict finding {fingerprint} {agent}{unsteady} -->\n")
}

/// What the marker of a comment says about its finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FindingMarker<'b> {
    pub(super) fingerprint: &'b str,
    /// The agent that it belongs to; earlier versions did not say.
    pub(super) agent: Option<&'b str>,
    pub(super) unsteady: bool,
}

/// Reads it.
pub(super) fn read_marker(body: &str) -> Option<FindingMarker<'_>> {
    let (words, _) = body.strip_prefix("<!-- verdict finding ")?.split_once(" -->")?;
    let mut words = words.split_whitespace();
    let (fingerprint, agent) = (words.next()?, words.next());
    let unsteady = words.next().is_some_and(|word| [UNSTEADY, BY_MODEL].contains(&word));
    Some(FindingMarker { fingerprint, agent, unsteady })
}

/// Whether a text begins with a marker.
pub(super) fn is_marked(body: &str) -> bool {
    body.starts_with("<!-- verdict ")
}

/// The fingerprint of the finding that a comment is about.
pub(super) fn fingerprint_of(body: &str) -> Option<&str> {
    read_marker(body).map(|marker| marker.fingerprint)
}

/// Puts every finding on its line where GitHub takes it and nothing folds it away there: `hidden` holds the fingerprints
/// of those that have a comment already, which is not shown any more.
pub(super) fn place<'a>(
    review: &'a Publication,
    lines: &CommentableLines,
    hidden: &HashSet<&str>,
) -> Placement<'a> {
    let mut placed = Placement::default();
    for finding in &review.comments {
        let on_lines = !hidden.contains(finding.fingerprint.as_str());
        let on_lines = on_lines && placed.inline.len() < MAX_COMMENTS;
        match inline(finding, lines).filter(|_| on_lines) {
            Some(value) => placed.inline.push(Inline { finding, value }),
            None => placed.elsewhere.push(finding),
        }
    }
    placed
}

/// The comment as the API takes it, if GitHub shows its lines.
fn inline(comment: &Comment, lines: &CommentableLines) -> Option<Value> {
    let (first, last) = comment.lines?;
    // A long range may reach beyond what is shown; its end is where it is about.
    let first =
        if lines.takes(&comment.path, comment.on_base, (first, last)) { first } else { last };
    if !lines.takes(&comment.path, comment.on_base, (first, last)) {
        return None;
    }
    let side = if comment.on_base { "LEFT" } else { "RIGHT" };
    let mut text = format!("{}{}", finding_marker(comment), comment.body);
    let whole = comment.lines == Some((first, last))
        && !comment.on_base
        && !lines.hold_deleted(&comment.path, (first, last));
    if let Some(replacement) = comment.suggestion.as_ref().filter(|_| whole) {
        text.push_str(&suggestion(replacement));
    }
    let mut value =
        json!({ "path": comment.path, "line": last, "side": side, "body": bounded(text) });
    if first < last {
        value["start_line"] = first.into();
        value["start_side"] = side.into();
    }
    Some(value)
}

/// A body: what it begins with, as many findings as fit, and what it ends with.
pub(super) fn body(opening: &str, findings: &[&Comment], closing: &str) -> String {
    let mut text = opening.to_owned();
    let room = MAX_BODY_CHARS.saturating_sub(closing.chars().count() + ROOM);
    let mut used = text.chars().count();
    let mut left_out = 0_usize;
    for finding in findings {
        let length = finding.in_summary.chars().count();
        if used + length > room {
            left_out += 1;
            continue;
        }
        used += length;
        text.push_str(&finding.in_summary);
    }
    if left_out > 0 {
        let words = if left_out == 1 { "finding does" } else { "findings do" };
        text.push_str(&format!("**And {left_out} more {words} not fit into a comment.**\n\n"));
    }
    text.push_str(closing);
    bounded(text)
}

/// A committable suggestion. Its fence is longer than any run of backticks inside.
fn suggestion(replacement: &str) -> String {
    let runs = replacement.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    let end = if replacement.is_empty() || replacement.ends_with('\n') { "" } else { "\n" };
    format!("\n\n{fence}suggestion\n{replacement}{end}{fence}\n")
}

/// Cuts at a paragraph, if there is one near, and never inside a character.
pub(super) fn bounded(text: String) -> String {
    if text.chars().count() <= MAX_BODY_CHARS {
        return text;
    }
    let room = MAX_BODY_CHARS - CUT.chars().count();
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    let paragraph = kept.rfind("\n\n").filter(|at| *at > end / 2);
    format!("{}{CUT}", &kept[..paragraph.unwrap_or(end)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_keeps_its_start_and_its_characters() {
        let text = format!("<!-- marker -->\n{}", "é𝒳 ".repeat(30_000));
        let cut = bounded(text);
        assert!(cut.starts_with("<!-- marker -->\n") && cut.ends_with(CUT));
        assert!(cut.chars().count() <= MAX_BODY_CHARS);
    }

    #[test]
    fn a_marker_names_one_pull_request_and_head() {
        let body = format!("{}## verdict", review_marker("host/o/r#1", "abc"));
        assert_eq!(head_of(&body, "host/o/r#1"), Some("abc"));
        assert_eq!(head_of(&body, "host/o/r#12"), None);
        assert_eq!(head_of(&addition_marker("host/o/r#1", "abc"), "host/o/r#1"), None);
    }

    fn finding() -> Comment {
        Comment {
            fingerprint: "0".repeat(16),
            agent: "logic".to_owned(),
            unsteady: false,
            severity: "low",
            title: String::new(),
            text: String::new(),
            path: "a.rs".to_owned(),
            on_base: false,
            lines: None,
            body: String::new(),
            in_summary: "𝒳".repeat(10_000),
            suggestion: None,
        }
    }

    #[test]
    fn a_comment_says_whose_finding_it_is_about() {
        let read = |body: &str| {
            read_marker(body)
                .map(|s| (s.fingerprint.to_owned(), s.agent.map(str::to_owned), s.unsteady))
        };
        let finding = finding();
        let zeros = "0".repeat(16);
        let logic = Some("logic".to_owned());
        let marker = finding_marker(&finding);
        assert_eq!(read(&format!("{marker}text")), Some((zeros.clone(), logic.clone(), false)));
        let marker = finding_marker(&Comment { unsteady: true, ..finding });
        assert_eq!(read(&marker), Some((zeros.clone(), logic.clone(), true)));
        let before = format!("<!-- verdict finding {zeros} logic model -->\n");
        assert_eq!(read(&before), Some((zeros.clone(), logic, true)));
        assert_eq!(
            read(&format!("<!-- verdict finding {zeros} -->\n")),
            Some((zeros, None, false))
        );
        assert_eq!(read("<!-- verdict summary of x -->"), None);
    }

    #[test]
    fn findings_that_do_not_fit_are_counted_and_the_closing_stays() {
        let finding = finding();
        let text = body("<!-- marker -->\n", &[&finding; 9], "the end");
        assert!(
            text.starts_with("<!-- marker -->\n") && text.ends_with("the end"),
            "{}",
            text.len()
        );
        assert!(text.contains("**And 3 more findings do not fit into a comment.**"));
        assert!(text.chars().count() <= MAX_BODY_CHARS);
    }

    #[test]
    fn a_suggestion_cannot_end_its_own_fence() {
        assert_eq!(suggestion("a\n```\nb"), "\n\n````suggestion\na\n```\nb\n````\n");
        assert_eq!(suggestion(""), "\n\n```suggestion\n```\n");
    }
}
