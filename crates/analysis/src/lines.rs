//! Sets of line numbers, and a text by line.

use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

/// Line numbers (from 1), kept as inclusive ranges in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineSet(Vec<(u32, u32)>);

impl LineSet {
    /// Every line.
    pub fn all() -> Self {
        Self(vec![(1, u32::MAX)])
    }

    /// Whether there is no line in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `line` is in it.
    pub fn contains(&self, line: u32) -> bool {
        self.first_in(line, line).is_some()
    }

    /// The part of the first touched range that lies in `start..=end`.
    pub fn first_in(&self, start: u32, end: u32) -> Option<(u32, u32)> {
        let at = self.0.partition_point(|(_, last)| *last < start);
        let (first, last) = *self.0.get(at)?;
        (first <= end).then(|| (first.max(start), last.min(end)))
    }

    /// How many lines are in it.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|(a, b)| u64::from(b - a) + 1).sum()
    }

    /// The ranges, in order.
    pub fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> + '_ {
        self.0.iter().map(|(a, b)| *a..=*b)
    }
}

impl FromIterator<RangeInclusive<u32>> for LineSet {
    /// From ranges in any order.
    fn from_iter<I: IntoIterator<Item = RangeInclusive<u32>>>(ranges: I) -> Self {
        let mut ranges: Vec<(u32, u32)> =
            ranges.into_iter().filter(|r| !r.is_empty()).map(|r| (*r.start(), *r.end())).collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match joined.last_mut() {
                Some((_, last)) if start <= last.saturating_add(1) => *last = end.max(*last),
                _ => joined.push((start, end)),
            }
        }
        Self(joined)
    }
}

/// A text by line number. Lines end at `\n`, as git counts them; a `\r` before it is not shown.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines of `text`.
    pub fn new(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self { text, starts }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// Line `number` (from 1) without its end.
    pub fn get(&self, number: u32) -> Option<&'a str> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = *self.starts.get(at)?;
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        let line = &self.text[start..end];
        let line = line.strip_suffix('\n').unwrap_or(line);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The byte range of lines `first..=last`, without the last one's end.
    pub fn range(&self, first: u32, last: u32) -> Option<Range<usize>> {
        let start = *self.starts.get(usize::try_from(first.checked_sub(1)?).ok()?)?;
        let line = self.get(last)?;
        let end = *self.starts.get(usize::try_from(last.checked_sub(1)?).ok()?)? + line.len();
        (start <= end).then_some(start..end)
    }

    /// The line a byte offset lies in.
    pub fn at(&self, offset: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|s| *s <= offset)).unwrap_or(u32::MAX)
    }

    /// Every touched line that exists, with its number.
    pub fn touched<'s>(&'s self, set: &'s LineSet) -> impl Iterator<Item = (u32, &'a str)> + 's {
        let last = self.count();
        set.ranges()
            .flat_map(move |r| *r.start()..=(*r.end()).min(last))
            .filter_map(|n| Some((n, self.get(n)?)))
    }
}

/// Whether `word` stands in a text, and nothing that a name goes on with beside it.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        edge(text[..at].chars().next_back()) && edge(text[at + word.len()..].chars().next())
    })
}

/// Whether a line looks like a comment of any language.
pub(super) fn is_comment(line: &str) -> bool {
    let signs = ["#", "//", "/*", "*", ";", "--", "<!--", "\"\"\""];
    signs.iter().any(|sign| line.trim_start().starts_with(sign))
}
