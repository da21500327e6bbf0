//! Comments that tell a finding away: `verdict:ignore RULE-ID reason`, on its line or alone on the
//! line before. Where the language is known, only what its grammar takes for a comment counts: the
//! same words in a string tell nothing away. This only reads them; whoever judges decides what they
//! are worth.

use std::{collections::BTreeMap, ops::Range};

use super::{
    Finding, Lang, Lines, SourceText, check_info::BAD_SUPPRESSION, checks::At, is_tool_rule,
    parse::parse,
};

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

/// The comments of one text that tell findings away, by line.
#[derive(Debug, Clone, Default)]
pub struct Suppressions<'t>(BTreeMap<u32, Suppression<'t>>);

impl<'t> Suppressions<'t> {
    /// Reads those of the file at `path` that holds `text`.
    pub fn of(path: &str, text: &'t str) -> Self {
        if !text.contains(MARK) {
            return Self::default();
        }
        let comments = Lang::of(path, text).map(|language| comments(language, text));
        let counts = |at: usize| comments.as_ref().is_none_or(|all| lies_in(all, at));
        let lines = Lines::new(text);
        let mut found = BTreeMap::new();
        for (at, _) in text.match_indices(MARK).filter(|(at, _)| counts(*at)) {
            let number = lines.at(at);
            let line = lines.range(number, number).and_then(|r| Some((r.start, text.get(r)?)));
            if let Some((start, line)) = line
                && let Some(suppression) = read(line, at - start)
            {
                found.entry(number).or_insert(suppression);
            }
        }
        Self(found)
    }

    /// Whether the comment on `line` (from 1) or the one before it tells findings of `rule` away,
    /// with a reason.
    pub fn covers(&self, line: u32, rule: &str) -> bool {
        let tells = |s: &&Suppression<'_>| s.rule == rule && has_words(s.reason);
        let before = self.0.get(&line.saturating_sub(1)).filter(|s| s.alone);
        self.0.get(&line).filter(tells).or(before.filter(tells)).is_some()
    }
}

/// Where comments stand in `text`, in order; nowhere if it cannot be parsed.
fn comments(language: Lang, text: &str) -> Vec<Range<usize>> {
    let Ok(tree) = parse(language, text) else { return Vec::new() };
    let (mut open, mut found) = (vec![tree.root()], Vec::new());
    while let Some(node) = open.pop() {
        if node.kind().contains("comment") {
            found.push(node.range());
        } else {
            open.extend(node.children());
        }
    }
    found.sort_unstable_by_key(|range| range.start);
    found
}

fn lies_in(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after.checked_sub(1).is_some_and(|index| ranges[index].contains(&at))
}

/// Touched suppressions that suppress nothing: without a reason, or of a rule that `known` does
/// not know. Fingerprints not yet set.
pub fn complaints(source: SourceText<'_>, known: impl Fn(&str) -> bool) -> Vec<Finding> {
    let all = Suppressions::of(source.path, source.text);
    let lines = Lines::new(source.text);
    let touched = all.0.iter().filter(|(number, _)| source.touched.contains(**number));
    let told = touched.filter_map(|(number, suppression)| {
        let body = complaint(suppression, &known)?;
        let at = At { path: source.path, number: *number, line: lines.get(*number)? };
        Some(Finding { body, ..at.finding(&BAD_SUPPRESSION) })
    });
    told.collect()
}

/// What is wrong with it.
fn complaint(suppression: &Suppression<'_>, known: impl Fn(&str) -> bool) -> Option<String> {
    let Suppression { rule, reason, .. } = suppression;
    if !known(rule) {
        return Some(format!(
            "There is no rule `{rule}`, so nothing is suppressed.\n\nCorrect the name; `verdict \
             rules list` shows them all."
        ));
    }
    (!has_words(reason)).then(|| {
        format!(
            "Without a reason nothing is suppressed.\n\nSay why it is right here: `{MARK} {rule} \
             the reason`."
        )
    })
}

/// Reads `line`, in which the mark stands at byte `at`.
fn read(line: &str, at: usize) -> Option<Suppression<'_>> {
    let (before, after) = (line.get(..at)?, line.get(at + MARK.len()..)?);
    let before = before.trim_end();
    let opener = OPENERS.iter().find(|o| before.ends_with(**o))?;
    let after = after.strip_prefix([' ', '\t'])?.trim();
    let after = ["*/", "-->", "#}"].iter().fold(after, |text, end| text.trim_end_matches(end));
    let (rule, reason) = after.trim().split_once(char::is_whitespace).unwrap_or((after.trim(), ""));
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let named = !rule.is_empty() && (rule.chars().all(sound) || is_tool_rule(rule));
    let alone = before.strip_suffix(*opener).is_some_and(|rest| rest.trim().is_empty());
    named.then(|| Suppression { rule, reason: reason.trim(), alone })
}

fn has_words(reason: &str) -> bool {
    reason.chars().filter(|c| c.is_alphabetic()).count() >= 3
}
