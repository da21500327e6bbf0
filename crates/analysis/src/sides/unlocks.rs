//! `unlock-removed`: the call that releases a lock was removed and the call that acquires it stays.

use ast_grep_language::SupportLang as S;

use super::{
    CheckInfo,
    compared::{Compared, FunctionPair, Head},
    syntax::{Token, one_line},
};
use crate::{Category, Confidence, Finding, Lang, Severity};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "unlock-removed",
    category: Category::Logic,
    severity: Severity::High,
    confidence: Confidence::hundredths(80),
    title: "Missing unlock: this lock is no longer released",
    problem: "What gave a lock back was taken away, and what takes it stays.",
    advice: "Give the lock back on every way out.",
    reads,
};

/// Languages in which a call releases a lock.
pub(super) fn reads(language: Lang) -> bool {
    language.is_program() && !matches!(language, Lang::Known(S::Rust | S::Bash | S::Php))
}

/// The locks that a function still acquires and no longer releases.
pub(super) fn check(compared: &Compared<'_>) -> Vec<Finding> {
    let functions = compared.functions();
    functions.iter().filter_map(|function| in_function(compared, *function)).collect()
}

fn in_function(compared: &Compared<'_>, function: FunctionPair<'_>) -> Option<Finding> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&function.base.all), head.of(&function.head.all));
    let gone = calls(old, is_release).find(|r| compared.pair.removed.contains(r.line))?;
    let acquired = calls(old, is_acquire).any(|a| a.lock == gone.lock);
    let acquire = calls(new, is_acquire).find(|a| a.lock == gone.lock)?;
    let released = calls(new, is_release).any(|r| r.lock == gone.lock);
    let added = |t: &Token<'_>| compared.pair.added.contains(t.line);
    let moved = head.tokens.iter().any(|t| added(t) && may_release(t.text));
    let name = function.head.name().to_ascii_lowercase();
    let acquires = ["lock", "acquire", "begin", "enter", "start"].iter().any(|w| name.contains(w));
    if !acquired || released || moved || acquires {
        return None;
    }
    let body = format!(
        "Line {} of the base gave `{}` back. That is gone, and the lock is still taken here.",
        gone.line, gone.lock
    );
    let lines = &head.lines;
    let head = Head { path: compared.pair.path, lines, added: compared.pair.added };
    Some(head.finding(&INFO, acquire.line, &body, None))
}

/// A call that acquires or releases a lock.
struct LockCall {
    /// The expression of the lock.
    lock: String,
    line: u32,
}

fn is_acquire(name: &str) -> bool {
    matches!(name, "Lock" | "RLock" | "lock" | "acquire" | "mtx_lock")
        || name.ends_with("_mutex_lock")
}

fn is_release(name: &str) -> bool {
    matches!(name, "Unlock" | "RUnlock" | "unlock" | "release" | "mtx_unlock")
        || name.ends_with("_mutex_unlock")
}

/// Whether a new line with this word may release a lock in another way.
fn may_release(word: &str) -> bool {
    matches!(word, "Unlock" | "RUnlock" | "unlock" | "release" | "defer" | "finally" | "try")
        || word.ends_with("_unlock")
}

/// The calls of functions and methods whose name `is` accepts.
fn calls<'s>(tokens: &'s [Token<'_>], is: fn(&str) -> bool) -> impl Iterator<Item = LockCall> + 's {
    let call = move |at: usize| {
        let lock = match tokens[at].text.contains('_') {
            true => argument(tokens, at + 1),
            false => receiver(tokens, at),
        };
        lock.filter(|l| !l.is_empty()).map(|lock| LockCall { lock, line: tokens[at].line })
    };
    (0..tokens.len()).filter(move |at| is(tokens[*at].text)).filter_map(call)
}

/// `a.b()` of `a.b().name`; `at` is `name`.
fn receiver(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let text = |at: usize| tokens.get(at).map_or("", |t| t.text);
    let mut start = at;
    while let Some(dot) = start.checked_sub(1).filter(|dot| matches!(text(*dot), "." | "->")) {
        start = dot.checked_sub(1)?;
        if text(start) == ")" {
            start = start.checked_sub(2).filter(|name| text(name + 1) == "(")?;
        }
    }
    (start < at).then(|| one_line(&tokens[start..at - 1]))
}

/// The first argument of the call whose bracket is at `open`.
fn argument(tokens: &[Token<'_>], open: usize) -> Option<String> {
    let inner = tokens.get(open).filter(|t| t.text == "(").map(|_| &tokens[open + 1..])?;
    let end = inner.iter().position(|t| matches!(t.text, ")" | ","))?;
    Some(one_line(&inner[..end]))
}
