//! A check for null taken away while what it protected stays as it was.

use std::ops::Range;

use super::{
    Claim, Unless,
    about::GUARD,
    compared::{Both, Compared, Said},
    syntax::{Conditional, Token, bare, same},
    words::{self, NullCheck},
};

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.pair.removed.is_empty() || compared.test || checks_elsewhere(compared) {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().flat_map(|both| in_function(compared, *both)).collect()
}

/// Whether a new line asks for null anywhere in the file: the check may have moved there.
fn checks_elsewhere(compared: &Compared<'_>) -> bool {
    let asks = |t: &Token<'_>| {
        words::is_null(t.text)
            || matches!(
                t.text,
                "?." | "??"
                    | "&."
                    | "?:"
                    | "!!"
                    | "nil?"
                    | "assert"
                    | "try"
                    | "catch"
                    | "except"
                    | "rescue"
                    | "isset"
                    | "empty"
            )
            || [
                "nonnull",
                "notnull",
                "isnull",
                "isnil",
                "requirenon",
                "notempty",
                "present",
                "blank",
            ]
            .iter()
            .any(|w| t.text.to_ascii_lowercase().replace('_', "").contains(w))
    };
    compared.added_tokens().any(asks)
}

fn in_function(compared: &Compared<'_>, both: Both<'_>) -> Vec<Claim> {
    let base = &compared.base;
    let inside = |c: &&Conditional| both.base.body.contains(&c.condition.start) && !c.repeats;
    let mut claims = Vec::new();
    for guard in base.conditionals.iter().filter(inside) {
        let (first, last) = base.line_span(&guard.condition);
        if !(first..=last).all(|l| compared.removed(l)) {
            continue;
        }
        let condition = bare(base.of(&guard.condition));
        let Some(check) = words::null_check(&condition, guard.inverted) else { continue };
        if let Some(at) = unprotected(compared, both, guard, &check) {
            claims.push(claim(compared, &check, first, at));
        }
    }
    claims
}

/// The token of the head where what was checked is used as before; `None` when there is none, or
/// when anything else about it changed.
fn unprotected(
    compared: &Compared<'_>,
    both: Both<'_>,
    guard: &Conditional,
    check: &NullCheck<'_>,
) -> Option<usize> {
    let (base, head) = (&compared.base, &compared.head);
    let body = base.of(&guard.body);
    let protected = if check.holds_without {
        (check.explicit && words::exits(body)).then(|| after(&base.blocks, &guard.all)).flatten()?
    } else {
        guard.body.clone()
    };
    let used = protected.start + words::reached(base.of(&protected), &check.path)?;
    // Whoever writes about it anew has thought about it.
    let name = *check.path.last()?;
    if compared.added_names(&both.head.all).contains(name) && check.holds_without {
        return None;
    }
    let gone = |t: &Token<'_>| t.text == name && compared.removed(t.line);
    let guarded = &guard.all;
    let elsewhere = base.of(&(both.base.all.start..guarded.start)).iter().any(gone)
        || base.of(&(guarded.end..both.base.all.end)).iter().any(gone);
    if elsewhere || still_asked(compared, both, check) {
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
fn still_asked(compared: &Compared<'_>, both: Both<'_>, check: &NullCheck<'_>) -> bool {
    let head = &compared.head;
    let root = check.path[0];
    let inside = |c: &&Conditional| both.head.body.contains(&c.condition.start);
    let asked = |c: &Conditional| head.of(&c.condition).iter().any(|t| t.text == root);
    let body = head.of(&both.head.body);
    let weighed = words::occurrences(body, &check.path).any(|at| {
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
        neighbour(body.get(at + check.path.len()))
            || neighbour(at.checked_sub(1).and_then(|b| body.get(b)))
    });
    weighed || head.conditionals.iter().filter(inside).any(asked)
}

fn claim(compared: &Compared<'_>, check: &NullCheck<'_>, old: u32, at: usize) -> Claim {
    let line = compared.head.tokens[at].line;
    let path = check.path.concat();
    let said = Said::body(format!(
        "Line {old} of the base asked whether `{path}` is there; that is gone, and `{path}` is used \
         here as before."
    ));
    Claim { finding: compared.finding(&GUARD, (line, line), said), unless: Unless::default() }
}
