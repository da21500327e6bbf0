//! What makes findings of a file less sure: that they were there before the change.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use crate::{
    analysis::{
        Category, Finding, FlowStep, LineSet, Lines, MaskedText, Ruleset, SourceText, examine,
        flow::is_vouched_for, rules::BuiltIn,
    },
    forge::{EntryKind, FileChange},
};

/// How far above its new lines a call may have begun.
const MOST_LINES_OF_A_CALL: usize = 20;

/// The rule about tests that are not run; each framework has a word of its own for it.
const SWITCHED_OFF: &str = "test-switched-off";

/// Makes findings less sure whose lines the change only moved, indented or quoted otherwise: as many of them
/// were removed from the file.
pub(super) fn soften_moved(
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

/// Makes findings less sure that were there before, in `base`, the file as it was.
pub(super) fn soften_known(
    findings: &mut [Finding],
    file: &FileChange,
    base: &MaskedText,
    (source, rules): (SourceText<'_>, &Ruleset),
) {
    let removed: LineSet = file.removed().collect();
    let (old, new) = (Lines::new(base), Lines::new(source.text));
    let everywhere = |it: &Finding| {
        may_be_meant(it) || it.unless.begins > 0 || goes_on(&new, source.touched, it.start_line)
    };
    let asked: Vec<&mut Finding> = findings.iter_mut().filter(|it| is_sure(it)).collect();
    let all = asked.iter().any(|it| everywhere(it));
    if file.base.kind == EntryKind::Absent || asked.is_empty() || !all && removed.is_empty() {
        return;
    }
    let every_line = LineSet::all();
    let said =
        |text, touched| examine(rules, SourceText { path: source.path, text, touched }).findings;
    let sure_flow = |it: &Finding| is_sure(it) && !it.flow.is_empty();
    let known = said(base, if all { &every_line } else { &removed });
    let (mut flows, others): (Vec<_>, Vec<_>) =
        asked.into_iter().partition(|it| !it.flow.is_empty());
    let (known_flows, known): (Vec<_>, Vec<_>) = known.into_iter().partition(sure_flow);
    if !flows.is_empty() && !known_flows.is_empty() {
        let mut now = said(source.text, &every_line);
        now.retain(sure_flow);
        soften_known_flows(&mut flows, (&known_flows, &old), (&now, &new), source.touched);
    }
    soften_read_otherwise(flows, (&removed, &old), (source.touched, &new));
    soften_known_matches(others, (known, &old), &new, (&removed, source.touched));
}

/// Whether it is about lines, and not softened yet.
fn is_sure(finding: &Finding) -> bool {
    !finding.is_whole_file() && finding.confidence > Finding::SOFTENED
}

/// Whether a file that does this elsewhere may do it on purpose: nobody means a slip of logic, and what is left of
/// debugging counts each time.
fn may_be_meant(finding: &Finding) -> bool {
    [Category::Security, Category::Style].iter().any(|agent| finding.agent == agent.word())
}

/// Those of which the same rule said the same of removed lines much like theirs, of code that begins on the same line, or of
/// a call that only gained lines. And those of which the file has others still, on purpose.
fn soften_known_matches(
    findings: Vec<&mut Finding>,
    (mut known, old): (Vec<Finding>, &Lines<'_>),
    new: &Lines<'_>,
    (removed, touched): (&LineSet, &LineSet),
) {
    let edited = |it: &Finding| removed.first_in(it.start_line, it.end_line).is_some();
    // Who writes a rule of their own wants to hear of each.
    let habit = |it: &&Finding| {
        is_sure(it) && may_be_meant(it) && !edited(it) && BuiltIn::named(&it.rule).is_some()
    };
    let habits: HashSet<String> = known.iter().filter(habit).map(|it| it.rule.clone()).collect();
    for finding in findings {
        let gained = goes_on(new, touched, finding.start_line);
        let begins = |it: &Finding| {
            let mut above = (1..finding.start_line).rev().take(MOST_LINES_OF_A_CALL);
            let long = it.start_line < it.end_line;
            gained && long && above.any(|line| new.get(line) == old.get(it.start_line))
        };
        let first =
            |it: &Finding| if it.unless.begins > 0 { it.unless.begins } else { it.start_line };
        let begun = |it: &Finding| {
            finding.unless.begins > 0
                && old.get(first(it)).map(bare) == new.get(finding.unless.begins).map(bare)
        };
        let same = known.iter().position(|it| {
            it.rule == finding.rule
                && (begins(it)
                    || begun(it)
                    || edited(it)
                        && (alike(&words_of(it, old), &words_of(finding, new))
                            || it.rule == SWITCHED_OFF
                                && annotated(it, old) == annotated(finding, new)))
        });
        same.map(|at| known.swap_remove(at));
        if same.is_some() || habits.contains(&finding.rule) {
            finding.soften();
        }
    }
}

/// What an annotation is about: the first line below it that is none.
fn annotated<'t>(finding: &Finding, lines: &Lines<'t>) -> Option<&'t str> {
    let mut below = (finding.end_line + 1..).map_while(|line| lines.get(line));
    below.find(|line| !line.trim_start().starts_with(['@', '#']))
}

/// Whether what stands on this new line began on an old one above it.
fn goes_on(lines: &Lines<'_>, touched: &LineSet, line: u32) -> bool {
    let above = line.saturating_sub(1);
    let open = |text: &str| text.trim_end().ends_with(['(', '[', '{', ',']);
    !touched.contains(above) && lines.get(above).is_some_and(open)
}

/// Those of which there are no more than before, from the same source to the same sink; and those of a value that did the
/// same harm elsewhere before.
fn soften_known_flows(
    findings: &mut [&mut Finding],
    (before, old): (&[Finding], &Lines<'_>),
    (now, new): (&[Finding], &Lines<'_>),
    touched: &LineSet,
) {
    // The kind of harm, and the line that its value comes from.
    let origin = |it: &Finding, lines: &Lines<'_>| {
        let from = it.flow.first().map_or(0, |step| step.line);
        (it.rule.clone(), lines.get(from).map(bare))
    };
    let origins: HashSet<_> = before.iter().map(|it| origin(it, old)).collect();
    let count = |flows: &[Finding], of: &_| flows.iter().filter(|it| way(it) == *of).count();
    for finding in findings {
        let of = way(finding);
        let kept = finding.flow.first().is_some_and(|step| !touched.contains(step.line));
        let did_harm = kept && origins.contains(&origin(finding, new));
        if did_harm || (1..=count(before, &of)).contains(&count(now, &of)) {
            finding.soften();
        }
    }
}

/// Those of which the change touches nothing but how the value is read: a line much like this one set the same variable from
/// the same object, and nothing was taken from it that could have cleaned the value.
fn soften_read_otherwise(
    findings: Vec<&mut Finding>,
    (removed, old): (&LineSet, &Lines<'_>),
    (touched, new): (&LineSet, &Lines<'_>),
) {
    for finding in findings {
        let Some((source, way)) = finding.flow.split_first() else { continue };
        let more = |step: &FlowStep| step.line != source.line && touched.contains(step.line);
        let now = new.get(source.line).filter(|_| touched.contains(source.line));
        let Some((name, now)) = now.and_then(|line| line.split_once('=')) else { continue };
        let same = |(_, before): (u32, &str)| {
            let Some((_, before)) = before.split_once('=').filter(|(it, _)| bare(it) == bare(name))
            else {
                return false;
            };
            let [was, is] = [before, now].map(|value| words([value].into_iter()));
            object(before).is_some_and(|it| object(now) == Some(it))
                && alike(&was, &is)
                && !is.is_subset(&was)
                && depth(before) <= depth(now)
                && !was.difference(&is).any(|word| is_vouched_for(&word.to_ascii_lowercase()))
        };
        if !way.iter().any(more) && old.touched(removed).any(same) {
            finding.soften();
        }
    }
}

/// What a value is read from.
fn object(value: &str) -> Option<&str> {
    value.split_once('.').map(|(object, _)| object.trim())
}

/// How many calls stand around one another in a line.
fn depth(line: &str) -> i32 {
    let each = line.chars().scan(0, |open, c| {
        *open += i32::from(c == '(') - i32::from(c == ')');
        Some(*open)
    });
    each.max().unwrap_or(0)
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

/// How much of a line is compared, in bytes: no person wrote a longer one.
const MOST_OF_A_LINE: usize = 2_000;

/// The words of these lines.
pub fn words<'t>(lines: impl Iterator<Item = &'t str>) -> HashSet<&'t str> {
    let part = |c: char| !(c.is_alphanumeric() || c == '_');
    let start = |line: &'t str| &line[..line.floor_char_boundary(MOST_OF_A_LINE)];
    lines.flat_map(|line| start(line).split(part)).filter(|word| !word.is_empty()).collect()
}

/// Whether two thirds of the words of one stand in the other.
fn alike(a: &HashSet<&str>, b: &HashSet<&str>) -> bool {
    a.intersection(b).count() * 3 >= a.len().min(b.len()) * 2
}

/// A line without what formatters change, and without a comment at its end. What hides in comments is not ASCII. Of a
/// long one a digest: such lines are compared with those of many files.
pub fn bare(line: &str) -> String {
    let parts = [" #", " // "].iter().find_map(|mark| line.split_once(mark));
    let code = parts.filter(|(code, said)| !code.trim().is_empty() && said.is_ascii());
    let code = code.map_or(line, |(code, _)| code);
    let kept = code.chars().filter(|c| !c.is_whitespace());
    let text: String = kept.map(|c| if c == '\'' { '"' } else { c }).collect();
    let text = text.trim_end_matches([',', ';']);
    if text.len() > MOST_OF_A_LINE {
        let mut digest = DefaultHasher::new();
        text.hash(&mut digest);
        return format!("{} bytes, {:016x}", text.len(), digest.finish());
    }
    text.to_owned()
}
