//! Both sides of one file, parsed, and its functions paired by name.

use super::{
    CheckInfo, Pair,
    syntax::{Function, Syntax},
};
use crate::{Confidence, Finding, Lang, LineSet, Lines, Side, Source, finding::quote};

/// A function that both sides have under the same name.
#[derive(Clone, Copy)]
pub(super) struct FunctionPair<'c> {
    pub(super) base: &'c Function,
    pub(super) head: &'c Function,
}

/// Both sides of one file.
pub(super) struct Compared<'a> {
    pub(super) pair: Pair<'a>,
    pub(super) language: Lang,
    pub(super) base: Syntax<'a>,
    pub(super) head: Syntax<'a>,
}

impl Compared<'_> {
    /// The functions that both sides have and that the change touches.
    pub(super) fn functions(&self) -> Vec<FunctionPair<'_>> {
        let heads = self.head.by_path();
        let bases = self.base.by_path();
        let pairs = bases.iter().filter_map(|(path, base)| {
            let head = &self.head.functions[*heads.get(path)?];
            Some(FunctionPair { base: &self.base.functions[*base], head })
        });
        let mut touched: Vec<FunctionPair<'_>> = pairs.filter(|f| self.touches(*f)).collect();
        touched.sort_by_key(|function| function.head.all.start);
        touched
    }

    fn touches(&self, function: FunctionPair<'_>) -> bool {
        self.base.is_touched(&function.base.all, self.pair.removed)
            || self.head.is_touched(&function.head.all, self.pair.added)
    }
}

/// The head of a file that a finding is in.
pub(super) struct Head<'h> {
    pub(super) path: &'h str,
    pub(super) lines: &'h Lines<'h>,
    /// The lines that are new.
    pub(super) added: &'h LineSet,
}

impl Head<'_> {
    /// A finding on one line. If the line is untouched, the finding says so.
    pub(super) fn finding(
        &self,
        check: &CheckInfo,
        line: u32,
        body: &str,
        confidence: Option<Confidence>,
    ) -> Finding {
        let untouched = match self.added.contains(line) {
            true => "",
            false => " The line itself was not touched; the change broke what it relied on.",
        };
        Finding {
            fingerprint: String::new(),
            agent: check.category.into(),
            rule: check.id.to_owned(),
            path: self.path.to_owned(),
            side: Side::Right,
            start_line: line,
            end_line: line,
            severity: check.severity,
            confidence: confidence.unwrap_or(check.confidence),
            title: check.title.to_owned(),
            body: format!("{body}{untouched}\n\n{}", check.advice),
            suggestion: None,
            quote: quote(self.lines.get(line).unwrap_or_default()),
            source: Source::Check,
            flow: Vec::new(),
            unless: Default::default(),
        }
    }
}
