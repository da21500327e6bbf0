//! Conditions that keep an index, a first element or a division from failing, and what they
//! protect.

use ast_grep_language::SupportLang as S;

use super::{syntax::Token, words};
use crate::Lang;

/// What a condition makes sure of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sure<'t> {
    /// A list has at least so many elements.
    Holds(Vec<&'t str>, u64),
    /// An index is smaller than the length of a list.
    Below(Vec<&'t str>, Vec<&'t str>),
    /// A number is not 0.
    Counts(Vec<&'t str>),
}

/// A condition that makes sure of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound<'t> {
    pub(super) sure: Vec<Sure<'t>>,
    /// Whether it holds when that is not so.
    pub(super) holds_without: bool,
}

/// Reads a condition.
pub(super) fn read<'t>(language: Lang, tokens: &[Token<'t>], inverted: bool) -> Option<Bound<'t>> {
    let words: Vec<&str> = tokens.iter().map(|t| t.text).collect();
    let words = unwrapped(&words);
    let mut bound = compound(words).or_else(|| single(language, words))?;
    bound.holds_without ^= inverted;
    (!bound.sure.is_empty()).then_some(bound)
}

/// The words without brackets around all of them.
fn unwrapped<'s, 't>(mut words: &'s [&'t str]) -> &'s [&'t str] {
    while let [open, inner @ .., close] = words
        && *open == "("
        && *close == ")"
        && depths(inner).all(|depth| depth >= 0)
    {
        words = inner;
    }
    words
}

/// How many brackets are open behind each word.
fn depths(words: &[&str]) -> impl Iterator<Item = i32> {
    words.iter().scan(0_i32, |depth, word| {
        *depth += match *word {
            "(" | "[" | "{" => 1,
            ")" | "]" | "}" => -1,
            _ => 0,
        };
        Some(*depth)
    })
}

/// The words that stand in no brackets and fulfil something.
fn outer(words: &[&str], is: impl Fn(&str) -> bool) -> Vec<usize> {
    let outside = words.iter().zip(depths(words)).enumerate();
    outside.filter(|(_, (word, depth))| *depth == 0 && is(word)).map(|(at, _)| at).collect()
}

/// `i < 0 || i >= len(xs)` and `i >= 0 && i < len(xs)`.
fn compound<'t>(words: &[&'t str]) -> Option<Bound<'t>> {
    let joins = outer(words, |w| matches!(w, "||" | "&&" | "or" | "and"));
    let [at] = joins.as_slice() else { return None };
    let or = matches!(words[*at], "||" | "or");
    let (first, second) = (unwrapped(&words[..*at]), unwrapped(&words[at + 1..]));
    let below = |side| comparison(side).filter(|b| matches!(b.sure[..], [Sure::Below(..)]));
    let (bound, other) =
        below(second).map(|b| (b, first)).or_else(|| below(first).map(|b| (b, second)))?;
    let [Sure::Below(_, index)] = &bound.sure[..] else { return None };
    let (own, rest) = other.split_at_checked(index.len())?;
    let negative = if or { ["<", "0"] } else { [">=", "0"] };
    (own == index && rest == negative && bound.holds_without == or).then_some(bound)
}

fn single<'t>(language: Lang, words: &[&'t str]) -> Option<Bound<'t>> {
    match words {
        ["!" | "not", rest @ ..] => {
            let mut bound = single(language, unwrapped(rest))?;
            bound.holds_without = !bound.holds_without;
            Some(bound)
        }
        _ => truth(language, words).or_else(|| comparison(words)),
    }
}

/// A condition that compares nothing.
fn truth<'t>(language: Lang, words: &[&'t str]) -> Option<Bound<'t>> {
    let holds = |list: &[&'t str], holds_without| {
        let sure = vec![Sure::Holds(path(list)?, 1)];
        Some(Bound { sure, holds_without })
    };
    match words {
        [list @ .., "." | "->", "is_empty" | "isEmpty" | "empty", "(", ")"]
        | [list @ .., ".", "empty?"]
        | ["empty", "(", list @ .., ")"] => holds(list, true),
        [list @ .., ".", "any?"] | [list @ .., ".", "Any", "(", ")"] => holds(list, false),
        _ if length(words).is_some() => holds(&length(words)?, false),
        // Where nothing in it is false.
        _ if language == Lang::Known(S::Python) => holds(words, false),
        _ if matches!(language, Lang::Known(S::Php)) => {
            let own = path(words)?;
            let sure = vec![Sure::Holds(own.clone(), 1), Sure::Counts(own)];
            Some(Bound { sure, holds_without: false })
        }
        _ if matches!(language, Lang::Known(S::JavaScript | S::TypeScript | S::Tsx | S::C)) => {
            Some(Bound { sure: vec![Sure::Counts(path(words)?)], holds_without: false })
        }
        _ => None,
    }
}

fn comparison<'t>(words: &[&'t str]) -> Option<Bound<'t>> {
    let compares = |w: &str| matches!(w, "==" | "===" | "!=" | "!==" | "<" | "<=" | ">" | ">=");
    let found = outer(words, compares);
    let [at] = found.as_slice() else { return None };
    let (left, operator, right) =
        (unwrapped(&words[..*at]), words[*at], unwrapped(&words[at + 1..]));
    if number(left).is_some() || length(left).is_none() && length(right).is_some() {
        return compared(right, turned(operator), left);
    }
    compared(left, operator, right)
}

/// The operator with its sides changed.
fn turned(operator: &str) -> &str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        same => same,
    }
}

/// A length or a number on the left.
fn compared<'t>(left: &[&'t str], operator: &str, right: &[&'t str]) -> Option<Bound<'t>> {
    let list = length(left);
    if let Some(limit) = number(right) {
        let (least, holds_without) = match operator {
            "==" | "===" if limit == 0 => (1, true),
            "==" | "===" => (limit, false),
            "!=" | "!==" if limit == 0 => (1, false),
            "!=" | "!==" => (limit, true),
            "<" => (limit, true),
            "<=" => (limit + 1, true),
            ">" => (limit + 1, false),
            ">=" => (limit, false),
            _ => return None,
        };
        let mut sure: Vec<Sure<'t>> =
            list.clone().map(|l| Sure::Holds(l, least)).into_iter().collect();
        if least == 1 && !matches!((operator, limit), ("==" | "===" | "!=" | "!==", 1)) {
            let counted = list.map(|_| left.to_vec()).or_else(|| path(left));
            sure.extend(counted.map(Sure::Counts));
        }
        return Some(Bound { sure, holds_without }).filter(|_| least > 0);
    }
    let holds_without = match operator {
        "<=" => true,
        ">" => false,
        _ => return None,
    };
    let plain = right.iter().all(|w| is_named(w) || matches!(*w, "." | "+" | "-" | "1"));
    let sure = vec![Sure::Below(list?, right.to_vec())];
    (plain && right.len() <= 5).then_some(Bound { sure, holds_without })
}

fn number(words: &[&str]) -> Option<u64> {
    match words {
        ["0.0"] => Some(0),
        [one] => one.parse().ok().filter(|n| *n < 100),
        _ => None,
    }
}

fn is_named(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@'))
}

/// Names with dots or arrows between them.
fn path<'t>(words: &[&'t str]) -> Option<Vec<&'t str>> {
    let odd = words.iter().step_by(2).all(|w| is_named(w) && !words::is_null(w));
    let even = words.iter().skip(1).step_by(2).all(|w| matches!(*w, "." | "->" | "::"));
    let truth = matches!(words, ["true" | "false" | "True" | "False"]);
    (words.len() % 2 == 1 && words.len() <= 7 && odd && even && !truth).then(|| words.to_vec())
}

/// The list whose length this is.
fn length<'t>(words: &[&'t str]) -> Option<Vec<&'t str>> {
    let list = match words {
        ["len" | "count", "(", list @ .., ")"] => list,
        [list @ .., "." | "->", "len" | "size" | "length" | "count" | "Count", "(", ")"] => list,
        [list @ .., ".", "length" | "Length" | "Count" | "size" | "count"] => list,
        _ => return None,
    };
    path(list)
}

/// Whether an index outside of a list gives no value instead of an error.
fn is_lenient(language: Lang) -> bool {
    let known = [S::JavaScript, S::TypeScript, S::Tsx, S::Php, S::Ruby, S::Bash];
    known.iter().any(|l| language == Lang::Known(*l))
}

impl<'t> Sure<'t> {
    /// What it is about: all the names.
    pub(super) fn names(&self) -> Vec<&'t str> {
        let all: Vec<&str> = match self {
            Self::Holds(list, _) => list.clone(),
            Self::Below(list, index) => list.iter().chain(index).copied().collect(),
            Self::Counts(number) => number.clone(),
        };
        let counts =
            |w: &str| matches!(w, "len" | "length" | "Length" | "size" | "count" | "Count");
        all.into_iter().filter(|w| is_named(w) && !counts(w)).collect()
    }

    /// Where it is needed in `tokens`.
    pub(super) fn needed(&self, language: Lang, tokens: &[Token<'_>]) -> Option<usize> {
        match self {
            Self::Holds(list, least) => words::occurrences(tokens, list)
                .find(|at| takes_element(language, tokens, *at, list.len(), *least)),
            Self::Below(list, index) => words::occurrences(tokens, list)
                .find(|at| indexes(language, &tokens[at + list.len()..], index)),
            Self::Counts(number) => words::occurrences(tokens, number)
                .find(|at| divides(language, tokens, *at, number.len())),
        }
    }

    /// What is missing now, in words.
    pub(super) fn told(&self) -> (&'static str, String) {
        const INDEX: &str = "The check of the length before this use is gone";
        match self {
            Self::Holds(list, 1) => (INDEX, format!("that `{}` is not empty", list.concat())),
            Self::Holds(list, least) => {
                (INDEX, format!("that `{}` has {least} elements", list.concat()))
            }
            Self::Below(list, index) => {
                let (list, index) = (list.concat(), index.concat());
                (INDEX, format!("that `{index}` lies within `{list}`"))
            }
            Self::Counts(number) => (
                "The check for zero before this division is gone",
                format!("that `{}` is not 0", number.concat()),
            ),
        }
    }
}

/// Whether what follows reads `[index]`, and an index outside would be an error.
fn indexes(language: Lang, after: &[Token<'_>], index: &[&str]) -> bool {
    let Some(inner) = after.get(1..=index.len()) else { return false };
    let text = |at: usize| after.get(at).map_or("", |t| t.text);
    let reads = text(0) == "["
        && text(index.len() + 1) == "]"
        && inner.iter().zip(index).all(|(t, w)| t.text == *w);
    reads && (!is_lenient(language) || matches!(text(index.len() + 2), "." | "->" | "["))
}

/// Whether an element is taken that a list of fewer than `least` has not.
fn takes_element(
    language: Lang,
    tokens: &[Token<'_>],
    at: usize,
    length: usize,
    least: u64,
) -> bool {
    let after = &tokens[at + length..];
    if least > 1 {
        let taken = after.get(1).and_then(|t| t.text.parse::<u64>().ok());
        let within = taken.filter(|n| (1..least).contains(n));
        return within.is_some_and(|n| indexes(language, after, &[&n.to_string()]));
    }
    let texts: Vec<&str> = after.iter().take(8).map(|t| t.text).collect();
    let python = language == Lang::Known(S::Python);
    let first = match texts.as_slice() {
        [".", "first" | "last", "(", ")", ".", "unwrap" | "expect", ..] => true,
        [".", "front" | "back", "(", ")", ..] => language == Lang::Known(S::Cpp),
        [".", "get" | "remove", "(", "0", ")", ..]
        | [".", "getFirst" | "getLast", "(", ")", ..] => language == Lang::Known(S::Java),
        [".", "First" | "Last", "(", ")", ..] => language == Lang::Known(S::CSharp),
        [".", "pop", "(", ")", ..] => python,
        _ => false,
    };
    let most = python
        && at >= 2
        && matches!(tokens[at - 2].text, "max" | "min")
        && tokens[at - 1].text == "("
        && texts.first() == Some(&")");
    let last = [&["-", "1"][..], &["-1"]].iter().any(|index| indexes(language, after, index));
    first || most || python && last || indexes(language, after, &["0"])
}

/// Whether something is divided by it.
fn divides(language: Lang, tokens: &[Token<'_>], at: usize, length: usize) -> bool {
    let text = |at: Option<usize>| at.and_then(|a| tokens.get(a)).map_or("", |t| t.text);
    let before = |back: usize| text(at.checked_sub(back));
    let goes_on = matches!(text(Some(at + length)), "." | "->" | "::" | "[" | "(" | "?.");
    // There it also puts texts together.
    let formats = matches!(language, Lang::Known(S::Python | S::Ruby));
    let divided = |word: &str| matches!(word, "/" | "//") || word == "%" && !formats;
    let real = |word: &str| matches!(word, "float" | "double" | "float64" | "float32" | "int");
    let cast = before(1) == "(" && real(before(2)) && divided(before(3))
        || before(1) == ")" && real(before(2)) && before(3) == "(" && divided(before(4));
    !goes_on && (divided(before(1)) || cast)
}
