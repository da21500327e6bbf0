//! What the imported names of a file stand for, and which file a module is.
//!
//! Read from tokens. A name counts only while nothing else in the file gives it a meaning; what
//! comes by a wildcard, an alias of a bundler or a path put together is not known.

use std::ops::Range;

use ast_grep_language::SupportLang as S;

use super::syntax::{Syntax, Token};
use crate::Lang;

/// A module as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Module {
    /// Python's: how many dots stand before it, and its names.
    Python(usize, Vec<String>),
    /// A path of JavaScript's that begins with a dot.
    Script(String),
}

/// What an imported name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Means {
    /// A module.
    Module(Module),
    /// What a module calls so, which may be a module of Python's, too.
    Member(Module, String),
    /// What a module exports without a name.
    Default(Module),
    /// A module and what it exports without a name, in one.
    Required(Module),
}

/// One imported name.
#[derive(Debug, Clone)]
pub(super) struct Import {
    /// As the file calls it, with dots where it is reached by them.
    pub(super) local: String,
    pub(super) means: Means,
    /// Where it is imported.
    pub(super) span: Range<usize>,
}

/// The names that a file imports and that mean nothing else in it.
pub(super) fn of(syntax: &Syntax<'_>) -> Vec<Import> {
    let python = syntax.language == Lang::Known(S::Python);
    let starts = (0..syntax.tokens.len()).filter(|at| is_first(syntax, *at));
    let mut found: Vec<Import> = match python {
        true if takes_all(syntax) => Vec::new(),
        true => starts.flat_map(|at| python_at(&syntax.tokens, at).unwrap_or_default()).collect(),
        false => (0..syntax.tokens.len()).flat_map(|at| script_at(&syntax.tokens, at)).collect(),
    };
    let spans: Vec<(String, Range<usize>)> =
        found.iter().map(|i| (root(&i.local).to_owned(), i.span.clone())).collect();
    found.retain(|import| {
        let name = root(&import.local);
        // `import a.b` and `import a.c` both mean `a`; of anything else there is one meaning.
        let others = spans.iter().filter(|(other, _)| other == name).count();
        let single = others == 1 || import.local.contains('.');
        single && syntax.function_at(import.span.start).is_none() && !rebound(syntax, import)
    });
    found
}

fn root(local: &str) -> &str {
    local.split('.').next().unwrap_or(local)
}

fn is_first(syntax: &Syntax<'_>, at: usize) -> bool {
    at == 0 || syntax.tokens[at - 1].line < syntax.tokens[at].line
}

/// Whether any module gives all its names to this file.
fn takes_all(syntax: &Syntax<'_>) -> bool {
    syntax.tokens.windows(2).any(|w| w[0].text == "import" && w[1].text.starts_with('*'))
}

/// `a.b.c` from `at` on: its names, and where it ends.
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

/// `as name`: the name, and where it ends.
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
        let means = Means::Module(Module::Python(0, names));
        found.push(Import { local, means, span: start..end });
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
        let means = Means::Member(Module::Python(dots, module.clone()), token.text.to_owned());
        let local = alias.unwrap_or(token.text).to_owned();
        found.push(Import { local, means, span: start..end });
        match tokens.get(end) {
            Some(comma) if comma.text == "," => at = end + 1,
            _ => break,
        }
    }
    Some(found)
}

/// The path between quotes that begins with a dot, where one stands.
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

/// What `… from "./a"` or `const … = require("./a")` brings, seen from `from` or `require`.
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
    let mut add = |local: &str, means| {
        found.push(Import { local: local.to_owned(), means, span: span.clone() });
    };
    let mut clause = &tokens[start + 1..from];
    if let [name, rest @ ..] = clause
        && name.name
    {
        add(name.text, Means::Default(module.clone()));
        clause = rest.split_first().filter(|(c, _)| c.text == ",").map_or(rest, |(_, more)| more);
    }
    match clause {
        [star, word, name] if star.text == "*" && word.text == "as" => {
            add(name.text, Means::Module(module));
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
    let mut add = |local: &str, means| {
        found.push(Import { local: local.to_owned(), means, span: start..require });
    };
    match &tokens[start + 1..equals] {
        [name] => add(name.text, Means::Required(module)),
        [open, inner @ .., close] if open.text == "{" && close.text == "}" => {
            members(inner, ":", &module, &mut add);
        }
        _ => return None,
    }
    Some(found)
}

/// `a, b as c` or `a, b: c`.
fn members(inner: &[Token<'_>], renames: &str, module: &Module, add: &mut impl FnMut(&str, Means)) {
    for part in inner.split(|t| t.text == ",") {
        match part {
            [name] => add(name.text, Means::Member(module.clone(), name.text.to_owned())),
            [name, word, local] if word.text == renames => {
                add(local.text, Means::Member(module.clone(), name.text.to_owned()));
            }
            _ => {}
        }
    }
}

/// Whether anything but its import gives the name a meaning.
fn rebound(syntax: &Syntax<'_>, import: &Import) -> bool {
    let name = root(&import.local);
    let outside = |at: &usize| !import.span.contains(at) && syntax.tokens[*at].text == name;
    let parameter = |at: usize| {
        let takes = |f: &super::syntax::Function| f.parameters.contains(&at);
        syntax.functions.iter().any(takes)
    };
    let mut places = (0..syntax.tokens.len()).filter(outside);
    places.any(|at| parameter(at) || means_anew(syntax, at))
        || nameless_parameter(&syntax.tokens, name)
        || taken_apart(syntax, import, name)
        || replaced(&syntax.tokens, &import.local)
}

/// Whether the token gives its name a meaning.
fn means_anew(syntax: &Syntax<'_>, at: usize) -> bool {
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
        || is_first(syntax, at) && matches!(after, "," | ":")
}

/// Whether a function without a name takes a parameter of this name.
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

/// The bracket that the one at `close` closes.
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

/// Whether the name is one of several that a value is taken apart into.
fn taken_apart(syntax: &Syntax<'_>, import: &Import, name: &str) -> bool {
    let tokens = &syntax.tokens;
    (1..tokens.len()).any(|at| {
        let closes = matches!(tokens[at - 1].text, "}" | "]" | ")");
        let assigns = tokens[at].text == "=" && closes && !import.span.contains(&at);
        assigns && tokens[opening(tokens, at - 1)..at].iter().any(|t| t.text == name)
    })
}

/// Whether something else is put in the place of what the module holds.
fn replaced(tokens: &[Token<'_>], local: &str) -> bool {
    let last = local.rsplit('.').next().unwrap_or(local);
    tokens.windows(4).any(|w| {
        w[0].text == last && w[1].text == "." && w[2].name && w[3].text == "="
            || matches!(w[0].text, "setattr" | "spyOn" | "patch" | "jest" | "vi" | "sinon")
    })
}

/// Whether `module`, named in the file `from`, is the file `target`: the paths that must not be
/// there for it to be certain.
pub(super) fn stands_for(module: &Module, from: &str, target: &str) -> Option<Vec<String>> {
    let mut folder: Vec<&str> = from.split('/').collect();
    folder.pop();
    match module {
        Module::Python(0, names) => absolute(names, &folder, target),
        Module::Python(dots, names) => {
            let up = folder.len().checked_sub(dots - 1)?;
            let mut parts = folder[..up].to_vec();
            parts.extend(names.iter().map(String::as_str));
            (python_module(target)? == parts).then(|| package(target))
        }
        Module::Script(path) => script(path, folder, target),
    }
}

/// The names of the module that a file of Python's is, from the root on.
fn python_module(path: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = path.strip_suffix(".py")?.split('/').collect();
    parts.pop_if(|last| *last == "__init__");
    Some(parts)
}

/// A folder of the module's name comes before it.
fn package(path: &str) -> Vec<String> {
    let single = path.strip_suffix(".py").filter(|_| !path.ends_with("__init__.py"));
    single.map(|stem| format!("{stem}/__init__.py")).into_iter().collect()
}

/// Folders that are on the path of what stands beside them.
const ROOTS: &[&str] = &["src", "lib", "python"];

fn absolute(names: &[String], folder: &[&str], target: &str) -> Option<Vec<String>> {
    let parts = python_module(target)?;
    let at = parts.len().checked_sub(names.len()).filter(|_| !names.is_empty())?;
    let (before, own) = parts.split_at(at);
    let near = match before {
        [outer @ .., last] if ROOTS.contains(last) => folder.starts_with(outer),
        _ => folder.starts_with(before),
    };
    if own != names || !near {
        return None;
    }
    let mut rivals = package(target);
    let named = |folder: &[&str], end: &str| {
        let own = names.iter().map(String::as_str);
        format!("{}{end}", folder.iter().copied().chain(own).collect::<Vec<_>>().join("/"))
    };
    for up in (0..=folder.len()).filter(|up| folder[..*up] != *before) {
        rivals.push(named(&folder[..up], ".py"));
        rivals.push(named(&folder[..up], "/__init__.py"));
    }
    // In a package the module would have a longer name.
    if !before.is_empty() {
        rivals.push(format!("{}/__init__.py", before.join("/")));
    }
    Some(rivals)
}

fn script<'p>(path: &'p str, mut folder: Vec<&'p str>, target: &str) -> Option<Vec<String>> {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                folder.pop()?;
            }
            part => folder.push(part),
        }
    }
    let whole = folder.join("/");
    let ends = [".js", ".jsx", ".mjs", ".cjs"];
    if target == whole || ends.iter().any(|end| target.strip_suffix(end) == Some(&whole)) {
        return Some(Vec::new());
    }
    let index = ends.iter().any(|end| target.strip_suffix(end) == Some(&format!("{whole}/index")));
    let files = ends.iter().chain(&[".ts", ".tsx"]);
    index.then(|| files.map(|end| format!("{whole}{end}")).collect())
}
