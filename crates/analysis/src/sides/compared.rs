//! Both sides of one file, parsed, function by function.

use std::{collections::HashSet, ops::Range};

use super::{
    About, Pair,
    syntax::{Function, Syntax, Token, same},
};
use crate::{Confidence, Finding, Lang, LineSet, Lines, Side, Source, finding::quote, globs};

/// A function that stands on both sides under the same name.
#[derive(Clone, Copy)]
pub(super) struct Both<'c> {
    pub(super) base: &'c Function,
    pub(super) head: &'c Function,
}

/// Both sides of one file.
pub(super) struct Compared<'a> {
    pub(super) pair: Pair<'a>,
    pub(super) language: Lang,
    pub(super) test: bool,
    pub(super) base: Syntax<'a>,
    pub(super) head: Syntax<'a>,
}

impl<'a> Compared<'a> {
    pub(super) fn new(pair: Pair<'a>, language: Lang) -> Option<Self> {
        let test = globs::is_test(pair.path);
        let base = Syntax::parse(language, pair.base)?;
        let head = Syntax::parse(language, pair.head)?;
        Some(Self { pair, language, test, base, head })
    }

    /// The functions that stand on both sides and that the change touches.
    pub(super) fn functions(&self) -> Vec<Both<'_>> {
        let heads = self.head.by_path();
        let bases = self.base.by_path();
        let pairs = bases.iter().filter_map(|(path, base)| {
            let head = &self.head.functions[*heads.get(path)?];
            Some(Both { base: &self.base.functions[*base], head })
        });
        let mut touched: Vec<Both<'_>> = pairs.filter(|both| self.touches(both)).collect();
        touched.sort_by_key(|both| both.head.all.start);
        touched
    }

    fn touches(&self, both: &Both<'_>) -> bool {
        let in_set = |set: &LineSet, (first, last)| set.first_in(first, last).is_some();
        in_set(self.pair.removed, self.base.line_span(&both.base.all))
            || in_set(self.pair.added, self.head.line_span(&both.head.all))
    }

    /// Where the head's function still says most of what the tokens `rest` of the base's said,
    /// line by line and however indented: the line of the first of them.
    pub(super) fn stays(&self, both: Both<'_>, rest: &[Token<'_>]) -> Option<u32> {
        let now: Vec<&[Token<'_>]> = by_line(self.head.of(&both.head.all)).collect();
        let names = |line: &[Token<'_>]| line.iter().filter(|t| t.name).count();
        let (mut all, mut kept, mut first) = (0, 0, None);
        for line in by_line(rest).filter(|line| names(line) > 0) {
            all += names(line);
            if let Some(found) = now.iter().find(|n| same(n, line)) {
                kept += names(line);
                first = first.or(found.first().map(|t| t.line));
            }
        }
        first.filter(|_| kept >= 3 && kept * 4 >= all * 3)
    }

    /// Whether a line of the base is gone.
    pub(super) fn removed(&self, line: u32) -> bool {
        self.pair.removed.contains(line)
    }

    /// Whether a line of the head is new.
    pub(super) fn added(&self, line: u32) -> bool {
        self.pair.added.contains(line)
    }

    /// The tokens on lines that are new.
    pub(super) fn added_tokens(&self) -> impl Iterator<Item = &Token<'a>> {
        self.head.tokens.iter().filter(|t| self.added(t.line))
    }

    /// The names on new lines of a span of the head.
    pub(super) fn added_names(&self, span: &Range<usize>) -> HashSet<&'a str> {
        let tokens = self.head.of(span).iter();
        tokens.filter(|t| t.name && self.added(t.line)).map(|t| t.text).collect()
    }

    /// A finding on lines of the head.
    pub(super) fn finding(&self, about: &About, lines: (u32, u32), said: Said) -> Finding {
        self.on(Side::Right, about, lines, said)
    }

    /// A finding on lines of the base.
    pub(super) fn finding_on_base(&self, about: &About, lines: (u32, u32), said: Said) -> Finding {
        self.on(Side::Left, about, lines, said)
    }

    fn on(&self, side: Side, about: &About, lines: (u32, u32), said: Said) -> Finding {
        let (syntax, path) = match side {
            Side::Right => (&self.head, self.pair.path),
            Side::Left => (&self.base, self.pair.old_path),
        };
        let place = Place { path, side, lines: &syntax.lines, added: self.pair.added };
        finding_at(&place, about, lines, said)
    }
}

/// The side of a file that a finding is about.
pub(super) struct Place<'p> {
    pub(super) path: &'p str,
    pub(super) side: Side,
    pub(super) lines: &'p Lines<'p>,
    /// The lines of the head that are new.
    pub(super) added: &'p LineSet,
}

/// A finding at a place; on an untouched line of the head it says so.
pub(super) fn finding_at(
    place: &Place<'_>,
    about: &About,
    (first, last): (u32, u32),
    said: Said,
) -> Finding {
    let untouched = match place.side {
        Side::Right if place.added.first_in(first, last).is_none() => {
            " The line itself was not touched; the change broke what it relied on."
        }
        _ => "",
    };
    Finding {
        fingerprint: String::new(),
        agent: about.category,
        rule: about.id.to_owned(),
        path: place.path.to_owned(),
        side: place.side,
        start_line: first,
        end_line: last.max(first),
        severity: said.severity.unwrap_or(about.severity),
        confidence: said.confidence.unwrap_or(about.confidence),
        title: said.title.unwrap_or_else(|| about.title.to_owned()),
        body: format!("{}{untouched}\n\n{}", said.body, about.advice),
        suggestion: None,
        quote: quote(place.lines.get(first).unwrap_or_default()),
        source: Source::Check,
        flow: Vec::new(),
    }
}

/// The tokens of each line.
fn by_line<'s, 't>(tokens: &'s [Token<'t>]) -> impl Iterator<Item = &'s [Token<'t>]> {
    tokens.chunk_by(|a, b| a.line == b.line)
}

/// What a finding says beyond what its check always says.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) title: Option<String>,
    pub(super) body: String,
    pub(super) severity: Option<crate::Severity>,
    pub(super) confidence: Option<Confidence>,
}

impl Said {
    /// Only a body of its own.
    pub(super) fn body(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }
}
