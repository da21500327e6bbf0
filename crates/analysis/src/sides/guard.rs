//! A check for null, of a length or for zero taken away while what it protected stays as it was.

use std::{collections::HashMap, ops::Range};

use super::{
    Claim, Unless,
    about::GUARD,
    bounds::{self, Bound},
    compared::{Both, Compared, Said},
    syntax::{Conditional, Token, bare, same},
    words::{self, NullCheck},
};

/// What a condition asks.
enum Check<'t> {
    Null(NullCheck<'t>),
    Bound(Bound<'t>),
}

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.pair.removed.is_empty() || compared.test || catches(compared) {
        return Vec::new();
    }
    let asked = Asked { null: asks_for_null(compared), bound: asks_for_bounds(compared) };
    if asked.null && asked.bound {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().flat_map(|both| in_function(compared, *both, &asked)).collect()
}

/// What a new line asks anywhere in the file: the check may have moved there.
struct Asked {
    null: bool,
    bound: bool,
}

/// Whether a new line deals with what fails.
fn catches(compared: &Compared<'_>) -> bool {
    let catches = |t: &Token<'_>| {
        matches!(t.text, "assert" | "try" | "catch" | "except" | "rescue" | "isset" | "empty")
    };
    compared.added_tokens().any(catches)
}

/// Whether a new line asks for a length or for zero, or keeps a number within limits.
fn asks_for_bounds(compared: &Compared<'_>) -> bool {
    let asks = |t: &Token<'_>| {
        let low = t.text.to_ascii_lowercase();
        ["len", "size", "count", "empty", "zero", "bound", "range", "check", "valid", "any"]
            .iter()
            .any(|w| low.contains(w))
            || matches!(
                t.text,
                "max"
                    | "min"
                    | "Math"
                    | "clamp"
                    | "get"
                    | "?"
                    | "||"
                    | "or"
                    | "&&"
                    | "and"
                    | "??"
                    | "throw"
                    | "raise"
                    | "assert!"
            )
    };
    let head = &compared.head;
    let new = |span: &Range<usize>| head.of(span).iter().any(|t| compared.added(t.line));
    compared.added_tokens().any(asks) || head.conditionals.iter().any(|c| new(&c.condition))
}

/// Whether a new line asks for null.
fn asks_for_null(compared: &Compared<'_>) -> bool {
    let words =
        ["nonnull", "notnull", "isnull", "isnil", "requirenon", "notempty", "present", "blank"];
    let asks = |t: &Token<'_>| {
        words::is_null(t.text)
            || matches!(t.text, "?." | "??" | "&." | "?:" | "!!" | "nil?")
            || words.iter().any(|w| t.text.to_ascii_lowercase().replace('_', "").contains(w))
    };
    compared.added_tokens().any(asks)
}

fn in_function(compared: &Compared<'_>, both: Both<'_>, asked: &Asked) -> Vec<Claim> {
    let base = &compared.base;
    let inside = |c: &&Conditional| both.base.body.contains(&c.condition.start) && !c.repeats;
    let mut claims = Vec::new();
    let meant = !says_anew(compared, both);
    for guard in base.conditionals.iter().filter(inside) {
        let (first, last) = base.line_span(&guard.condition);
        if !(first..=last).all(|l| compared.removed(l)) {
            continue;
        }
        let condition = base.of(&guard.condition);
        let null = || words::null_check(&bare(condition), guard.inverted).map(Check::Null);
        let bound = || bounds::read(compared.language, condition, guard.inverted).map(Check::Bound);
        let checks = [(!asked.null).then(null).flatten(), (!asked.bound).then(bound).flatten()];
        let gone = |check: Check<'_>| {
            let mut claim = unprotected(compared, both, guard, &check, first)?;
            if meant && matches!(check, Check::Null(_)) {
                claim.finding.soften();
            }
            Some(claim)
        };
        claims.extend(checks.into_iter().flatten().find_map(gone));
    }
    claims
}

/// Whether the function says anything that it did not say before. Where it does not, taking the
/// check away was all that was wanted.
fn says_anew(compared: &Compared<'_>, both: Both<'_>) -> bool {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for token in compared.base.of(&both.base.all) {
        *left.entry(token.text).or_default() += 1;
    }
    compared.head.of(&both.head.all).iter().any(|token| match left.get_mut(token.text) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    })
}

/// What a condition decides about one thing.
struct About<'c, 't> {
    /// The names that it is about, from its root on.
    names: &'c [&'t str],
    holds_without: bool,
    explicit: bool,
}

fn unprotected(
    compared: &Compared<'_>,
    both: Both<'_>,
    guard: &Conditional,
    check: &Check<'_>,
    old: u32,
) -> Option<Claim> {
    let language = compared.language;
    match check {
        Check::Null(check) => {
            let about = About {
                names: &check.path,
                holds_without: check.holds_without,
                explicit: check.explicit,
            };
            let used = |tokens: &[Token<'_>]| words::reached(tokens, &check.path);
            let at = still_used(compared, both, guard, &about, used)?;
            let path = check.path.concat();
            let body = format!(
                "Line {old} of the base asked whether `{path}` is there; that is gone, and `{path}` is used \
                 here as before."
            );
            Some(claim(compared, "The check for null before this use is gone", body, at))
        }
        Check::Bound(bound) => bound.sure.iter().find_map(|sure| {
            let names = sure.names();
            let about =
                About { names: &names, holds_without: bound.holds_without, explicit: true };
            let used = |tokens: &[Token<'_>]| sure.needed(language, tokens);
            let at = still_used(compared, both, guard, &about, used)?;
            if is_looked_at(compared, both, &names, at) {
                return None;
            }
            let (title, what) = sure.told();
            let body = format!(
                "Line {old} of the base made sure {what}; that is gone, and what needs it stays as it \
                 was."
            );
            Some(claim(compared, title, body, at))
        }),
    }
}

/// The token of the head where what was checked is used as before; `None` when there is none, or
/// when anything else about it changed.
fn still_used(
    compared: &Compared<'_>,
    both: Both<'_>,
    guard: &Conditional,
    check: &About<'_, '_>,
    used: impl Fn(&[Token<'_>]) -> Option<usize>,
) -> Option<usize> {
    let (base, head) = (&compared.base, &compared.head);
    let body = base.of(&guard.body);
    let protected = if check.holds_without {
        (check.explicit && words::exits(body)).then(|| after(&base.blocks, &guard.all)).flatten()?
    } else {
        guard.body.clone()
    };
    let used = protected.start + used(base.of(&protected))?;
    if changes(base.of(&(protected.start..used)), check.names) {
        return None;
    }
    // Whoever writes about it anew has thought about it.
    let name = *check.names.last()?;
    if compared.added_names(&both.head.all).contains(name) && check.holds_without {
        return None;
    }
    let gone = |t: &Token<'_>| t.text == name && compared.removed(t.line);
    let guarded = &guard.all;
    let elsewhere = base.of(&(both.base.all.start..guarded.start)).iter().any(gone)
        || base.of(&(guarded.end..both.base.all.end)).iter().any(gone);
    if elsewhere || still_asked(compared, both, check.names) {
        return None;
    }
    let statement = statement_around(&base.blocks, used)?;
    let tokens = base.of(&statement);
    let places = |span: &Range<usize>, all: &[Token<'_>]| -> Vec<usize> {
        let reads = all.windows(tokens.len()).enumerate().filter(|(_, w)| same(w, tokens));
        reads.map(|(at, _)| span.start + at).collect()
    };
    let before = places(&both.base.body, base.of(&both.base.body));
    let now = places(&both.head.body, head.of(&both.head.body));
    // The same statement elsewhere in the function is another one.
    let nth = before.iter().position(|at| *at == statement.start)?;
    let at = now.get(nth).filter(|_| now.len() == before.len())?;
    Some(at + (used - statement.start))
}

/// What follows a statement in the block that it stands in.
fn after(blocks: &[Vec<Range<usize>>], statement: &Range<usize>) -> Option<Range<usize>> {
    let holds = |s: &&Range<usize>| s.start <= statement.start && statement.end <= s.end;
    let block = blocks.iter().filter(|b| b.iter().any(|s| holds(&s)));
    let inner = block.min_by_key(|b| b.iter().find(holds).map_or(usize::MAX, |s| s.len()))?;
    Some(statement.end..inner.last()?.end)
}

/// The innermost statement around a token.
fn statement_around(blocks: &[Vec<Range<usize>>], token: usize) -> Option<Range<usize>> {
    let around = blocks.iter().flatten().filter(|s| s.contains(&token));
    around.min_by_key(|s| s.len()).cloned()
}

/// Whether any condition of the head's function still has to do with it.
fn still_asked(compared: &Compared<'_>, both: Both<'_>, path: &[&str]) -> bool {
    let head = &compared.head;
    let root = path[0];
    let inside = |c: &&Conditional| both.head.body.contains(&c.condition.start);
    let asked = |c: &Conditional| head.of(&c.condition).iter().any(|t| t.text == root);
    let body = head.of(&both.head.body);
    let weighed = words::occurrences(body, path).any(|at| {
        let neighbour = |t: Option<&Token<'_>>| {
            t.is_some_and(|t| {
                matches!(
                    t.text,
                    "&&" | "||"
                        | "and"
                        | "or"
                        | "?"
                        | "??"
                        | "?."
                        | "&."
                        | "!"
                        | "!!"
                        | "?:"
                        | "=="
                        | "!="
                        | "==="
                        | "!=="
                        | "is"
                        | "if"
                        | "in"
                )
            })
        };
        neighbour(body.get(at + path.len()))
            || neighbour(at.checked_sub(1).and_then(|b| body.get(b)))
    });
    weighed || head.conditionals.iter().filter(inside).any(asked)
}

/// Where a list is gone through or cases are told apart.
const GOES_THROUGH: &[&str] = &[
    "for",
    "foreach",
    "forEach",
    "each",
    "each_with_index",
    "map",
    "while",
    "until",
    "loop",
    "times",
    "upto",
    "switch",
    "match",
    "case",
    "when",
];

/// Whether the head's function makes sure of any of `names` in another way: around the use at `at`
/// a list is gone through or cases are told apart, or it is asserted, or kept within limits.
fn is_looked_at(compared: &Compared<'_>, both: Both<'_>, names: &[&str], at: usize) -> bool {
    let head = &compared.head;
    let speaks = |line: &[Token<'_>], words: &[&str]| {
        line.iter().any(|t| names.contains(&t.text)) && line.iter().any(|t| words.contains(&t.text))
    };
    let around = head.blocks.iter().flatten().filter(|s| s.contains(&at));
    let through = around.filter_map(|s| head.of(s).chunk_by(|a, b| a.line == b.line).next());
    let mut lines = head.of(&both.head.all).chunk_by(|a, b| a.line == b.line);
    let asserts = |t: &Token<'_>| {
        ["assert", "require", "ensure", "expect", "precondition"]
            .iter()
            .any(|w| t.text.starts_with(w))
    };
    let limits = |line: &[Token<'_>]| {
        speaks(line, &["max", "min", "Max", "Min"]) && line.iter().any(|t| t.text == "1")
            || speaks(line, names) && line.iter().any(asserts)
    };
    through.into_iter().any(|line| speaks(line, GOES_THROUGH)) || lines.any(limits)
}

/// Whether any of `names` gets another value in `tokens`, or what is in it changes.
fn changes(tokens: &[Token<'_>], names: &[&str]) -> bool {
    let grows =
        ["append", "push", "push_back", "add", "Add", "extend", "insert", "unshift", "Push"];
    let sets = ["=", ":=", "+=", "-=", "||=", "??=", "++", "--", "|="];
    tokens.windows(3).any(|w| {
        let grown = matches!(w[1].text, "." | "->") && grows.contains(&w[2].text);
        names.contains(&w[0].text) && (sets.contains(&w[1].text) || grown)
    })
}

fn claim(compared: &Compared<'_>, title: &str, body: String, at: usize) -> Claim {
    let line = compared.head.tokens[at].line;
    let said = Said { title: Some(title.to_owned()), body, ..Said::default() };
    Claim { finding: compared.finding(&GUARD, (line, line), said), unless: Unless::default() }
}
