//! The parameters of a function and the arguments of a call, read from their tokens.

use std::ops::Range;

use ast_grep_language::SupportLang as S;

use super::syntax::Token;
use crate::Lang;

/// The parameters of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Signature {
    /// Positional parameters, each with whether it is optional.
    positions: Vec<(String, bool)>,
    /// Keyword-only parameters, each with whether it is optional.
    named: Vec<(String, bool)>,
    /// Whether it takes any number of further positional arguments, and of keyword arguments.
    more: bool,
    more_named: bool,
}

/// The arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Passed<'t> {
    positions: usize,
    named: Vec<&'t str>,
}

impl Signature {
    /// Reads the parameters, brackets included; `None` if they cannot be counted.
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
                // A block parameter, or destructuring.
                ["&" | "{" | "[", ..] => return None,
                // A keyword parameter of Ruby.
                [_, ":", ..] if !python => return None,
                // In a type of Python it has another meaning.
                _ if !python && texts.contains(&"...") => signature.more = true,
                _ => {
                    let name = parameter(part, python)?;
                    let list =
                        if by_name { &mut signature.named } else { &mut signature.positions };
                    list.push((name.to_owned(), optional));
                }
            }
        }
        // Only a method of Python with `self` or `cls` is certain.
        let first = parts.first().and_then(|p| p.first()).map_or("", |t| t.text);
        let odd = python && method && !matches!(first, "self" | "cls");
        (!odd).then_some(signature)
    }

    /// Whether a call fits; `extra` says whether surplus arguments are ignored.
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

    /// Whether a call certainly fails, in a language where it does.
    pub(super) fn refuses(&self, language: Lang, passed: &Passed<'_>) -> bool {
        let python = language == Lang::Known(S::Python);
        // In Ruby names may be one argument, in PHP they are written without the dollar.
        let certain = python || passed.named.is_empty();
        certain && !self.takes(passed, language == Lang::Known(S::Php))
    }

    /// Whether every call that fitted also fits `now`.
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

/// Whether the call fitted before and does not now; `edited` says whether the change wrote it.
pub(super) fn is_broken(
    language: Lang,
    before: &Signature,
    now: &Signature,
    (passed, edited): (&Passed<'_>, bool),
) -> bool {
    if language != Lang::Known(S::JavaScript) {
        let php = language == Lang::Known(S::Php);
        return before.takes(passed, php) && !now.takes(passed, php);
    }
    // JavaScript accepts missing and surplus arguments: a call is certainly wrong only where an
    // argument ends up at another parameter. Whoever edited the call as well knew how many there are.
    let whole = !before.more && !now.more && passed.positions == before.positions.len();
    let shifted = before.positions.iter().zip(&now.positions).any(|(a, b)| a.0 != b.0);
    let renamed = before.positions.len() == now.positions.len();
    let kept =
        before.positions.iter().filter(|(n, _)| now.positions.iter().any(|(m, _)| m == n)).count();
    let others = before.positions.len().min(now.positions.len());
    !edited && whole && shifted && !renamed && kept == others && passed.positions > 1
}

impl<'t> Passed<'t> {
    /// Reads the arguments, brackets included; `None` if they cannot be counted.
    pub(super) fn of(tokens: &[Token<'t>]) -> Option<Self> {
        let mut passed = Self::default();
        for part in parts(tokens)? {
            let texts: Vec<&str> = part.iter().map(|t| t.text).collect();
            match texts.as_slice() {
                ["*" | "**" | "..." | "&" | "&&", ..] => return None,
                // Its own commas and colon are none of the call's.
                _ if texts.contains(&"lambda") => return None,
                [name, "=" | ":", ..] if is_word(name) => passed.named.push(part[0].text),
                // A generator, or a pair of Ruby.
                _ if texts.contains(&"for") || texts.contains(&"=>") => return None,
                [_, ":", ..] => return None,
                _ => passed.positions += 1,
            }
        }
        Some(passed)
    }
}

/// Whether it begins as a name does; includes keywords.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The parts between the commas outside of inner brackets.
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
            _ if token.quoted => {}
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
