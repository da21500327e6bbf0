//! `name-left-behind`: a copied statement in which one name was not replaced, as in
//! `dx = ax - bx; dy = ay - bx;`.

use std::ops::Range;

use super::{
    CheckInfo,
    compared::Head,
    syntax::{Syntax, Token, same},
};
use crate::{Category, Confidence, Finding, Lang, LineSet, Severity};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "name-left-behind",
    category: Category::Logic,
    severity: Severity::Medium,
    // Of 16 judged on real changes five were mistakes: shown only to who asks for less sure findings.
    confidence: Confidence::hundredths(45),
    title: "One name was left behind in this copy",
    problem: "Two neighbouring statements differ in one name throughout, except in one place.",
    advice: "Change the name here, too, or make it visible that it is meant.",
    reads: Lang::is_program,
};

/// How many tokens a statement has to be compared.
const STATEMENT_TOKENS: std::ops::RangeInclusive<usize> = 6..=120;

/// Compares each new statement of the head with the statement before it.
pub(super) fn check(path: &str, syntax: &Syntax<'_>, added: &LineSet) -> Vec<Finding> {
    let head = Head { path, lines: &syntax.lines, added };
    let mut findings = Vec::new();
    for block in &syntax.blocks {
        for (at, pair) in block.windows(2).enumerate() {
            let (first, last) = syntax.line_span(&pair[1]);
            let new = (first..=last).all(|l| added.contains(l));
            if !new || !STATEMENT_TOKENS.contains(&pair[1].len()) {
                continue;
            }
            let others = [at.checked_sub(1), Some(at + 2)];
            let others: Vec<_> = others.iter().flatten().filter_map(|i| block.get(*i)).collect();
            if let Some(mismatch) = mismatch(syntax, &others, &pair[0], &pair[1]) {
                findings.push(finding(&head, syntax, &pair[0], &mismatch));
            }
        }
    }
    findings
}

/// The place where the substitution was not made.
struct Mismatch<'t> {
    /// The token.
    at: usize,
    /// What stands there, and what was expected.
    is: &'t str,
    expected: String,
    /// What was replaced elsewhere, and by what.
    from: &'t str,
    to: &'t str,
}

/// The one name of `b`, a copy of `a`, that was not replaced as the others were.
fn mismatch<'t>(
    syntax: &Syntax<'t>,
    others: &[&Range<usize>],
    a: &Range<usize>,
    b: &Range<usize>,
) -> Option<Mismatch<'t>> {
    let (old, new) = (syntax.of(a), syntax.of(b));
    if old.len() != new.len() || same(old, new) {
        return None;
    }
    let mut change: Option<(&str, &str)> = None;
    let mut changed = Vec::new();
    for (index, (x, y)) in old.iter().zip(new).enumerate() {
        if x.text == y.text {
            continue;
        }
        let part = difference(x, y)?;
        if *change.get_or_insert(part) != part {
            return None;
        }
        changed.push(index);
    }
    let (from, to) = change?;
    // If the original has the new name as well, either may be meant in either place.
    if changed.len() < 2 || old.iter().any(|t| t.name && t.text == to) {
        return None;
    }
    let mut left = None;
    for (index, (x, y)) in old.iter().zip(new).enumerate() {
        if x.text != y.text || !y.name {
            continue;
        }
        let Some(expected) = substituted(y.text, from, to) else { continue };
        // A name that nothing else uses was not forgotten; the name of a method or an attribute
        // is the same for different objects.
        if !known(syntax, b.start + index, &expected) || is_common(new, index, from) {
            continue;
        }
        if left.replace((index, expected)).is_some() {
            return None;
        }
    }
    let (index, expected) = left?;
    if others.iter().any(|other| shared(syntax, other, a, index)) {
        return None;
    }
    Some(Mismatch { at: b.start + index, is: new[index].text, expected, from, to })
}

/// The parts in which two names differ, without their common prefix and suffix.
fn difference<'t>(x: &Token<'t>, y: &Token<'t>) -> Option<(&'t str, &'t str)> {
    if !x.name || !y.name {
        return None;
    }
    let (x, y) = (x.text, y.text);
    let start: usize =
        x.chars().zip(y.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let (x, y) = (&x[start..], &y[start..]);
    let ends = x.chars().rev().zip(y.chars().rev()).take_while(|(a, b)| a == b);
    let end: usize = ends.map(|(c, _)| c.len_utf8()).sum();
    let part = (&x[..x.len() - end], &y[..y.len() - end]);
    (!part.0.is_empty() && !part.1.is_empty()).then_some(part)
}

/// `name` with `from` replaced by `to`, if it occurs once.
fn substituted(name: &str, from: &str, to: &str) -> Option<String> {
    let mut places = name.match_indices(from);
    let (at, _) = places.next()?;
    places.next().is_none().then(|| format!("{}{to}{}", &name[..at], &name[at + from.len()..]))
}

/// Whether the name at `index` is a method that is called, as `get(`, a key, an attribute of an
/// element, or the object of both statements.
fn is_common(tokens: &[Token<'_>], index: usize, from: &str) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text);
    let next = text(index + 1);
    let verb = tokens[index].text == from && next == "(";
    let subject = index == 0 && matches!(next, "." | "->");
    verb || subject || next == ":" || next == "=" && text(index + 2) == "{"
}

/// Whether `name` is known in place of the token at `at`: the same function uses it, as a member of
/// the same object where that token is a member.
fn known(syntax: &Syntax<'_>, at: usize, name: &str) -> bool {
    let around = match syntax.function_at(at) {
        Some(function) => &syntax.functions[function].all,
        None => &(0..syntax.tokens.len()),
    };
    let member = |t: &Token<'_>| matches!(t.text, "." | "->" | "::" | "?.");
    let owner = at.checked_sub(2).map(|first| &syntax.tokens[first..at]).filter(|o| member(&o[1]));
    match owner {
        Some(owner) => syntax.tokens.windows(3).any(|w| same(&w[..2], owner) && w[2].text == name),
        None => {
            let tokens = syntax.of(around);
            let free = |at: usize| at == 0 || !member(&tokens[at - 1]);
            let mut named = tokens.iter().enumerate().filter(|(_, t)| t.name && t.text == name);
            let first = named.find(|(at, _)| free(*at)).map(|(place, _)| place);
            let made = |at: usize| matches!(tokens.get(at + 1).map(|t| t.text), Some("=" | ":="));
            // What is declared further down cannot be meant.
            first.is_some_and(|place| around.start + place < at || !made(place))
        }
    }
}

/// Whether a statement next to both has the same name in the same place, so that all share it.
fn shared(syntax: &Syntax<'_>, other: &Range<usize>, a: &Range<usize>, index: usize) -> bool {
    let (one, two) = (syntax.of(other), syntax.of(a));
    one.len() == two.len() && one[index].text == two[index].text
}

fn finding(
    head: &Head<'_>,
    syntax: &Syntax<'_>,
    original: &Range<usize>,
    mismatch: &Mismatch<'_>,
) -> Finding {
    let line = syntax.tokens[mismatch.at].line;
    let first = syntax.line_span(original).0;
    let Mismatch { is, expected, from, to, .. } = mismatch;
    let body = format!(
        "This repeats line {first} with `{to}` in place of `{from}` throughout, except that `{is}` \
         stayed where `{expected}` would follow."
    );
    head.finding(&INFO, line, &body, None)
}
