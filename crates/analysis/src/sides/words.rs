//! Conditions and names, read.

use std::sync::OnceLock;

use regex::Regex;

use super::{Pair, syntax::Token};
use crate::Lines;

/// Names in a line, as written.
pub(super) fn names(line: &str) -> impl Iterator<Item = &str> {
    let split = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    split.filter(|w| w.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// The name of the function or type that a line defines, as far as one line shows it; with
/// `typed` also what stands behind a type or the like.
pub(super) fn defined(line: &str, typed: bool) -> Option<&str> {
    let keywords = [
        "def",
        "fn",
        "func",
        "function",
        "class",
        "struct",
        "interface",
        "trait",
        "enum",
        "fun",
        "module",
        "type",
        "object",
    ];
    let types = ["void", "int", "bool", "boolean", "String", "string", "const", "let", "var"];
    let mut words = names(line);
    words.find(|word| keywords.contains(word) || typed && types.contains(word))?;
    words.next()
}

/// Whether a name speaks of permissions or of a login.
pub(super) fn is_access(name: &str) -> bool {
    static ACCESS: OnceLock<Option<Regex>> = OnceLock::new();
    let access = ACCESS.get_or_init(|| {
        Regex::new(
            r"(?x)(?i)authori[sz]|authenticat|permission|permit|privilege|forbid|logged_?in|login_?required
              |signed_?in|is_?admin|is_?staff|is_?super_?user|is_?owner|is_?allowed|has_?(role|access|right)
              |require_?(login|user|auth|admin|role)|ensure_?(login|user|auth|admin)|check_?(access|auth)
              |roles_?allowed|secured|csrf|allow_?anonymous|moderator|^can_[a-z]|^auth$|auth_?(required|check|guard)
              |policy|policies",
        )
        .ok()
    });
    let capital = name.strip_prefix("can").is_some_and(|r| r.starts_with(char::is_uppercase));
    capital || access.as_ref().is_some_and(|a| a.is_match(name))
}

/// Whether parsing both sides could lead to anything: something is gone, something is new within
/// what is there on both sides, or enough is new to hold a copy.
pub(super) fn worth_parsing(pair: Pair<'_>) -> bool {
    let base = Lines::new(pair.base);
    let gone = base.touched(pair.removed).any(|(_, line)| !line.trim().is_empty());
    let whole = !pair.base.is_empty();
    gone || whole && pair.removed.is_empty() || pair.added.ranges().any(|r| r.end() > r.start())
}

/// Words for no value.
pub(super) fn is_null(word: &str) -> bool {
    matches!(word, "null" | "nil" | "None" | "NULL" | "nullptr" | "undefined")
}

/// A condition that asks whether something has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NullCheck<'t> {
    /// What it asks about: names, and what stands between them.
    pub(super) path: Vec<&'t str>,
    /// Whether it holds when there is no value.
    pub(super) holds_without: bool,
    /// Whether it compares with null, rather than ask for truth.
    pub(super) explicit: bool,
}

/// Reads a condition without brackets as a check for null.
pub(super) fn null_check<'t>(words: &[&'t str], inverted: bool) -> Option<NullCheck<'t>> {
    let (path, holds_without, explicit) = match words {
        [path @ .., "==" | "===" | "is", null] if is_null(null) => (path, true, true),
        [path @ .., "!=" | "!==" | "is not", null] if is_null(null) => (path, false, true),
        [path @ .., "is", "not", null] if is_null(null) => (path, false, true),
        [null, "==" | "===", path @ ..] if is_null(null) => (path, true, true),
        [null, "!=" | "!==", path @ ..] if is_null(null) => (path, false, true),
        [path @ .., ".", "nil?"] => (path, true, true),
        ["!" | "not", path @ ..] => (path, true, false),
        path => (path, false, false),
    };
    let named =
        |w: &&str| w.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@'));
    let odd = path.iter().step_by(2).all(named);
    let even = path.iter().skip(1).step_by(2).all(|w| matches!(*w, "." | "->" | "::"));
    let sound = path.len() % 2 == 1 && path.len() <= 7 && odd && even && !is_null(path[0]);
    sound.then(|| NullCheck {
        path: path.to_vec(),
        holds_without: holds_without != inverted,
        explicit,
    })
}

/// Where in `tokens` something is reached through `path` without asking whether it is there.
pub(super) fn reached(tokens: &[Token<'_>], path: &[&str]) -> Option<usize> {
    occurrences(tokens, path).find(|at| {
        tokens.get(at + path.len()).is_some_and(|t| matches!(t.text, "." | "->" | "["))
            && tokens.get(at + path.len() + 1).is_none_or(|t| t.text != "nil?")
    })
}

/// Where `path` stands in `tokens`, not as a part of a longer one that begins before it.
pub(super) fn occurrences<'s>(
    tokens: &'s [Token<'_>],
    path: &'s [&str],
) -> impl Iterator<Item = usize> + 's {
    let inner = |at: usize| {
        let before = at.checked_sub(1).and_then(|b| tokens.get(b));
        before.is_some_and(|t| matches!(t.text, "." | "->" | "::" | "?." | "&."))
    };
    let reads = move |at: &usize| {
        let here = tokens.get(*at..*at + path.len());
        here.is_some_and(|h| h.iter().zip(path).all(|(t, p)| t.text == *p)) && !inner(*at)
    };
    (0..tokens.len()).filter(reads)
}

/// Words that leave the place they stand in.
pub(super) fn is_exit(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "throw"
            | "raise"
            | "continue"
            | "break"
            | "panic"
            | "exit"
            | "die"
            | "abort"
            | "goto"
            | "fail"
            | "next"
            | "panic!"
            | "redirect_to"
            | "render"
    )
}

/// Whether a short body leaves the place it stands in.
pub(super) fn exits(body: &[Token<'_>]) -> bool {
    body.len() <= 60 && body.iter().any(|t| is_exit(t.text))
}
