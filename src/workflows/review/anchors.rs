//! Whether findings stand on the lines they quote, and whether a comment there suppresses them. Pure.

use std::collections::HashMap;

use crate::analysis::{Finding, Lines, Side, suppressions::Suppressions};

/// A quote is searched for this many lines up and down.
const QUOTE_SEARCH_LINES: u32 = 40;

/// Finds out whether findings stand on the lines they quote.
pub(super) struct Anchors<'t> {
    texts: HashMap<&'t str, Lines<'t>>,
    suppressions: HashMap<&'t str, Suppressions<'t>>,
}

impl<'t> Anchors<'t> {
    pub(super) fn new<T: AsRef<str>>(texts: &'t HashMap<String, T>) -> Self {
        let texts = || texts.iter().map(|(path, text)| (path.as_str(), text.as_ref()));
        let lines = texts().map(|(path, text)| (path, Lines::new(text)));
        let suppressions = texts().map(|(path, text)| (path, Suppressions::of(path, text)));
        Self { texts: lines.collect(), suppressions: suppressions.collect() }
    }

    /// Whether a suppression comment covers this finding.
    pub(super) fn suppressed(&self, finding: &Finding) -> bool {
        let head = !finding.is_whole_file() && finding.side == Side::Right;
        let here = self.suppressions.get(finding.path.as_str()).filter(|_| head);
        here.is_some_and(|s| s.covers(finding.start_line, &finding.rule))
    }

    /// The finding on the line it quotes, moved there if need be; `None` when there is none.
    pub(super) fn anchor(&self, mut finding: Finding) -> Option<Finding> {
        // Of the base side and of whole files there is no head text to compare with.
        if finding.is_whole_file() || finding.side == Side::Left {
            return Some(finding);
        }
        let lines = self.texts.get(finding.path.as_str())?;
        let line = find_line(lines, finding.start_line, &finding.quote)?;
        let height = finding.end_line.saturating_sub(finding.start_line);
        if line != finding.start_line {
            // What was to be replaced is no longer certain.
            finding.suggestion = None;
        }
        finding.start_line = line;
        finding.end_line = line.saturating_add(height).min(lines.count());
        Some(finding)
    }
}

/// The line that reads as `quote`: the one named, or else the only one within reach.
pub(super) fn find_line(lines: &Lines<'_>, named: u32, quote: &str) -> Option<u32> {
    let reads = |number: u32| lines.get(number).is_some_and(|line| reads_as(line, quote));
    if reads(named) {
        return Some(named);
    }
    if quote.trim().is_empty() {
        return None;
    }
    let last = lines.count().min(named.saturating_add(QUOTE_SEARCH_LINES));
    let mut near = (named.saturating_sub(QUOTE_SEARCH_LINES).max(1)..=last).filter(|n| reads(*n));
    let only = near.next()?;
    near.next().is_none().then_some(only)
}

/// Whether a line reads as a quote, blanks at the ends aside; a long line by its beginning.
fn reads_as(line: &str, quote: &str) -> bool {
    let (line, said) = (line.trim(), quote.trim());
    line == said || quote.chars().count() >= Finding::QUOTE_CHARS && line.starts_with(said)
}
