//! A review as GitHub takes it: one body within its limit, and comments on lines it shows.

use serde_json::{Value, json};

use super::{lines::CommentableLines, place::PullPlace};
use crate::forge::{Comment, Publication};

/// The longest body of a review or a comment, in characters.
const MAX_BODY_CHARS: usize = 65_536;

/// Reviews with about a hundred comments cause trouble; more than this is not read either.
const MAX_COMMENTS: usize = 30;

/// What stands where a body was cut.
const CUT: &str = "\n\n… cut: the rest does not fit into a comment.";

/// A review, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composed {
    /// Begins with the marker.
    pub(super) body: String,
    /// As the API takes them.
    pub(super) comments: Vec<Value>,
}

/// What a body begins with: which head of which pull request it is about. First in the body, since
/// cutting takes the end.
pub(super) fn marker(host: &str, place: &PullPlace, head: &str) -> String {
    let place = place.to_string().to_ascii_lowercase();
    format!("<!-- verdict review of {host}/{place} at {head} -->\n")
}

/// Puts every finding on its line where GitHub takes it, and into the body elsewhere.
pub(super) fn compose(marker: &str, review: &Publication, lines: &CommentableLines) -> Composed {
    let mut comments = Vec::new();
    let mut body = format!("{marker}{}", review.opening);
    for comment in &review.comments {
        match inline(comment, lines).filter(|_| comments.len() < MAX_COMMENTS) {
            Some(value) => comments.push(value),
            None => body.push_str(&comment.in_summary),
        }
    }
    body.push_str(&review.closing);
    Composed { body: bounded(body), comments }
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
    let mut text = comment.body.clone();
    let whole = comment.lines == Some((first, last)) && !comment.on_base;
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
    fn a_suggestion_cannot_end_its_own_fence() {
        assert_eq!(suggestion("a\n```\nb"), "\n\n````suggestion\na\n```\nb\n````\n");
        assert_eq!(suggestion(""), "\n\n```suggestion\n```\n");
    }
}
