//! `caller-left-behind`: a signature changed, and a call still passes the old arguments. Calls in
//! the same file here, in other files of the change in `cross_file.rs`.
//!
//! Only for languages without a compiler that reports it. A call that did not fit before either, or
//! whose target is not certain, is left alone.

use ast_grep_language::SupportLang as S;

use super::{
    CheckInfo,
    compared::{Compared, FunctionPair, Head},
    signature::{Passed, Signature, is_broken},
    syntax::{Call, Function, Syntax, Token, one_line, same},
};
use crate::{Category, Confidence, Finding, Lang, Severity};

pub(super) const INFO: CheckInfo = CheckInfo {
    id: "caller-left-behind",
    category: Category::Logic,
    severity: Severity::High,
    confidence: Confidence::hundredths(85),
    title: "Signature mismatch: this call no longer fits what it calls",
    problem: "The parameters of a function changed, and a call in the same file, or in another file of the \
              change that certainly means it, still passes the old ones.",
    advice: "Change the call with the function.",
    reads,
};

/// Whether a call that does not fit fails only when it runs.
pub(super) fn reads(language: Lang) -> bool {
    matches!(language, Lang::Known(S::Python | S::JavaScript | S::Ruby | S::Php))
}

/// The calls in the file itself that no longer fit.
pub(super) fn check(compared: &Compared<'_>) -> Vec<Finding> {
    let functions = compared.functions();
    functions.iter().flat_map(|function| in_file(compared, *function)).collect()
}

fn in_file(compared: &Compared<'_>, function: FunctionPair<'_>) -> Vec<Finding> {
    let syntax = &compared.head;
    let Some((before, now)) = signatures(compared, function) else { return Vec::new() };
    let Some(target) = Target::of(syntax, function.head) else { return Vec::new() };
    let broken = |call: &&Call| {
        let passed = target
            .is_called(syntax, call)
            .then(|| Passed::of(syntax.of(&call.arguments)))
            .flatten();
        let edited = syntax.is_touched(&call.all, compared.pair.added);
        passed.is_some_and(|p| is_broken(compared.language, &before, &now, (&p, edited)))
    };
    let head = Head { path: compared.pair.path, lines: &syntax.lines, added: compared.pair.added };
    let body = message(compared, function, function.head.name(), "");
    let finding = |call: &Call| {
        let line = syntax.line_span(&call.callee).1;
        head.finding(&INFO, line, &body, confidence(compared.language))
    };
    syntax.calls.iter().filter(broken).map(finding).collect()
}

/// The signatures of both sides, if they differ and are known for certain.
pub(super) fn signatures(
    compared: &Compared<'_>,
    function: FunctionPair<'_>,
) -> Option<(Signature, Signature)> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&function.base.parameters), head.of(&function.head.parameters));
    if same(old, new) {
        return None;
    }
    signature(base, function.base).zip(signature(head, function.head))
}

/// The signature of a function, if it says all that the function takes.
pub(super) fn signature(syntax: &Syntax<'_>, function: &Function) -> Option<Signature> {
    // One that inspects its arguments accepts more than it declares.
    let inspects = |t: &Token<'_>| matches!(t.text, "typeof" | "arguments" | "func_get_args");
    let whole = is_plain(syntax, function) && !syntax.of(&function.body).iter().any(inspects);
    let read = || Signature::of(syntax.language, function.method, syntax.of(&function.parameters));
    whole.then(read).flatten()
}

/// Whether the function has no decorator that may change its signature.
fn is_plain(syntax: &Syntax<'_>, function: &Function) -> bool {
    let before = syntax.of(&(function.all.start..function.parameters.start));
    let mut decorators = before.windows(2).filter(|w| w[0].text == "@");
    decorators.all(|w| matches!(w[1].text, "staticmethod" | "classmethod"))
        && !before.iter().any(|t| matches!(t.text, "[" | "#["))
}

/// The class that `__init__` belongs to, if it is at the top level, alone of its name, and has no
/// decorator or metaclass.
pub(super) fn class_of<'f>(head: &Syntax<'_>, init: &'f Function) -> Option<&'f str> {
    let (_, around) = init.path.split_last()?;
    let class = around.last()?;
    let own = head.containers.iter().find(|c| c.path == around)?;
    let header = head.of(&own.header);
    let decorated = header.iter().any(|t| matches!(t.text, "@" | "metaclass"));
    let single = head.containers.iter().filter(|c| c.path.last() == Some(class)).count() == 1;
    (single && around.len() == 1 && !decorated).then_some(class)
}

/// A function that calls in the same file refer to for certain.
pub(super) struct Target<'f> {
    pub(super) name: &'f str,
    /// The class of a method.
    class: Option<&'f [String]>,
}

impl<'f> Target<'f> {
    pub(super) fn of(head: &Syntax<'_>, function: &'f Function) -> Option<Self> {
        let path = &function.path;
        let (name, around) = path.split_last()?;
        let alone = head.functions.iter().filter(|f| f.path.last() == Some(name)).count() == 1;
        if name == "__init__" {
            let class = class_of(head, function).filter(|class| !is_bound(head, class))?;
            return Some(Self { name: class, class: None });
        }
        if function.method {
            return alone.then_some(Self { name, class: Some(around) });
        }
        (alone && around.is_empty() && !is_bound(head, name)).then_some(Self { name, class: None })
    }

    pub(super) fn is_called(&self, head: &Syntax<'_>, call: &Call) -> bool {
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

/// Whether the name is assigned, imported or a parameter anywhere.
fn is_bound(head: &Syntax<'_>, name: &str) -> bool {
    let parameter =
        head.functions.iter().any(|f| head.of(&f.parameters).iter().any(|t| t.text == name));
    let bound = head.tokens.windows(2).any(|w| {
        w[0].text == name && matches!(w[1].text, "=" | "+=" | ":=")
            || matches!(w[0].text, "import" | "as" | "del" | "global" | "for") && w[1].text == name
    });
    parameter || bound
}

/// The confidence in a language, where it is not the usual one.
pub(super) fn confidence(language: Lang) -> Option<Confidence> {
    (language == Lang::Known(S::JavaScript)).then_some(Confidence::hundredths(70))
}

/// The body of a finding; `place` says which file the function is in.
pub(super) fn message(
    compared: &Compared<'_>,
    function: FunctionPair<'_>,
    name: &str,
    place: &str,
) -> String {
    let head = &compared.head;
    let at = head.line_span(&function.head.parameters).0;
    format!(
        "`{name}`{place} takes `{}` since this change (line {at}, before `{}`). This call passes \
         what it took before.",
        cut(&one_line(head.of(&function.head.parameters))),
        cut(&one_line(compared.base.of(&function.base.parameters))),
    )
}

pub(super) fn cut(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.replace('`', "'"))
}
