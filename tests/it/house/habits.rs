//! The smaller rules.

use proc_macro2::{Delimiter, TokenTree};

use super::{
    Source,
    paths::{is_ident, is_punct, tokens},
    table::LONGEST,
};

/// Files longer than the limit.
pub(super) fn too_long(sources: &[Source]) -> Vec<String> {
    let length = |source: &Source| source.text.lines().count();
    let long = sources.iter().filter(|source| length(source) > LONGEST);
    long.map(|source| format!("{}: {} lines", source.path, length(source))).collect()
}

/// `cfg(test)` anywhere but on `mod tests`.
pub(super) fn test_forks(sources: &[Source]) -> Vec<String> {
    everywhere(sources, |list, at| {
        let TokenTree::Group(group) = &list[at] else { return None };
        let inner: Vec<_> = group.stream().into_iter().collect();
        let asks = inner.iter().any(|token| is_ident(token, "test"));
        let of_cfg = at > 0
            && (is_ident(&list[at - 1], "cfg")
                || is_ident(&list[at - 1], "cfg_attr")
                || is_ident(&list[at - 1], "any")
                || is_ident(&list[at - 1], "all")
                || is_ident(&list[at - 1], "not")
                || is_punct(list.get(at - 1), '!') && at > 1 && is_ident(&list[at - 2], "cfg"));
        (asks && of_cfg).then_some("code under `cfg(test)` that is not `mod tests`")
    })
}

/// Tests that wait by the clock, or are never run. Where time is paused, a sleep is an event.
pub(super) fn sleeps_and_ignores(sources: &[Source]) -> Vec<String> {
    let (paused, running): (Vec<_>, Vec<_>) =
        sources.iter().cloned().partition(|source| source.text.contains("start_paused = true"));
    let mut violations = waits(&running, true);
    violations.extend(waits(&paused, false));
    violations
}

fn waits(sources: &[Source], sleeps: bool) -> Vec<String> {
    everywhere(sources, |list, at| {
        let group = |at: usize| match list.get(at) {
            Some(TokenTree::Group(group)) => Some(group),
            _ => None,
        };
        let called = group(at + 1).is_some_and(|g| g.delimiter() == Delimiter::Parenthesis);
        if sleeps && is_ident(&list[at], "sleep") && called {
            return Some("a sleep: wait for what should happen instead");
        }
        let attribute = is_punct(list.get(at), '#')
            && group(at + 1).is_some_and(|g| {
                g.delimiter() == Delimiter::Bracket
                    && g.stream().into_iter().any(|token| {
                        is_ident(&token, "ignore")
                            || matches!(&token, TokenTree::Group(inner)
                                if inner.stream().into_iter().any(|t| is_ident(&t, "ignore")))
                    })
            });
        attribute.then_some("a test that is not run")
    })
}

/// Runs a look at every token of every source, at every depth.
fn everywhere(
    sources: &[Source],
    look: impl Fn(&[TokenTree], usize) -> Option<&'static str>,
) -> Vec<String> {
    let mut violations = Vec::new();
    for source in sources {
        let top: Vec<_> = tokens(&source.path, &source.text).into_iter().collect();
        let mut lists = vec![top];
        while let Some(list) = lists.pop() {
            for at in 0..list.len() {
                if allowed_tests_module(&list, at) {
                    continue;
                }
                if let Some(reason) = look(&list, at) {
                    let line = list[at].span().start().line;
                    violations.push(format!("{}:{line}: {reason}", source.path));
                }
                if let TokenTree::Group(group) = &list[at] {
                    lists.push(group.stream().into_iter().collect());
                }
            }
        }
    }
    violations.sort();
    violations
}

/// Whether `list[at]` is the `[cfg(test)]` of `#[cfg(test)] mod tests`.
fn allowed_tests_module(list: &[TokenTree], at: usize) -> bool {
    let mut next = at + 1;
    while is_punct(list.get(next), '#') {
        next += 2;
    }
    list[at].to_string().replace(' ', "") == "[cfg(test)]"
        && list.get(next).is_some_and(|token| is_ident(token, "mod"))
        && list.get(next + 1).is_some_and(|token| is_ident(token, "tests"))
}
