//! `error-check-removed`: the check of an error was removed and the call that returns it stays. In
//! Go, where an error is a value.

use ast_grep_language::SupportLang as S;

use super::{
    CheckInfo,
    compared::{Compared, FunctionPair, Head},
    syntax::{Conditional, Token},
};
use crate::{Category, Confidence, Finding, Lang, Severity};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "error-check-removed",
    category: Category::Logic,
    severity: Severity::High,
    confidence: Confidence::hundredths(75),
    title: "Unchecked error: the error of this call is no longer handled",
    problem: "The check of an error was taken away, and the call that returns it stays.",
    advice: "Check the error again, or say why it cannot matter.",
    reads,
};

/// How many tokens a block has at most to count as one that leaves.
const MAX_EXIT_TOKENS: usize = 60;

pub(super) fn reads(language: Lang) -> bool {
    language == Lang::Known(S::Go)
}

/// The calls of both sides whose error the head no longer checks.
pub(super) fn check(compared: &Compared<'_>) -> Vec<Finding> {
    let functions = compared.functions();
    functions.iter().flat_map(|function| in_function(compared, *function)).collect()
}

fn in_function(compared: &Compared<'_>, function: FunctionPair<'_>) -> Vec<Finding> {
    let base = &compared.base;
    let mut findings = Vec::new();
    for guard in &base.conditionals {
        let (first, last) = base.line_span(&guard.all);
        let gone = function.base.body.contains(&guard.condition.start)
            && (first..=last).all(|l| compared.pair.removed.contains(l));
        let checked = error_name(base.of(&guard.condition));
        let Some(name) = checked.filter(|_| gone && exits(base.of(&guard.body))) else { continue };
        if let Some(line) = unchecked(compared, function, guard, name) {
            findings.push(finding(compared, name, first, line));
        }
    }
    findings
}

/// The error in `err != nil`.
fn error_name<'t>(condition: &[Token<'t>]) -> Option<&'t str> {
    let [name, operator, nil] = condition else { return None };
    let low = name.text.to_ascii_lowercase();
    let error = low == "e" || low.ends_with("err") || low.ends_with("error");
    (error && operator.text == "!=" && nil.text == "nil").then_some(name.text)
}

/// Whether a short block leaves its function or loop.
fn exits(body: &[Token<'_>]) -> bool {
    let leaves = |t: &Token<'_>| {
        matches!(t.text, "return" | "continue" | "break" | "goto" | "panic" | "Exit" | "Fatal")
    };
    body.len() <= MAX_EXIT_TOKENS && body.iter().any(leaves)
}

/// The line of the head that still sets `name`, if nothing reads it before it is set again.
fn unchecked(
    compared: &Compared<'_>,
    function: FunctionPair<'_>,
    guard: &Conditional,
    name: &str,
) -> Option<u32> {
    let (base, head) = (&compared.base, &compared.head);
    let before = base.of(&(function.base.body.start..guard.all.start));
    let line = before.iter().rfind(|t| t.text == name)?.line;
    if compared.pair.removed.contains(line) {
        return None;
    }
    // The line is unchanged: find it in the head by its text.
    let text = base.lines.get(line)?;
    let (first, last) = head.line_span(&function.head.body);
    let mut lines = (first..=last)
        .filter(|l| head.lines.get(*l) == Some(text) && !compared.pair.added.contains(*l));
    let nth = (base.line_span(&function.base.body).0..line)
        .filter(|l| base.lines.get(*l) == Some(text) && !compared.pair.removed.contains(*l))
        .count();
    let now = lines.nth(nth)?;
    let body = head.of(&function.head.body);
    let here = body.iter().position(|t| t.line == now && t.text == name)?;
    if !is_assigned(body, here) {
        return None;
    }
    let other = other_branch(body, here);
    // What another branch assigns leaves this value alone.
    let next = (here + 1..body.len())
        .filter(|at| body[*at].text == name)
        .find(|at| !is_assigned(body, *at) || other.is_none_or(|other| *at < other));
    next.is_none_or(|at| is_assigned(body, at)).then_some(now)
}

/// Where a branch begins that is taken instead of the one that the token at `here` is in.
fn other_branch(body: &[Token<'_>], here: usize) -> Option<usize> {
    let (mut depth, mut least) = (0_i32, 0_i32);
    for at in here..body.len() {
        match body[at].text {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth < least && body.get(at + 1).is_some_and(|next| next.text == "else") {
                    return Some(at);
                }
            }
            "case" | "default" if depth == least => return Some(at),
            _ => {}
        }
        least = least.min(depth);
    }
    None
}

/// Whether the name at `at` is on the left of an assignment statement.
fn is_assigned(body: &[Token<'_>], at: usize) -> bool {
    let rest = body[at + 1..].iter().take_while(|t| t.line == body[at].line);
    let mut after = rest.skip_while(|t| t.text == "," || t.name);
    after.next().is_some_and(|t| matches!(t.text, "=" | ":="))
}

fn finding(compared: &Compared<'_>, name: &str, old: u32, line: u32) -> Finding {
    let body = format!(
        "Line {old} of the base left when `{name}` was set. That is gone, nothing reads this \
         `{name}` now, and what follows runs as if the call had worked."
    );
    let lines = &compared.head.lines;
    let head = Head { path: compared.pair.path, lines, added: compared.pair.added };
    head.finding(&INFO, line, &body, None)
}
