//! An error that nobody looks at any more, while the call that returns it stays.

use ast_grep_language::SupportLang as S;

use super::{
    Claim, Unless,
    about::ERROR,
    compared::{Both, Compared, Said},
    syntax::{Conditional, Token, bare},
    words,
};
use crate::Lang;

/// What assigns.
const ASSIGNS: &[&str] = &["=", ":="];

/// Where an error is a value that somebody must look at.
pub(super) fn reads(language: Lang) -> bool {
    matches!(language, Lang::Known(S::Go | S::JavaScript | S::TypeScript | S::Tsx))
}

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if compared.test || !reads(compared.language) {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().flat_map(|both| in_function(compared, *both)).collect()
}

fn in_function(compared: &Compared<'_>, both: Both<'_>) -> Vec<Claim> {
    let base = &compared.base;
    let mut claims = Vec::new();
    for guard in &base.conditionals {
        let (first, last) = base.line_span(&guard.all);
        let gone = both.base.body.contains(&guard.condition.start)
            && (first..=last).all(|l| compared.removed(l));
        if !gone || !words::exits(base.of(&guard.body)) {
            continue;
        }
        let condition = bare(base.of(&guard.condition));
        let check = words::null_check(&condition, guard.inverted);
        let Some(check) = check.filter(|c| c.path.len() == 1 && !c.holds_without) else { continue };
        let name = check.path[0];
        let low = name.to_ascii_lowercase();
        if !(low == "e" || low.ends_with("err") || low.ends_with("error")) {
            continue;
        }
        if let Some(line) = unread(compared, both, guard, name) {
            claims.push(claim(compared, name, first, line));
        }
    }
    claims
}

/// The line of the head that still sets `name` as before the guard, when nothing reads it after.
fn unread(compared: &Compared<'_>, both: Both<'_>, guard: &Conditional, name: &str) -> Option<u32> {
    let (base, head) = (&compared.base, &compared.head);
    let before = base.of(&(both.base.body.start..guard.all.start));
    let set = before.iter().rposition(|t| t.text == name)?;
    let line = before[set].line;
    if compared.removed(line) {
        return None;
    }
    // The line stands as it was: its place in the head is that of its text.
    let text = base.lines.get(line)?;
    let (first, last) = head.line_span(&both.head.body);
    let mut lines =
        (first..=last).filter(|l| head.lines.get(*l) == Some(text) && !compared.added(*l));
    let nth = (base.line_span(&both.base.body).0..line)
        .filter(|l| base.lines.get(*l) == Some(text) && !compared.removed(*l))
        .count();
    let now = lines.nth(nth)?;
    let body = head.of(&both.head.body);
    let sets = |at: usize| sets_error(body, at);
    let here = body.iter().position(|t| t.line == now && t.text == name)?;
    if !sets(here) {
        return None;
    }
    let next = body.iter().enumerate().skip(here + 1).find(|(_, t)| t.text == name);
    next.is_none_or(|(at, _)| sets(at)).then_some(now)
}

/// Whether the name at `at` stands left of an assignment that is a statement of its own.
fn sets_error(body: &[Token<'_>], at: usize) -> bool {
    let rest = body[at + 1..].iter().take_while(|t| t.line == body[at].line);
    let mut after = rest.skip_while(|t| t.text == "," || t.name);
    after.next().is_some_and(|t| ASSIGNS.contains(&t.text))
}

fn claim(compared: &Compared<'_>, name: &str, old: u32, line: u32) -> Claim {
    let said = Said::body(format!(
        "Line {old} of the base left when `{name}` was set. That is gone, nothing reads this \
         `{name}` now, and what follows runs as if the call had worked."
    ));
    Claim { finding: compared.finding(&ERROR, (line, line), said), unless: Unless::default() }
}
