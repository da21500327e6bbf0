//! `wrong-arguments`: a call that the change wrote does not fit the function of the same file that it calls.
//!
//! Needs no other side of the diff. Only for languages without a compiler that reports it, and only where the
//! target is certain; what `caller-left-behind` says is not said again.

use std::collections::HashMap;

use ast_grep_language::SupportLang as S;

use super::{
    CheckInfo,
    callers::{Target, cut, signature},
    compared::Head,
    signature::Passed,
    syntax::{Call, Function, Syntax, Token, one_line},
};
use crate::{Category, Confidence, Finding, Lang, LineSet, Severity};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "wrong-arguments",
    category: Category::Logic,
    severity: Severity::High,
    confidence: Confidence::hundredths(80),
    title: "Wrong arguments: this call does not fit what it calls",
    problem: "A call leaves out an argument that the function in the same file needs, or passes one that it does not \
              take. It fails when it runs.",
    advice: "Pass what the function takes, or change what it takes.",
    reads,
};

/// Whether a call that does not fit fails only when it runs.
pub(super) fn reads(language: Lang) -> bool {
    matches!(language, Lang::Known(S::Python | S::Ruby | S::Php))
}

/// The calls on added lines that do not fit.
pub(super) fn check(path: &str, head: &Syntax<'_>, added: &LineSet) -> Vec<Finding> {
    let place = Head { path, lines: &head.lines, added };
    let mut calls: HashMap<&str, Vec<&Call>> = HashMap::new();
    for call in head.calls.iter().filter(|call| head.is_touched(&call.callee, added)) {
        let Some(name) = head.of(&call.callee).last() else { continue };
        calls.entry(name.text).or_default().push(call);
    }
    head.functions.iter().flat_map(|function| of(&place, head, &calls, function)).collect()
}

/// Those of one function.
fn of(
    place: &Head<'_>,
    head: &Syntax<'_>,
    calls: &HashMap<&str, Vec<&Call>>,
    function: &Function,
) -> Vec<Finding> {
    // A class is called by its own name.
    let names = function.path.iter().rev().take(2);
    let calls: Vec<&Call> =
        names.filter_map(|name| calls.get(name.as_str())).flatten().copied().collect();
    if calls.is_empty() || is_left_to_others(head.of(&function.body)) {
        return Vec::new();
    }
    let Some(takes) = signature(head, function) else { return Vec::new() };
    let refused = |call: &&Call| {
        let passed = Passed::of(head.of(&call.arguments));
        passed.is_some_and(|passed| takes.refuses(head.language, &passed))
    };
    let mut refused = calls.into_iter().filter(refused).peekable();
    // What a name stands for is looked up in the whole file, so only where it matters.
    let Some(target) = refused.peek().and_then(|_| Target::of(head, function)) else {
        return Vec::new();
    };
    let finding = |call: &Call| {
        let (at, _) = head.line_span(&function.parameters);
        let body = format!(
            "`{}` takes `{}` (line {at}), and this call passes `{}`.",
            target.name,
            cut(&one_line(head.of(&function.parameters))),
            cut(&one_line(head.of(&call.arguments))),
        );
        place.finding(&INFO, head.line_span(&call.callee).1, &body, None)
    };
    refused.filter(|call| target.is_called(head, call)).map(finding).collect()
}

/// Whether a body says only that a class derived from this one has it, maybe with other parameters.
fn is_left_to_others(body: &[Token<'_>]) -> bool {
    body.iter().any(|token| token.text == "NotImplementedError")
        || body.iter().all(|token| matches!(token.text, "pass" | "..."))
}
