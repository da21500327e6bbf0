//! A copy with one name left behind: `dx = ax - bx; dy = ay - bx;`.

use std::ops::Range;

use super::{
    Claim, Unless,
    about::NAME,
    compared::{Compared, Said},
    syntax::{Syntax, Token, same},
};

/// Statements shorter or longer than this are not compared.
const TOKENS: std::ops::RangeInclusive<usize> = 6..=120;

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.test {
        return Vec::new();
    }
    let head = &compared.head;
    let mut claims = Vec::new();
    for block in &head.blocks {
        for (at, pair) in block.windows(2).enumerate() {
            let (first, last) = head.line_span(&pair[1]);
            if !(first..=last).all(|l| compared.added(l)) || !TOKENS.contains(&pair[1].len()) {
                continue;
            }
            let others = [at.checked_sub(1), Some(at + 2)];
            let others: Vec<_> = others.iter().flatten().filter_map(|i| block.get(*i)).collect();
            if let Some(left) = left_behind(head, &others, &pair[0], &pair[1]) {
                claims.push(claim(compared, &pair[0], &left));
            }
        }
    }
    claims
}

/// The place where the substitution was not made.
struct Left<'t> {
    /// The token.
    at: usize,
    /// What stands there, and what was expected.
    is: &'t str,
    expected: String,
    /// What was made of what elsewhere.
    from: &'t str,
    to: &'t str,
}

/// The one name of `b`, a copy of `a`, that was not changed as the others were.
fn left_behind<'t>(
    head: &Syntax<'t>,
    others: &[&Range<usize>],
    a: &Range<usize>,
    b: &Range<usize>,
) -> Option<Left<'t>> {
    let (old, new) = (head.of(a), head.of(b));
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
    // Where the original has the new name as well, either may be meant in either place.
    if changed.len() < 2 || old.iter().any(|t| t.name && t.text == to) {
        return None;
    }
    let mut left = None;
    for (index, (x, y)) in old.iter().zip(new).enumerate() {
        if x.text != y.text || !y.name {
            continue;
        }
        let Some(expected) = substituted(y.text, from, to) else { continue };
        // A name that nobody uses was not forgotten, and one that says what is done or what is
        // given stays the same for different things.
        if !known(head, b.start + index, &expected) || is_common(new, index, from) {
            continue;
        }
        if left.replace((index, expected)).is_some() {
            return None;
        }
    }
    let (index, expected) = left?;
    if others.iter().any(|other| shared(head, other, a, index)) {
        return None;
    }
    Some(Left { at: b.start + index, is: new[index].text, expected, from, to })
}

/// The parts in which two names differ.
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

/// `name` with the one `from` in it replaced.
fn substituted(name: &str, from: &str, to: &str) -> Option<String> {
    let mut places = name.match_indices(from);
    let (at, _) = places.next()?;
    places.next().is_none().then(|| format!("{}{to}{}", &name[..at], &name[at + from.len()..]))
}

/// Whether the name at `index` is a verb that is called, as `get(`, the key of a value, the attribute
/// of an element, or what both statements are about.
fn is_common(tokens: &[Token<'_>], index: usize, from: &str) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text);
    let next = text(index + 1);
    let verb = tokens[index].text == from && next == "(";
    // What both statements are about.
    let subject = index == 0 && matches!(next, "." | "->");
    verb || subject || next == ":" || next == "=" && text(index + 2) == "{"
}

/// Whether `name` in place of the token at `at` would mean something: it stands in the same
/// function, as a member of the same thing where that token is a member.
fn known(head: &Syntax<'_>, at: usize, name: &str) -> bool {
    let around = match head.function_at(at) {
        Some(function) => &head.functions[function].all,
        None => &(0..head.tokens.len()),
    };
    let member = |t: &Token<'_>| matches!(t.text, "." | "->" | "::" | "?.");
    let owner = at.checked_sub(2).map(|first| &head.tokens[first..at]).filter(|o| member(&o[1]));
    match owner {
        Some(owner) => head.tokens.windows(3).any(|w| same(&w[..2], owner) && w[2].text == name),
        None => {
            let tokens = head.of(around);
            let free = |at: usize| at == 0 || !member(&tokens[at - 1]);
            let mut named = tokens.iter().enumerate().filter(|(_, t)| t.name && t.text == name);
            let first = named.find(|(at, _)| free(*at)).map(|(place, _)| place);
            let made = |at: usize| matches!(tokens.get(at + 1).map(|t| t.text), Some("=" | ":="));
            // What is made further down cannot be meant.
            first.is_some_and(|place| around.start + place < at || !made(place))
        }
    }
}

/// Whether a statement next to both has the same name in the same place: then it is common to all.
fn shared(head: &Syntax<'_>, other: &Range<usize>, a: &Range<usize>, index: usize) -> bool {
    let (one, two) = (head.of(other), head.of(a));
    one.len() == two.len() && one[index].text == two[index].text
}

fn claim(compared: &Compared<'_>, original: &Range<usize>, left: &Left<'_>) -> Claim {
    let line = compared.head.tokens[left.at].line;
    let first = compared.head.line_span(original).0;
    let Left { is, expected, from, to, .. } = left;
    let said = Said::body(format!(
        "This repeats line {first} with `{to}` in place of `{from}` throughout, except that `{is}` \
         stayed where `{expected}` would follow."
    ));
    Claim { finding: compared.finding(&NAME, (line, line), said), unless: Unless::default() }
}
