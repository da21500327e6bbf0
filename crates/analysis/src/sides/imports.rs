//! What the imported names of a Python or JavaScript file refer to.
//!
//! Read from tokens. A name counts only if nothing else in the file binds it. Wildcard imports,
//! bundler aliases and computed paths are not resolved.

use std::ops::Range;

use ast_grep_language::SupportLang as S;

use super::{
    modules::Module,
    syntax::{Function, Syntax, Token},
};
use crate::Lang;

/// What an imported name refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Binding {
    /// A module.
    Module(Module),
    /// A member of a module; in Python that may be a module, too.
    Member(Module, String),
    /// The default export of a module.
    Default(Module),
    /// A module and its default export in one: what `require` returns.
    Required(Module),
}

/// One imported name.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// Its name in this file, dotted for `import a.b`.
    pub(super) local: String,
    pub(super) binding: Binding,
    /// The tokens of the import.
    pub(super) span: Range<usize>,
}

/// The names that a file imports and binds nowhere else.
pub(super) fn of(syntax: &Syntax<'_>) -> Vec<Import> {
    let python = syntax.language == Lang::Known(S::Python);
    let starts = (0..syntax.tokens.len()).filter(|at| starts_line(syntax, *at));
    let mut found: Vec<Import> = match python {
        true if has_wildcard(syntax) => Vec::new(),
        true => starts.flat_map(|at| python_at(&syntax.tokens, at).unwrap_or_default()).collect(),
        false => (0..syntax.tokens.len()).flat_map(|at| script_at(&syntax.tokens, at)).collect(),
    };
    let spans: Vec<(String, Range<usize>)> =
        found.iter().map(|i| (root(&i.local).to_owned(), i.span.clone())).collect();
    found.retain(|import| {
        let name = root(&import.local);
        // `import a.b` and `import a.c` both bind `a`; any other name must be bound once.
        let others = spans.iter().filter(|(other, _)| other == name).count();
        let single = others == 1 || import.local.contains('.');
        single && syntax.function_at(import.span.start).is_none() && !rebound(syntax, import)
    });
    found
}

fn root(local: &str) -> &str {
    local.split('.').next().unwrap_or(local)
}

fn starts_line(syntax: &Syntax<'_>, at: usize) -> bool {
    at == 0 || syntax.tokens[at - 1].line < syntax.tokens[at].line
}

/// Whether the file has a wildcard import.
fn has_wildcard(syntax: &Syntax<'_>) -> bool {
    syntax.tokens.windows(2).any(|w| w[0].text == "import" && w[1].text.starts_with('*'))
}

/// Reads `a.b.c` at `at`: its names, and the index behind it.
fn dotted(tokens: &[Token<'_>], mut at: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    while let Some(token) = tokens.get(at).filter(|t| t.name) {
        names.push(token.text.to_owned());
        at += 1;
        match tokens.get(at) {
            Some(dot) if dot.text == "." => at += 1,
            _ => break,
        }
    }
    (names, at)
}

/// Reads `as name` at `at`: the name, and the index behind it.
fn renamed<'t>(tokens: &[Token<'t>], at: usize) -> (Option<&'t str>, usize) {
    match tokens.get(at..at + 2) {
        Some([word, name]) if word.text == "as" => (Some(name.text), at + 2),
        _ => (None, at),
    }
}

fn python_at(tokens: &[Token<'_>], start: usize) -> Option<Vec<Import>> {
    match tokens[start].text {
        "import" => Some(python_modules(tokens, start)),
        "from" => python_members(tokens, start),
        _ => None,
    }
}

/// `import a.b as c, d`.
fn python_modules(tokens: &[Token<'_>], start: usize) -> Vec<Import> {
    let mut found = Vec::new();
    let mut at = start + 1;
    loop {
        let (names, end) = dotted(tokens, at);
        if names.is_empty() {
            break;
        }
        let (alias, end) = renamed(tokens, end);
        let local = alias.map_or_else(|| names.join("."), str::to_owned);
        let binding = Binding::Module(Module::Python(0, names));
        found.push(Import { local, binding, span: start..end });
        match tokens.get(end) {
            Some(comma) if comma.text == "," => at = end + 1,
            _ => break,
        }
    }
    found
}

/// `from ..a.b import (c as d, e)`.
fn python_members(tokens: &[Token<'_>], start: usize) -> Option<Vec<Import>> {
    let mut at = start + 1;
    let mut dots = 0;
    while let Some(token) = tokens.get(at).filter(|t| t.text.bytes().all(|b| b == b'.')) {
        dots += token.text.len();
        at += 1;
    }
    let (module, end) = dotted(tokens, at);
    tokens.get(end).filter(|t| t.text == "import")?;
    at = end + 1;
    if tokens.get(at).is_some_and(|t| t.text == "(") {
        at += 1;
    }
    let mut found = Vec::new();
    while let Some(token) = tokens.get(at).filter(|t| t.name) {
        let (alias, end) = renamed(tokens, at + 1);
        let binding = Binding::Member(Module::Python(dots, module.clone()), token.text.to_owned());
        let local = alias.unwrap_or(token.text).to_owned();
        found.push(Import { local, binding, span: start..end });
        match tokens.get(end) {
            Some(comma) if comma.text == "," => at = end + 1,
            _ => break,
        }
    }
    Some(found)
}

/// Reads a quoted relative path at `at`.
fn path_at(tokens: &[Token<'_>], at: usize) -> Option<String> {
    match tokens.get(at..at + 3)? {
        [open, path, close]
            if open.text == "\"" && close.text == "\"" && path.text.starts_with('.') =>
        {
            Some(path.text.to_owned())
        }
        _ => None,
    }
}

/// The imports of `… from "./a"` or `const … = require("./a")`; `at` is `from` or `require`.
fn script_at(tokens: &[Token<'_>], at: usize) -> Vec<Import> {
    let found = match tokens[at].text {
        "from" => script_import(tokens, at),
        "require" => script_require(tokens, at),
        _ => None,
    };
    found.unwrap_or_default()
}

fn script_import(tokens: &[Token<'_>], from: usize) -> Option<Vec<Import>> {
    let module = Module::Script(path_at(tokens, from + 1)?);
    let start = tokens[..from].iter().rposition(|t| matches!(t.text, "import" | "export"))?;
    let span = start..from;
    if tokens[start].text == "export" {
        return None;
    }
    let mut found = Vec::new();
    let mut add = |local: &str, binding| {
        found.push(Import { local: local.to_owned(), binding, span: span.clone() });
    };
    let mut clause = &tokens[start + 1..from];
    if let [name, rest @ ..] = clause
        && name.name
    {
        add(name.text, Binding::Default(module.clone()));
        clause = rest.split_first().filter(|(c, _)| c.text == ",").map_or(rest, |(_, more)| more);
    }
    match clause {
        [star, word, name] if star.text == "*" && word.text == "as" => {
            add(name.text, Binding::Module(module));
        }
        [open, inner @ .., close] if open.text == "{" && close.text == "}" => {
            members(inner, "as", &module, &mut add);
        }
        _ => {}
    }
    Some(found)
}

fn script_require(tokens: &[Token<'_>], require: usize) -> Option<Vec<Import>> {
    let module = Module::Script(path_at(tokens, require + 2)?);
    let opened = tokens.get(require + 1).is_some_and(|t| t.text == "(");
    let after = tokens.get(require + 6).map_or("", |t| t.text);
    let ends = tokens.get(require + 5).is_some_and(|t| t.text == ")");
    let equals = require.checked_sub(1).filter(|at| tokens[*at].text == "=")?;
    if !opened || !ends || matches!(after, "." | "(" | "[" | "?.") {
        return None;
    }
    let start = tokens[..equals].iter().rposition(|t| t.text == "const")?;
    let mut found = Vec::new();
    let mut add = |local: &str, binding| {
        found.push(Import { local: local.to_owned(), binding, span: start..require });
    };
    match &tokens[start + 1..equals] {
        [name] => add(name.text, Binding::Required(module)),
        [open, inner @ .., close] if open.text == "{" && close.text == "}" => {
            members(inner, ":", &module, &mut add);
        }
        _ => return None,
    }
    Some(found)
}

/// `a, b as c` or `a, b: c`.
fn members(
    inner: &[Token<'_>],
    renames: &str,
    module: &Module,
    add: &mut impl FnMut(&str, Binding),
) {
    for part in inner.split(|t| t.text == ",") {
        match part {
            [name] => add(name.text, Binding::Member(module.clone(), name.text.to_owned())),
            [name, word, local] if word.text == renames => {
                add(local.text, Binding::Member(module.clone(), name.text.to_owned()));
            }
            _ => {}
        }
    }
}

/// Whether anything but its import binds the name.
fn rebound(syntax: &Syntax<'_>, import: &Import) -> bool {
    let name = root(&import.local);
    let outside = |at: &usize| !import.span.contains(at) && syntax.tokens[*at].text == name;
    let parameter = |at: usize| {
        let takes = |f: &Function| f.parameters.contains(&at);
        syntax.functions.iter().any(takes)
    };
    let mut places = (0..syntax.tokens.len()).filter(outside);
    places.any(|at| parameter(at) || binds(syntax, at))
        || nameless_parameter(&syntax.tokens, name)
        || destructured(syntax, import, name)
        || replaced(&syntax.tokens, &import.local)
}

/// Whether the token at `at` is a declaration or assignment of its name.
fn binds(syntax: &Syntax<'_>, at: usize) -> bool {
    let text = |at: Option<usize>| at.and_then(|a| syntax.tokens.get(a)).map_or("", |t| t.text);
    let (before, after) = (text(at.checked_sub(1)), text(Some(at + 1)));
    if matches!(before, "." | "?." | "->") {
        return false;
    }
    let declares = [
        "def", "class", "for", "as", "del", "global", "nonlocal", "import", "lambda", "function",
        "let", "const", "var",
    ];
    declares.contains(&before)
        || matches!(after, "=" | ":=" | "+=" | "=>" | "in" | "of")
        || starts_line(syntax, at) && matches!(after, "," | ":")
}

/// Whether an anonymous function has a parameter of this name.
fn nameless_parameter(tokens: &[Token<'_>], name: &str) -> bool {
    let named = |range: Range<usize>| tokens[range].iter().any(|t| t.text == name);
    tokens.iter().enumerate().any(|(at, token)| match token.text {
        "lambda" => {
            let end = tokens[at..].iter().position(|t| t.text == ":").map_or(at, |e| at + e);
            named(at..end)
        }
        "=>" if at > 0 && tokens[at - 1].text == ")" => named(opening(tokens, at - 1)..at),
        "function" | "catch" if tokens.get(at + 1).is_some_and(|t| t.text == "(") => {
            let end = tokens[at..].iter().position(|t| t.text == ")").map_or(at, |e| at + e);
            named(at..end)
        }
        _ => false,
    })
}

/// The index of the bracket that the one at `close` closes.
fn opening(tokens: &[Token<'_>], close: usize) -> usize {
    let mut depth = 0_usize;
    for at in (0..=close).rev() {
        match tokens[at].text {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    close
}

/// Whether a destructuring assignment binds the name.
fn destructured(syntax: &Syntax<'_>, import: &Import, name: &str) -> bool {
    let tokens = &syntax.tokens;
    (1..tokens.len()).any(|at| {
        let closes = matches!(tokens[at - 1].text, "}" | "]" | ")");
        let assigns = tokens[at].text == "=" && closes && !import.span.contains(&at);
        assigns && tokens[opening(tokens, at - 1)..at].iter().any(|t| t.text == name)
    })
}

/// Whether a member of the module may be replaced: assigned, patched or mocked.
fn replaced(tokens: &[Token<'_>], local: &str) -> bool {
    let last = local.rsplit('.').next().unwrap_or(local);
    tokens.windows(4).any(|w| {
        w[0].text == last && w[1].text == "." && w[2].name && w[3].text == "="
            || matches!(w[0].text, "setattr" | "spyOn" | "patch" | "jest" | "vi" | "sinon")
    })
}
