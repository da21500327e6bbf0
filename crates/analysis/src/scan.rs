//! One walk over one parsed file for all rules of its language, entering only what touches the
//! change. Ignore comments in the text are not obeyed.

use std::collections::{BTreeMap, HashMap};

use ast_grep_core::{NodeMatch, matcher::MatcherExt, replacer::Replacer};

use super::{
    Category, Finding, Lang, Lines, Side, Source, SourceText,
    finding::{Unless, quote},
    flow, globs,
    lines::is_comment,
    meter::{self, MeteredDoc},
    origin,
    parse::{Tree, Unparsed, parse},
    rules::InTests,
    ruleset::{CompiledRule, LanguageRules},
    template_json,
};

/// What a rule may take in one file, and all rules of a file together, in steps from node to node. A
/// step takes some ten nanoseconds, and the rules that come with verdict take a thousandth of this in
/// files of the largest size.
const MAX_STEPS_PER_RULE: u64 = 5_000_000;
const MAX_STEPS_PER_FILE: u64 = 50_000_000;

/// How many rules that were cut short are named.
const MAX_RULES_NAMED: usize = 5;

/// What a scan came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scanned {
    pub(super) findings: Vec<Finding>,
    /// What was not done to the end, by category.
    pub(super) cut_off: BTreeMap<Category, String>,
}

/// A rule, and how many steps it may still take in this file.
struct Budgeted<'r> {
    rule: &'r CompiledRule,
    left: u64,
}

/// How long a word is, in bytes, that a comment hardly holds by chance.
const NAMED: usize = 12;

/// The rules of one language, of those built in and of a repository's own; `flows` says whether
/// values are followed as well, in the same tree.
pub(super) fn scan(
    sets: &[&LanguageRules],
    flows: bool,
    language: Lang,
    source: SourceText<'_>,
    lines: &Lines<'_>,
) -> Result<Scanned, Unparsed> {
    let flows = flows && flow::reads(language);
    let mut findings = Vec::new();
    let test = globs::is_test(source.path);
    let test_data = globs::is_test_data(source.path);
    let tooling = globs::is_tooling(source.path);
    let (mut rules, mut by_kind) = (Vec::new(), HashMap::<u16, Vec<usize>>::new());
    if source.touched.is_empty() {
        return Ok(Scanned::default());
    }
    for (rule, kinds) in sets.iter().flat_map(|set| set.wanted(source, test)) {
        kinds.iter().for_each(|kind| by_kind.entry(*kind).or_default().push(rules.len()));
        rules.push(Budgeted { rule, left: MAX_STEPS_PER_RULE });
    }
    if !flows && by_kind.is_empty() {
        return Ok(Scanned::default());
    }
    let tree = parse(language, source.text)?;
    let mut left = MAX_STEPS_PER_FILE;
    let mut cut_off = BTreeMap::new();
    let mut followed = Vec::new();
    if flows {
        let found = flow::find(&tree.root(), language, source, lines);
        followed = found.findings;
        followed.iter_mut().filter(|f| decided(f, lines)).for_each(Finding::soften);
        if found.cut_off {
            let note = "values were not followed to the end of it".to_owned();
            cut_off.insert(Category::Security, note);
        }
    }
    // A stack of its own: the depth of the text must not become the depth of the program.
    let mut open = vec![tree.root()];
    while let Some(node) = open.pop() {
        let (first, last) = span(&node);
        // What the grammar could not make out is not judged.
        if source.touched.first_in(first, last).is_none() || node.is_error() {
            continue;
        }
        for at in by_kind.get(&node.kind_id()).into_iter().flatten() {
            let Some(Budgeted { rule, left: of_rule }) = rules.get_mut(*at) else { continue };
            let given = left.min(*of_rule);
            let (found, kept) = meter::bounded(given, || rule.matcher.match_node(node.clone()));
            (left, *of_rule) = (left - (given - kept), *of_rule - (given - kept));
            if let Some(found) = found.flatten()
                && let Some(mut finding) = finding(rule, &found, source, lines)
            {
                let test = test || rule.tests != InTests::Report && compiled_for_tests(&node);
                if test && rule.tests == InTests::Skip {
                    continue;
                }
                // In a test what is meant there, in a tool what its own developers pass to it.
                if test_data
                    || test && rule.tests == InTests::Soften
                    || tooling && rule.about_input
                    || rule.puts_in && origin::is_own(&found)
                    || decided(&finding, lines)
                {
                    finding.soften();
                }
                // What is surer stays; a flow says more than a rule that is as sure.
                let same = |flow: &Finding| is_same(flow, rule, &finding);
                if !followed.iter().any(|f| same(f) && f.confidence >= finding.confidence) {
                    followed.retain(|flow| !same(flow));
                    findings.push(finding);
                }
            }
        }
        open.extend(node.children());
    }
    findings.append(&mut followed);
    for (category, note) in cut_short(&rules, left) {
        let notes: &mut String = cut_off.entry(category).or_default();
        let between = if notes.is_empty() { "" } else { "; " };
        notes.push_str(between);
        notes.push_str(&note);
    }
    Ok(Scanned { findings, cut_off })
}

/// Whether Rust compiles an item around this place for tests only: `#[test]`, `#[tokio::test]`, `#[cfg(all(test, unix))]`.
fn compiled_for_tests(node: &Tree<'_>) -> bool {
    let says = |attribute: &Tree<'_>| {
        let text: String = attribute.text().split_whitespace().collect();
        let (path, asks) =
            text.trim_matches(['#', '[', ']']).split_once('(').unwrap_or((&text, ""));
        match path.trim_matches(['#', '[', ']']).rsplit("::").next() {
            Some("test" | "rstest") => true,
            Some("cfg") => {
                let mut words = asks.split([',', '(', ')']);
                words.any(|word| word == "test")
                    && !asks.contains("not(test")
                    && !asks.contains("any(")
            }
            _ => false,
        }
    };
    let before = |it: &Tree<'_>| it.kind() == "attribute_item" || it.kind().ends_with("_comment");
    let item = |it: &Tree<'_>| it.prev_all().take_while(before).any(|it| says(&it));
    node.ancestors().any(|it| it.kind().ends_with("_item") && item(&it))
}

/// What to say, by category, about the rules that did not get to the end of the file.
fn cut_short(rules: &[Budgeted<'_>], left: u64) -> BTreeMap<Category, String> {
    let mut cut: BTreeMap<Category, Vec<&str>> = BTreeMap::new();
    for Budgeted { rule, .. } in rules.iter().filter(|one| left == 0 || one.left == 0) {
        cut.entry(rule.category).or_default().push(&rule.id);
    }
    let note = |ids: Vec<&str>| {
        let named = ids[..ids.len().min(MAX_RULES_NAMED)].join(", ");
        match ids.len().saturating_sub(MAX_RULES_NAMED) {
            0 => format!("rules that cost too much were cut short: {named}"),
            more => format!("rules that cost too much were cut short: {named} and {more} more"),
        }
    };
    cut.into_iter().map(|(category, ids)| (category, note(ids))).collect()
}

/// Whether a rule found what a flow did.
fn is_same(flow: &Finding, rule: &CompiledRule, found: &Finding) -> bool {
    let cwe = flow::rules().find(|known| known.id == flow.rule).map(|known| known.cwe);
    let inside = (found.start_line..=found.end_line).contains(&flow.start_line);
    // What `eval` runs is code.
    let of_rule = rule.cwe.map(|cwe| if cwe == 95 { 94 } else { cwe });
    cwe == of_rule && inside
}

/// Whether somebody has thought about it: the line tells another tool to be silent, or what is
/// dangerous in it is named by the comment above.
fn decided(finding: &Finding, lines: &Lines<'_>) -> bool {
    const TOLD: &[&str] = &[
        "nolint",
        "nosec",
        "NOSONAR",
        "nosemgrep",
        "noqa: S",
        "eslint-disable",
        "rubocop:disable",
        "phpcs:ignore",
        "lgtm[",
    ];
    let above = lines.get(finding.start_line.saturating_sub(1)).unwrap_or_default();
    let names = |word: &str| word.len() >= NAMED && above.contains(word);
    TOLD.iter()
        .any(|word| finding.quote.contains(word) || is_comment(above) && above.contains(word))
        || finding.agent == Category::Security.word()
            && is_comment(above)
            && finding.quote.split(|c: char| !c.is_alphanumeric() && c != '_').any(names)
}

/// First and last line of a node.
fn span(node: &Tree<'_>) -> (u32, u32) {
    let line = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
    let (start, end) = (node.start_pos(), node.end_pos());
    let first = line(start.line());
    // A node that ends at the start of a line does not stand on it.
    let last = if end.byte_point().1 == 0 { line(end.line()) - 1 } else { line(end.line()) };
    (first, last.max(first))
}

fn finding(
    rule: &CompiledRule,
    found: &NodeMatch<'_, MeteredDoc>,
    source: SourceText<'_>,
    lines: &Lines<'_>,
) -> Option<Finding> {
    let (first, last) = span(found);
    let (about_first, about_last) = about(rule, found, (first, last));
    let (start_line, end_line) = source.touched.first_in(about_first, about_last)?;
    let whole = (start_line, end_line) == (first, last);
    let end = match rule.ends {
        Some(list) => Some(list.first_in(&found.text())?),
        None => None,
    };
    Some(Finding {
        fingerprint: String::new(),
        agent: rule.category.into(),
        rule: rule.id.clone(),
        path: source.path.to_owned(),
        side: Side::Right,
        start_line,
        end_line,
        severity: rule.severity,
        confidence: rule.confidence,
        title: rule.title.clone(),
        body: match end {
            Some(end) => format!("`{}` ended on {}. {}", end.name, end.day, rule.body),
            None => rule.body.clone(),
        },
        suggestion: if whole { suggestion(rule, found, source, lines) } else { None },
        quote: quote(lines.get(start_line)?),
        source: Source::Rule,
        flow: Vec::new(),
        unless: Unless {
            begins: if start_line > about_first { about_first } else { 0 },
            since: end.map(|end| end.told_from),
            strangers: rule.strangers.then(|| found.text().into_owned()),
        },
    })
}

/// The lines of a match that the rule is about: those on which its expressions fit.
fn about(
    rule: &CompiledRule,
    found: &NodeMatch<'_, MeteredDoc>,
    (first, last): (u32, u32),
) -> (u32, u32) {
    if first == last {
        return (first, last);
    }
    let text = found.text();
    let Some(spot) = rule.spot(&text) else { return (first, last) };
    let breaks = |part: &str| u32::try_from(part.matches('\n').count()).unwrap_or(u32::MAX);
    let start = first.saturating_add(breaks(text.get(..spot.start).unwrap_or_default()));
    let more = breaks(text.get(spot).unwrap_or_default().trim_end());
    (start.min(last), start.saturating_add(more).min(last))
}

/// The matched lines with the fix in place of the match, line ends as in the text.
fn suggestion(
    rule: &CompiledRule,
    found: &NodeMatch<'_, MeteredDoc>,
    source: SourceText<'_>,
    lines: &Lines<'_>,
) -> Option<String> {
    // Of a template in JSON other text was matched than stands there.
    let fix = rule.fix.as_ref().filter(|_| !template_json::is_template(source.text))?;
    let replaced = Replacer::<MeteredDoc>::generate_replacement(fix, found);
    let replaced = String::from_utf8(replaced).ok()?;
    let range = found.range();
    let (first, last) = span(found);
    let whole = lines.range(first, last)?;
    let before = source.text.get(whole.start..range.start)?;
    let after = source.text.get(range.end..whole.end)?;
    Some(format!("{before}{replaced}{after}"))
}
