//! Comments that tell a finding away: `verdict:ignore RULE-ID reason`, on its line or alone on the
//! line before. This only reads them; whoever judges decides what they are worth.

use super::{Category, Finding, Lines, Severity, SourceText, checks::At};

const MARK: &str = "verdict:ignore";

/// What opens a comment, in one language or another.
const OPENERS: &[&str] = &["//", "#", "/*", "*", "--", "<!--", ";", "%", "{#"];

/// A comment that tells findings of one rule away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suppression<'t> {
    rule: &'t str,
    reason: &'t str,
    /// Whether nothing but the comment stands on its line.
    alone: bool,
}

/// Whether `line` (from 1) or the comment before it tells findings of `rule` away, with a reason.
pub fn covers(lines: &Lines<'_>, line: u32, rule: &str) -> bool {
    let tells = |s: &Suppression<'_>| s.rule == rule && has_words(s.reason);
    let here = lines.get(line).and_then(parse);
    let before = lines.get(line.saturating_sub(1)).and_then(parse).filter(|s| s.alone);
    here.is_some_and(|s| tells(&s)) || before.is_some_and(|s| tells(&s))
}

/// Touched suppressions that suppress nothing: without a reason, or of a rule that `known` does
/// not know. Fingerprints not yet set.
pub fn complaints(
    source: SourceText<'_>,
    lines: &Lines<'_>,
    known: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    if !source.text.contains(MARK) {
        return Vec::new();
    }
    let told = lines.touched(source.touched).filter_map(|(number, line)| {
        let suppression = parse(line)?;
        let body = if !known(suppression.rule) {
            format!(
                "There is no rule `{}`, so nothing is suppressed.\n\nCorrect the name; \
                 `verdict rules list` shows them all.",
                suppression.rule
            )
        } else if !has_words(suppression.reason) {
            format!(
                "Without a reason nothing is suppressed.\n\nSay why it is right here: \
                 `{MARK} {} the reason`.",
                suppression.rule
            )
        } else {
            return None;
        };
        Some(At { path: source.path, number, line }.finding(
            "bad-suppression",
            Category::Pattern,
            Severity::Low,
            95,
            "This comment suppresses nothing",
            &body,
        ))
    });
    told.collect()
}

fn parse(line: &str) -> Option<Suppression<'_>> {
    let (before, after) = line.split_once(MARK)?;
    let before = before.trim_end();
    let opener = OPENERS.iter().find(|o| before.ends_with(**o))?;
    let after = after.strip_prefix([' ', '\t'])?.trim();
    let after = ["*/", "-->", "#}"].iter().fold(after, |text, end| text.trim_end_matches(end));
    let (rule, reason) = after.trim().split_once(char::is_whitespace).unwrap_or((after.trim(), ""));
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let named = !rule.is_empty() && rule.chars().all(sound);
    let alone = before.strip_suffix(*opener).is_some_and(|rest| rest.trim().is_empty());
    named.then(|| Suppression { rule, reason: reason.trim(), alone })
}

fn has_words(reason: &str) -> bool {
    reason.chars().filter(|c| c.is_alphabetic()).count() >= 3
}
