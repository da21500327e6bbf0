//! What the analysers of every category say about one file, both of its sides at hand.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    Limits,
    head::{Head, unreadable},
};
use crate::{
    analysis::{
        Category, Finding, FlowStep, LineSet, Lines, MaskedText, Ruleset, SourceText, changes,
        examine, flows,
        rules::built_in,
        sides::{self, Checked, Pair, cross_file::ChangedSignature},
    },
    forge::{Content, EntryKind, FileChange},
};

/// How many findings of one rule are kept of one chunk.
const MAX_FINDINGS_PER_RULE: usize = 500;

/// How far above its new lines a call may have begun.
const MOST_LINES_OF_A_CALL: usize = 20;

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
    pub(super) fn new(
        file: &FileChange,
        head: &Head,
        base: Option<Content>,
        limits: &Limits,
        rules: &Ruleset,
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
        let examined = examine(rules, source);
        let mut analysed = Self {
            findings: examined.findings,
            skipped: examined.skipped,
            cut_off: examined.cut_off,
            locks: changes::locks_of(source, &Lines::new(text)),
            ..Self::default()
        };
        let base = match base {
            Some(Content::Text { text, .. }) => text.into(),
            _ => MaskedText::default(),
        };
        analysed.findings.extend(changes::header_dropped(&file.path, &base, text));
        if analysed.skipped.is_none() {
            let grew = file.base.kind != EntryKind::Absent && file.removed().next().is_none();
            let without = || sides::base_without(&file.path, text, &touched);
            let base = grew.then(without).flatten().unwrap_or(base);
            soften_moved(&mut analysed.findings, file, &base, source);
            let old = match grew && !analysed.findings.is_empty() {
                true => sides::without(text, &touched),
                false => base.clone(),
            };
            soften_known(&mut analysed.findings, file, &old, (source, rules));
            soften_known_flows(&mut analysed.findings, file, &old, source);
            let checked = compare(file, &base, source, limits);
            analysed.findings.extend(checked.findings);
            analysed.changed = checked.changed;
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

/// Makes findings less sure whose lines the change only moved, indented or quoted otherwise: as many of them
/// were removed from the file.
fn soften_moved(
    findings: &mut [Finding],
    file: &FileChange,
    base: &MaskedText,
    source: SourceText<'_>,
) {
    let removed: LineSet = file.removed().collect();
    if findings.is_empty() || removed.is_empty() {
        return;
    }
    let mut gone: HashMap<String, i64> = HashMap::new();
    let (before, after) = (Lines::new(base), Lines::new(source.text));
    before.touched(&removed).for_each(|(_, line)| *gone.entry(bare(line)).or_default() += 1);
    after.touched(source.touched).for_each(|(_, line)| {
        gone.entry(bare(line)).and_modify(|left| *left -= 1);
    });
    let was_there = |line: u32| {
        let text = after.get(line).unwrap_or_default();
        gone.get(&bare(text)).is_some_and(|left| *left >= 0)
    };
    for finding in findings.iter_mut().filter(|finding| !finding.is_whole_file()) {
        let own = finding.start_line..=finding.end_line;
        let mut lines = own.chain(finding.flow.iter().map(|step| step.line));
        if lines.all(|line| !source.touched.contains(line) || was_there(line)) {
            finding.soften();
        }
    }
}

/// Makes findings less sure that were there before: the same rule says the same of removed lines much like theirs,
/// or of a call that only gained lines. And those of security of which the file has others still: it does so on purpose.
fn soften_known(
    findings: &mut [Finding],
    file: &FileChange,
    base: &MaskedText,
    (source, rules): (SourceText<'_>, &Ruleset),
) {
    let removed: LineSet = file.removed().collect();
    let sure = |it: &Finding| {
        !it.is_whole_file() && it.flow.is_empty() && it.confidence > Finding::SOFTENED
    };
    let (old, new) = (Lines::new(base), Lines::new(source.text));
    let gained = |it: &Finding| goes_on(&new, source.touched, it.start_line);
    let of_security = |it: &Finding| it.agent == Category::Security.word();
    let everywhere = |it: &Finding| sure(it) && (gained(it) || of_security(it));
    let asked = |it: &Finding| sure(it) && !removed.is_empty() || everywhere(it);
    if file.base.kind == EntryKind::Absent || !findings.iter().any(asked) {
        return;
    }
    let all = LineSet::all();
    let touched = if findings.iter().any(everywhere) { &all } else { &removed };
    let before = SourceText { path: source.path, text: base, touched };
    let mut known = examine(rules, before).findings;
    // Who writes a rule of their own wants to hear of each.
    let stays = |it: &&Finding| {
        sure(it)
            && of_security(it)
            && removed.first_in(it.start_line, it.end_line).is_none()
            && built_in(&it.rule).is_some()
    };
    let habits: HashSet<String> = known.iter().filter(stays).map(|it| it.rule.clone()).collect();
    for finding in findings.iter_mut().filter(|it| asked(it)) {
        let gained = gained(finding);
        let begins = |it: &Finding| {
            let mut above = (1..finding.start_line).rev().take(MOST_LINES_OF_A_CALL);
            let long = it.start_line < it.end_line;
            gained && long && above.any(|line| new.get(line) == old.get(it.start_line))
        };
        let edited = |it: &Finding| removed.first_in(it.start_line, it.end_line).is_some();
        let same = known.iter().position(|it| {
            it.rule == finding.rule
                && (begins(it)
                    || edited(it) && alike(&words_of(it, &old), &words_of(finding, &new)))
        });
        same.map(|at| known.swap_remove(at));
        if same.is_some() || habits.contains(&finding.rule) {
            finding.soften();
        }
    }
}

/// Whether what stands on this new line began on an old one above it.
fn goes_on(lines: &Lines<'_>, touched: &LineSet, line: u32) -> bool {
    let above = line.saturating_sub(1);
    let open = |text: &str| text.trim_end().ends_with(['(', '[', '{', ',']);
    !touched.contains(above) && lines.get(above).is_some_and(open)
}

/// Makes flows less sure of which there are no more than before, from the same source to the same sink; and those of a value
/// that did the same harm elsewhere before.
fn soften_known_flows(
    findings: &mut [Finding],
    file: &FileChange,
    base: &MaskedText,
    source: SourceText<'_>,
) {
    let sure = |it: &Finding| !it.flow.is_empty() && it.confidence > Finding::SOFTENED;
    if file.base.kind == EntryKind::Absent || !findings.iter().any(sure) {
        return;
    }
    let all_flows = |text: &MaskedText| {
        let all = SourceText { path: source.path, text, touched: &LineSet::all() };
        let mut found = flows(all);
        found.retain(sure);
        found
    };
    let ways = |flows: &[Finding]| flows.iter().map(way).collect::<Vec<_>>();
    // The kind of harm, and the line that its value comes from.
    let origin = |it: &Finding, text: &MaskedText| {
        let from = it.flow.first().map_or(0, |step| step.line);
        (it.rule.clone(), Lines::new(text).get(from).map(bare))
    };
    let before = all_flows(base);
    let origins: HashSet<_> = before.iter().map(|it| origin(it, base)).collect();
    let old = ways(&before);
    let new = if old.is_empty() { Vec::new() } else { ways(&all_flows(source.text)) };
    let count = |ways: &[_], of: &_| ways.iter().filter(|way| *way == of).count();
    for finding in findings.iter_mut().filter(|it| sure(it)) {
        let of = way(finding);
        let kept = finding.flow.first().is_some_and(|step| !source.touched.contains(step.line));
        let did_harm = kept && origins.contains(&origin(finding, source.text));
        if did_harm || (1..=count(&old, &of)).contains(&count(&new, &of)) {
            finding.soften();
        }
    }
}

/// What tells a flow from others, wherever it stands: its kind, its source and its sink.
pub fn way(finding: &Finding) -> [String; 3] {
    let note = |step: Option<&FlowStep>| step.map(|step| step.note.clone()).unwrap_or_default();
    [finding.rule.clone(), note(finding.flow.first()), note(finding.flow.last())]
}

/// The words of the lines that a finding is about.
fn words_of<'t>(finding: &Finding, lines: &Lines<'t>) -> HashSet<&'t str> {
    words((finding.start_line..=finding.end_line).filter_map(|line| lines.get(line)))
}

/// The words of these lines.
pub fn words<'t>(lines: impl Iterator<Item = &'t str>) -> HashSet<&'t str> {
    let part = |c: char| !(c.is_alphanumeric() || c == '_');
    lines.flat_map(|line| line.split(part)).filter(|word| !word.is_empty()).collect()
}

/// Whether two thirds of the words of one stand in the other.
fn alike(a: &HashSet<&str>, b: &HashSet<&str>) -> bool {
    a.intersection(b).count() * 3 >= a.len().min(b.len()) * 2
}

/// A line without what formatters change, and without a comment at its end. What hides in comments is not ASCII.
pub fn bare(line: &str) -> String {
    let parts = [" #", " // "].iter().find_map(|mark| line.split_once(mark));
    let code = parts.filter(|(code, said)| !code.trim().is_empty() && said.is_ascii());
    let code = code.map_or(line, |(code, _)| code);
    let kept = code.chars().filter(|c| !c.is_whitespace());
    let text: String = kept.map(|c| if c == '\'' { '"' } else { c }).collect();
    text.trim_end_matches([',', ';']).to_owned()
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
