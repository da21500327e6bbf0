//! A check of permissions or of a login taken away while what it protected stays.

use std::ops::Range;

use super::{
    Claim, Unless,
    about::PERMISSION,
    compared::{Both, Compared, Said},
    syntax::{Container, Token, told},
    words,
};

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.test || compared.pair.removed.is_empty() {
        return Vec::new();
    }
    let mut claims: Vec<Claim> = compared
        .functions()
        .into_iter()
        .filter_map(|both| annotation(compared, both).or_else(|| statement(compared, both)))
        .collect();
    claims.extend(compared.base.containers.iter().filter_map(|c| class(compared, c)));
    claims
}

/// `@login_required` and the like before a function.
fn annotation(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let before = both.base.all.start..both.base.parameters.start;
    let after = both.head.all.start..both.head.parameters.start;
    let gone = marks(compared, &before)?;
    let kept = compared
        .head
        .of(&after)
        .iter()
        .any(|t| words::is_access(t.text) && t.text != both.head.name());
    if kept || compared.head.of(&both.head.body).is_empty() {
        return None;
    }
    let name = compared.head.of(&after).iter().rfind(|t| t.text == last_part(both.head.name()))?;
    Some(claim(compared, &gone, name.line))
}

/// The same before a class.
fn class(compared: &Compared<'_>, base: &Container) -> Option<Claim> {
    let gone = marks(compared, &base.header)?;
    let head = compared.head.containers.iter().find(|c| c.path == base.path)?;
    let header = compared.head.of(&head.header);
    let own = head.path.last()?;
    let kept = header.iter().any(|t| words::is_access(t.text) && t.text != own);
    // A class that lost its methods too is another one.
    let shrunk = compared.head.of(&head.all).len() * 2 < compared.base.of(&base.all).len();
    let name = header.iter().find(|t| t.text == own).filter(|_| !kept && !shrunk)?;
    Some(claim(compared, &gone, name.line))
}

/// The annotation about permissions on a removed line of a header.
fn marks(compared: &Compared<'_>, header: &Range<usize>) -> Option<Gone> {
    let tokens = compared.base.of(header);
    let at = tokens.windows(2).position(|w| {
        matches!(w[0].text, "@" | "[" | "#[")
            && words::is_access(w[1].text)
            && compared.removed(w[1].line)
    })?;
    Some(Gone { line: tokens[at + 1].line, what: tokens[at + 1].text.to_owned() })
}

/// A statement that checks and leaves, or a call that does.
fn statement(compared: &Compared<'_>, both: Both<'_>) -> Option<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let speaks = |t: &&Token<'_>| words::is_access(t.text);
    if words::is_access(both.base.name()) || head.of(&both.head.all).iter().any(|t| speaks(&t)) {
        return None;
    }
    let inside = |s: &&Range<usize>| both.base.body.contains(&s.start);
    let statements = base.blocks.iter().flatten().filter(inside);
    let check = statements.filter(|s| is_check(compared, s)).min_by_key(|s| s.start)?;
    let rest = base.of(&(check.end..both.base.body.end));
    let line = compared.stays(both, rest)?;
    let what = told(base.of(check).split(|t| t.text == "{" || t.text == ":").next()?);
    let what = what.lines().next().unwrap_or("").chars().take(80).collect();
    Some(claim(compared, &Gone { line: base.line_span(check).0, what }, line))
}

/// Whether a statement of the base is all gone, speaks of permissions, and only checks.
fn is_check(compared: &Compared<'_>, statement: &Range<usize>) -> bool {
    let base = &compared.base;
    let (first, last) = base.line_span(statement);
    let tokens = base.of(statement);
    if !(first..=last).all(|l| compared.removed(l)) || tokens.len() > 80 {
        return false;
    }
    let guard = base.conditionals.iter().find(|c| c.all == *statement);
    match guard {
        Some(guard) => {
            let asks = base.of(&guard.condition).iter().any(|t| t.name && words::is_access(t.text));
            asks && words::exits(base.of(&guard.body))
        }
        None => {
            let call = base.calls.iter().find(|call| call.all == *statement);
            call.is_some_and(|call| {
                base.of(&call.callee).last().is_some_and(|t| t.name && words::is_access(t.text))
            })
        }
    }
}

/// The part of a name after what it belongs to.
fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

struct Gone {
    line: u32,
    what: String,
}

fn claim(compared: &Compared<'_>, gone: &Gone, line: u32) -> Claim {
    let said = Said::body(format!(
        "Line {} of the base checked it with `{}`. That is gone, what it protected stays, and the \
         change adds no such check. (CWE-862)",
        gone.line,
        gone.what.replace('`', "'")
    ));
    let finding = compared.finding(&PERMISSION, (line, line), said);
    Claim { finding, unless: Unless { access: true, ..Unless::default() } }
}
