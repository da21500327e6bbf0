//! A signature that changed, and a call in the same file that still passes the old arguments.
//!
//! Only where no compiler says so before anything runs. A call that did not fit before either, or
//! of which it is not certain what it calls, is left alone.

use std::ops::Range;

use ast_grep_language::SupportLang as S;

use super::{
    Claim, Unless,
    about::CALLER,
    compared::{Both, Compared, Said},
    syntax::{Call, Function, Syntax, Token, same, told},
};
use crate::analysis::{Confidence, Lang};

/// What a function takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Signature<'t> {
    /// Parameters by position, each with whether it may be left out.
    positions: Vec<(&'t str, bool)>,
    /// Parameters by name only, each with whether it may be left out.
    named: Vec<(&'t str, bool)>,
    /// Whether any number more may follow, by position or by name.
    more: bool,
    more_named: bool,
}

/// What a call passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Passed<'t> {
    positions: usize,
    named: Vec<&'t str>,
}

/// Whether a call that does not fit is found by nobody before it runs.
pub(super) fn reads(language: Lang) -> bool {
    matches!(language, Lang::Known(S::Python | S::JavaScript | S::Ruby | S::Php))
}

pub(super) fn look(compared: &Compared<'_>) -> Vec<Claim> {
    if !reads(compared.language) {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().flat_map(|both| in_file(compared, *both)).collect()
}

fn in_file(compared: &Compared<'_>, both: Both<'_>) -> Vec<Claim> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&both.base.parameters), head.of(&both.head.parameters));
    if same(old, new) || !is_plain(head, both.head) || !is_plain(base, both.base) {
        return Vec::new();
    }
    let Some((before, now)) = signature(compared, both, old).zip(signature(compared, both, new))
    else {
        return Vec::new();
    };
    // One that looks at what it was given takes more than it says.
    let looks = |t: &Token<'_>| matches!(t.text, "typeof" | "arguments" | "func_get_args");
    let Some(target) = Target::of(head, both) else { return Vec::new() };
    if head.of(&both.head.body).iter().any(looks) {
        return Vec::new();
    }
    let broken = |call: &&Call| {
        let passed =
            target.is_called(head, call).then(|| passed(head.of(&call.arguments))).flatten();
        passed.is_some_and(|p| is_broken(compared.language, &before, &now, &p))
    };
    head.calls.iter().filter(broken).map(|call| claim(compared, both, call)).collect()
}

/// Whether the call fitted before and does not now.
fn is_broken(
    language: Lang,
    before: &Signature<'_>,
    now: &Signature<'_>,
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

impl Signature<'_> {
    fn takes(&self, passed: &Passed<'_>, extra: bool) -> bool {
        let few = self.positions.iter().skip(passed.positions);
        let missing = few
            .chain(&self.named)
            .any(|(name, optional)| !optional && !passed.named.contains(name));
        let known = |name: &&str| {
            let later = self.positions.iter().skip(passed.positions);
            later.chain(&self.named).any(|(own, _)| own == name)
        };
        let many = passed.positions > self.positions.len() && !self.more && !extra;
        !missing && !many && (self.more_named || passed.named.iter().all(known))
    }
}

/// Whether nothing stands before the function that may change what it takes.
fn is_plain(syntax: &Syntax<'_>, function: &Function) -> bool {
    let before = syntax.of(&(function.all.start..function.parameters.start));
    let mut decorators = before.windows(2).filter(|w| w[0].text == "@");
    decorators.all(|w| matches!(w[1].text, "staticmethod" | "classmethod"))
        && !before.iter().any(|t| matches!(t.text, "[" | "#["))
}

/// What a call must look like to mean one function for certain.
struct Target<'f> {
    name: &'f str,
    /// The class, when it is a method.
    class: Option<&'f [String]>,
}

impl<'f> Target<'f> {
    fn of(head: &Syntax<'_>, both: Both<'f>) -> Option<Self> {
        let path = &both.head.path;
        let (name, around) = path.split_last()?;
        let alone = head.functions.iter().filter(|f| f.path.last() == Some(name)).count() == 1;
        if name == "__init__" {
            let class = around.last()?;
            let own = head.containers.iter().find(|c| c.path == around)?;
            let header = head.of(&own.header);
            let decorated = header.iter().any(|t| matches!(t.text, "@" | "metaclass"));
            let single =
                head.containers.iter().filter(|c| c.path.last() == Some(class)).count() == 1;
            let free = single && around.len() == 1 && !decorated && !is_bound(head, class);
            return free.then_some(Self { name: class, class: None });
        }
        if both.head.method {
            return alone.then_some(Self { name, class: Some(around) });
        }
        (alone && around.is_empty() && !is_bound(head, name)).then_some(Self { name, class: None })
    }

    fn is_called(&self, head: &Syntax<'_>, call: &Call) -> bool {
        let callee = head.of(&call.callee);
        let Some(class) = self.class else {
            let before = call.all.start.checked_sub(1).and_then(|b| head.tokens.get(b));
            let of = before.is_some_and(|t| matches!(t.text, "." | "->" | "::" | "?." | "new"));
            return matches!(callee, [one] if one.text == self.name) && !of;
        };
        let inside = head.function_at(call.all.start).map(|f| head.functions[f].path.as_slice());
        let own =
            inside.is_some_and(|path| path.starts_with(class) && path.len() == class.len() + 1);
        let spelled = matches!(callee, [me, dot, name]
            if matches!(me.text, "self" | "this" | "$this") && matches!(dot.text, "." | "->") && name.text == self.name);
        own && spelled
    }
}

/// Whether the name means something else anywhere: it is assigned, imported or a parameter.
fn is_bound(head: &Syntax<'_>, name: &str) -> bool {
    let parameter =
        head.functions.iter().any(|f| head.of(&f.parameters).iter().any(|t| t.text == name));
    let bound = head.tokens.windows(2).any(|w| {
        w[0].text == name && matches!(w[1].text, "=" | "+=" | ":=")
            || matches!(w[0].text, "import" | "as" | "del" | "global" | "for") && w[1].text == name
    });
    parameter || bound
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

fn signature<'t>(
    compared: &Compared<'_>,
    both: Both<'_>,
    tokens: &[Token<'t>],
) -> Option<Signature<'t>> {
    let parts = parts(tokens)?;
    let python = compared.language == Lang::Known(S::Python);
    let mut signature = Signature::default();
    let mut by_name = false;
    for (index, part) in parts.iter().enumerate() {
        let texts: Vec<&str> = part.iter().map(|t| t.text).collect();
        let optional = texts.contains(&"=");
        match texts.as_slice() {
            ["self" | "cls", ..] if index == 0 && both.head.method => {}
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
                let named = if python { part.first() } else { part.iter().rev().find(|t| t.name) };
                let equals = part.iter().position(|t| t.text == "=").unwrap_or(part.len());
                let name = if python { named? } else { part[..equals].iter().rfind(|t| t.name)? };
                let list = if by_name { &mut signature.named } else { &mut signature.positions };
                list.push((name.text, optional));
            }
        }
    }
    // A static method of Python's without `self` is fine; any other first parameter is not known.
    let first = parts.first().and_then(|p| p.first()).map_or("", |t| t.text);
    let odd = python && both.head.method && !matches!(first, "self" | "cls");
    (!odd).then_some(signature)
}

/// What a call passes; `None` when that cannot be counted.
fn passed<'t>(tokens: &[Token<'t>]) -> Option<Passed<'t>> {
    let mut passed = Passed::default();
    for part in parts(tokens)? {
        let texts: Vec<&str> = part.iter().map(|t| t.text).collect();
        match texts.as_slice() {
            ["*" | "**" | "..." | "&" | "&&", ..] => return None,
            [_, "=" | ":", ..] if part[0].name => passed.named.push(part[0].text),
            // A generator, a pair of Ruby's.
            _ if texts.contains(&"for") || texts.contains(&"=>") => return None,
            [_, ":", ..] => return None,
            _ => passed.positions += 1,
        }
    }
    Some(passed)
}

fn claim(compared: &Compared<'_>, both: Both<'_>, call: &Call) -> Claim {
    let head = &compared.head;
    let line = head.line_span(&call.callee).1;
    let at = head.line_span(&both.head.parameters).0;
    let said = Said {
        body: format!(
            "`{}` takes `{}` since this change (line {at}, before `{}`). This call passes what it \
             took before.",
            both.head.name(),
            cut(&told(head.of(&both.head.parameters))),
            cut(&told(compared.base.of(&both.base.parameters))),
        ),
        confidence: (compared.language == Lang::Known(S::JavaScript))
            .then_some(Confidence::hundredths(70)),
        ..Said::default()
    };
    Claim { finding: compared.finding(&CALLER, (line, line), said), unless: Unless::default() }
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.replace('`', "'"))
}
