//! What a function takes and what a call passes, read from their tokens.

use std::ops::Range;

use ast_grep_language::SupportLang as S;

use super::syntax::Token;
use crate::Lang;

/// What a function takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signature {
    /// Parameters by position, each with whether it may be left out.
    positions: Vec<(String, bool)>,
    /// Parameters by name only, each with whether it may be left out.
    named: Vec<(String, bool)>,
    /// Whether any number more may follow, by position or by name.
    more: bool,
    more_named: bool,
}

/// What a call passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passed<'t> {
    positions: usize,
    named: Vec<&'t str>,
}

impl Signature {
    /// Reads the parameters, brackets included; `None` when they cannot be counted.
    pub(super) fn of(language: Lang, method: bool, tokens: &[Token<'_>]) -> Option<Self> {
        let parts = parts(tokens)?;
        let python = language == Lang::Known(S::Python);
        let mut signature = Self::default();
        let mut by_name = false;
        for (index, part) in parts.iter().enumerate() {
            let texts: Vec<&str> = part.iter().map(|t| t.text).collect();
            let optional = texts.contains(&"=");
            match texts.as_slice() {
                ["self" | "cls", ..] if index == 0 && method => {}
                ["/"] => {}
                ["*"] => by_name = true,
                ["*" | "...", ..] => (signature.more, by_name) = (true, true),
                ["**", ..] => signature.more_named = true,
                // A block, or a value taken apart.
                ["&" | "{" | "[", ..] => return None,
                // A keyword of Ruby's.
                [_, ":", ..] if !python => return None,
                // In a type of Python's it means something else.
                _ if !python && texts.contains(&"...") => signature.more = true,
                _ => {
                    let name = parameter(part, python)?;
                    let list =
                        if by_name { &mut signature.named } else { &mut signature.positions };
                    list.push((name.to_owned(), optional));
                }
            }
        }
        // A static method of Python's without `self` is fine; any other first parameter is not
        // known.
        let first = parts.first().and_then(|p| p.first()).map_or("", |t| t.text);
        let odd = python && method && !matches!(first, "self" | "cls");
        (!odd).then_some(signature)
    }

    /// Whether a call fits; `extra` says whether what is too much is dropped.
    fn takes(&self, passed: &Passed<'_>, extra: bool) -> bool {
        let few = self.positions.iter().skip(passed.positions);
        let missing = few
            .chain(&self.named)
            .any(|(name, optional)| !optional && !passed.named.contains(&name.as_str()));
        let known = |name: &&str| {
            let later = self.positions.iter().skip(passed.positions);
            later.chain(&self.named).any(|(own, _)| own == name)
        };
        let many = passed.positions > self.positions.len() && !self.more && !extra;
        !missing && !many && (self.more_named || passed.named.iter().all(known))
    }

    /// Whether whatever fitted fits `now`, too.
    pub(super) fn widens_to(&self, now: &Self) -> bool {
        let as_lax = |old: &(String, bool), new: &(String, bool)| old.0 == new.0 && old.1 <= new.1;
        let kept = self.positions.len() <= now.positions.len()
            && self.positions.iter().zip(&now.positions).all(|(old, new)| as_lax(old, new));
        let named = self.named.iter().all(|old| now.named.iter().any(|new| as_lax(old, new)));
        let own = |new: &&(String, bool)| !self.named.iter().any(|old| old.0 == new.0);
        let added = now.positions.iter().skip(self.positions.len());
        let optional = added.chain(now.named.iter().filter(own)).all(|(_, optional)| *optional);
        kept && named && optional && self.more <= now.more && self.more_named <= now.more_named
    }
}

/// The name of one parameter.
fn parameter<'t>(part: &[Token<'t>], python: bool) -> Option<&'t str> {
    let equals = part.iter().position(|t| t.text == "=").unwrap_or(part.len());
    let name = if python { part.first() } else { part[..equals].iter().rfind(|t| t.name) };
    name.map(|t| t.text)
}

/// Whether the call fitted before and does not now.
pub(super) fn is_broken(
    language: Lang,
    before: &Signature,
    now: &Signature,
    passed: &Passed<'_>,
) -> bool {
    if language != Lang::Known(S::JavaScript) {
        let php = language == Lang::Known(S::Php);
        return before.takes(passed, php) && !now.takes(passed, php);
    }
    // Whatever is missing is undefined there, and whatever is too much is dropped; only where what
    // is passed takes another place it is certainly wrong.
    let whole = !before.more && !now.more && passed.positions == before.positions.len();
    let shifted = before.positions.iter().zip(&now.positions).any(|(a, b)| a.0 != b.0);
    let renamed = before.positions.len() == now.positions.len();
    let kept =
        before.positions.iter().filter(|(n, _)| now.positions.iter().any(|(m, _)| m == n)).count();
    let others = before.positions.len().min(now.positions.len());
    whole && shifted && !renamed && kept == others && passed.positions > 1
}

impl<'t> Passed<'t> {
    /// Reads the arguments, brackets included; `None` when they cannot be counted.
    pub(super) fn of(tokens: &[Token<'t>]) -> Option<Self> {
        let mut passed = Self::default();
        for part in parts(tokens)? {
            let texts: Vec<&str> = part.iter().map(|t| t.text).collect();
            match texts.as_slice() {
                ["*" | "**" | "..." | "&" | "&&", ..] => return None,
                [name, "=" | ":", ..] if is_word(name) => passed.named.push(part[0].text),
                // A generator, a pair of Ruby's.
                _ if texts.contains(&"for") || texts.contains(&"=>") => return None,
                [_, ":", ..] => return None,
                _ => passed.positions += 1,
            }
        }
        Some(passed)
    }
}

/// Whether it begins as a name does; also one that is a word for no value elsewhere.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The parts between commas that stand in no inner bracket.
fn parts<'s, 't>(tokens: &'s [Token<'t>]) -> Option<Vec<&'s [Token<'t>]>> {
    let inner = match tokens {
        [open, inner @ .., close] if open.text == "(" && close.text == ")" => inner,
        _ => return None,
    };
    let mut depth = 0_i32;
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for (at, token) in inner.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                cuts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    cuts.push(start..inner.len());
    Some(cuts.into_iter().map(|c| &inner[c]).filter(|p| !p.is_empty()).collect())
}
