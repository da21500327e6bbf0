//! What the analysers of every category say about one file, both of its sides at hand.

use std::collections::{BTreeMap, HashMap};

use super::{
    Limits,
    head::{Head, unreadable},
    known::{soften_known, soften_moved},
};
use crate::{
    analysis::{
        Category, Finding, LineSet, Lines, MaskedText, Ruleset, SourceText, both, changes, examine,
        sides::{self, Checked, Pair, cross_file::ChangedSignature},
    },
    forge::{Content, EntryKind, FileChange},
};

/// How many findings of one rule are kept of one chunk.
const MAX_FINDINGS_PER_RULE: usize = 500;

/// What the analysis of one file came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysed {
    /// Why it was not analysed, when it is the file's own doing.
    pub skipped: Option<String>,
    /// Why it was not analysed, when something went wrong.
    pub failed: Option<String>,
    /// What was not done to the end, because of the bounds of the analysis, by category.
    pub cut_off: BTreeMap<Category, String>,
    /// What was found, of all categories; fingerprints not yet set.
    pub findings: Vec<Finding>,
    /// How many more findings of a rule there were than are kept, by agent.
    pub left_out: BTreeMap<String, u64>,
    /// The lock files one of which should change with this manifest.
    pub locks: Vec<String>,
    /// The signatures that it changed, for the calls in other files.
    pub changed: Vec<ChangedSignature>,
}

impl Analysed {
    /// On two processors if a second one is free, `at_once`.
    pub(super) fn new(
        file: &FileChange,
        head: &Head,
        base: Option<Content>,
        (limits, rules): (&Limits, &Ruleset),
        at_once: bool,
    ) -> Self {
        let none = || Self {
            skipped: head.skipped.clone(),
            failed: head.failed.clone(),
            ..Self::default()
        };
        let text = head.text.as_ref().filter(|_| head.skipped.is_none());
        let Some(text) = text else { return none() };
        let touched: LineSet = file.added().collect();
        let source = SourceText { path: &file.path, text, touched: &touched };
        let of_one = || examine(rules, source);
        let of_both =
            |compared: bool| BothSides::new(file, base, source, compared.then_some(limits));
        let (examined, sides) = if at_once {
            both(of_one, || of_both(true))
        } else {
            let examined = of_one();
            let readable = examined.skipped.is_none();
            (examined, of_both(readable))
        };
        let mut analysed = Self {
            findings: examined.findings,
            skipped: examined.skipped,
            cut_off: examined.cut_off,
            locks: changes::locks_of(source, &Lines::new(text)),
            ..Self::default()
        };
        analysed.findings.extend(sides.header);
        if analysed.skipped.is_none() {
            soften_moved(&mut analysed.findings, file, &sides.base, source);
            let old = match sides.grew && !analysed.findings.is_empty() {
                true => sides::without(text, &touched),
                false => sides.base,
            };
            soften_known(&mut analysed.findings, file, &old, (source, rules));
            analysed.findings.extend(sides.checked.findings);
            analysed.changed = sides.checked.changed;
        }
        analysed
    }

    pub(super) fn crashed() -> Self {
        Self { failed: Some("the analysis crashed".to_owned()), ..Self::default() }
    }

    /// Keeps the first findings of each rule, `kept` of which were kept before, and counts the
    /// others.
    pub(super) fn thin(&mut self, kept: &mut HashMap<String, usize>) {
        keep_first(&mut self.findings, kept, |finding| {
            *self.left_out.entry(finding.agent.clone()).or_default() += 1;
        });
    }
}

/// Keeps the first findings of each rule, `kept` of which were kept before. `left_out` is told each
/// of the others.
pub fn keep_first(
    findings: &mut Vec<Finding>,
    kept: &mut HashMap<String, usize>,
    mut left_out: impl FnMut(&Finding),
) {
    findings.retain(|finding| {
        let count = kept.entry(finding.rule.clone()).or_default();
        *count += 1;
        let keep = *count <= MAX_FINDINGS_PER_RULE;
        if !keep {
            left_out(finding);
        }
        keep
    });
}

/// What both sides of a file say together.
struct BothSides {
    /// The file as it was, as far as anything asks.
    base: MaskedText,
    /// Whether it was there and only gained lines.
    grew: bool,
    /// That it lost the notice at its top.
    header: Option<Finding>,
    checked: Checked,
}

impl BothSides {
    /// The sides are compared within these limits, if there are any.
    fn new(
        file: &FileChange,
        base: Option<Content>,
        source: SourceText<'_>,
        limits: Option<&Limits>,
    ) -> Self {
        let base = match base {
            Some(Content::Text { text, .. }) => text.into(),
            _ => MaskedText::default(),
        };
        let header = changes::header_dropped(&file.path, &base, source.text);
        let grew = file.base.kind != EntryKind::Absent && file.removed().next().is_none();
        let without = || sides::base_without(&file.path, source.text, source.touched);
        let base = grew.then(without).flatten().unwrap_or(base);
        let checked = limits.map(|limits| compare(file, &base, source, limits)).unwrap_or_default();
        Self { base, grew, header, checked }
    }
}

/// The checks of both sides. Without a readable base they check the head alone.
fn compare(
    file: &FileChange,
    base: &MaskedText,
    source: SourceText<'_>,
    limits: &Limits,
) -> Checked {
    let nothing = MaskedText::default();
    let comparable = !base.is_empty() && unreadable(&file.path, base, limits).is_none();
    let removed: LineSet = if comparable { file.removed().collect() } else { LineSet::default() };
    sides::check(Pair {
        path: &file.path,
        base: if comparable { base } else { &nothing },
        head: source.text,
        removed: &removed,
        added: source.touched,
    })
}
