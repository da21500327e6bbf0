//! A signature that changed, and a call that still passes the old arguments: in the same file here,
//! in other files of the change by `elsewhere.rs`.
//!
//! Only where no compiler says so before anything runs. A call that did not fit before either, or
//! of which it is not certain what it calls, is left alone.

use ast_grep_language::SupportLang as S;

use super::{
    Claim, Unless,
    about::CALLER,
    compared::{Both, Compared, Said},
    signature::{Passed, Signature, is_broken},
    syntax::{Call, Function, Syntax, Token, same, told},
};
use crate::{Confidence, Lang};

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
    let head = &compared.head;
    let Some((before, now)) = signatures(compared, both) else { return Vec::new() };
    let Some(target) = Target::of(head, both) else { return Vec::new() };
    let broken = |call: &&Call| {
        let passed =
            target.is_called(head, call).then(|| Passed::of(head.of(&call.arguments))).flatten();
        passed.is_some_and(|p| is_broken(compared.language, &before, &now, &p))
    };
    head.calls.iter().filter(broken).map(|call| claim(compared, both, call)).collect()
}

/// What a function took and takes, when that is another thing and known for certain.
pub(super) fn signatures(
    compared: &Compared<'_>,
    both: Both<'_>,
) -> Option<(Signature, Signature)> {
    let (base, head) = (&compared.base, &compared.head);
    let (old, new) = (base.of(&both.base.parameters), head.of(&both.head.parameters));
    if same(old, new) || !is_plain(head, both.head) || !is_plain(base, both.base) {
        return None;
    }
    // One that looks at what it was given takes more than it says.
    let looks = |t: &Token<'_>| matches!(t.text, "typeof" | "arguments" | "func_get_args");
    if head.of(&both.head.body).iter().any(looks) {
        return None;
    }
    let read = |tokens| Signature::of(compared.language, both.head.method, tokens);
    read(old).zip(read(new))
}

/// Whether nothing stands before the function that may change what it takes.
fn is_plain(syntax: &Syntax<'_>, function: &Function) -> bool {
    let before = syntax.of(&(function.all.start..function.parameters.start));
    let mut decorators = before.windows(2).filter(|w| w[0].text == "@");
    decorators.all(|w| matches!(w[1].text, "staticmethod" | "classmethod"))
        && !before.iter().any(|t| matches!(t.text, "[" | "#["))
}

/// The class that `__init__` makes values of: the only one of its name, at the top, and nothing
/// else decides what it takes.
pub(super) fn made_by<'f>(head: &Syntax<'_>, init: &'f Function) -> Option<&'f str> {
    let (_, around) = init.path.split_last()?;
    let class = around.last()?;
    let own = head.containers.iter().find(|c| c.path == around)?;
    let header = head.of(&own.header);
    let decorated = header.iter().any(|t| matches!(t.text, "@" | "metaclass"));
    let single = head.containers.iter().filter(|c| c.path.last() == Some(class)).count() == 1;
    (single && around.len() == 1 && !decorated).then_some(class)
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
            let class = made_by(head, both.head).filter(|class| !is_bound(head, class))?;
            return Some(Self { name: class, class: None });
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

/// How sure it is that a call which does not fit is a mistake.
pub(super) fn sure(language: Lang) -> Option<Confidence> {
    (language == Lang::Known(S::JavaScript)).then_some(Confidence::hundredths(70))
}

/// What the function takes since the change, in words; `place` says where it stands.
pub(super) fn takes(compared: &Compared<'_>, both: Both<'_>, name: &str, place: &str) -> String {
    let head = &compared.head;
    let at = head.line_span(&both.head.parameters).0;
    format!(
        "`{name}`{place} takes `{}` since this change (line {at}, before `{}`). This call passes \
         what it took before.",
        cut(&told(head.of(&both.head.parameters))),
        cut(&told(compared.base.of(&both.base.parameters))),
    )
}

fn claim(compared: &Compared<'_>, both: Both<'_>, call: &Call) -> Claim {
    let line = compared.head.line_span(&call.callee).1;
    let said = Said {
        body: takes(compared, both, both.head.name(), ""),
        confidence: sure(compared.language),
        ..Said::default()
    };
    Claim { finding: compared.finding(&CALLER, (line, line), said), unless: Unless::default() }
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.replace('`', "'"))
}
