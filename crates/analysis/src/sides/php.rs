//! Full names of PHP's functions and static methods.

use std::collections::HashMap;

use super::syntax::{Function, Syntax, Token};

/// The tokens of a line that begins with `word`, without it.
fn statements<'s, 't>(
    syntax: &'s Syntax<'t>,
    word: &'static str,
) -> impl Iterator<Item = &'s [Token<'t>]> {
    let lines = syntax.tokens.chunk_by(|a, b| a.line == b.line);
    lines.filter_map(move |line| line.split_first().filter(|(f, _)| f.text == word).map(|(_, r)| r))
}

fn joined(tokens: &[Token<'_>]) -> String {
    let text: String = tokens.iter().map(|t| t.text).collect();
    text.trim_matches('\\').to_owned()
}

/// The one namespace of a file, empty without one; `None` when there are several or it has a body.
fn namespace(syntax: &Syntax<'_>) -> Option<String> {
    let mut all = statements(syntax, "namespace");
    let first = all.next().map(joined).unwrap_or_default();
    (all.next().is_none() && !first.contains('{')).then_some(first)
}

fn within(space: &str, name: &str) -> String {
    if space.is_empty() { name.to_owned() } else { format!("{space}\\{name}") }
}

/// The full name of a function or a static method of a class; `None` for any other, and for what
/// may be defined somewhere else, too.
pub(super) fn full_name(head: &Syntax<'_>, function: &Function) -> Option<String> {
    let space = namespace(head)?;
    let asks = |t: &Token<'_>| t.text == "function_exists";
    if head.tokens.iter().any(asks) {
        return None;
    }
    let before = head.of(&(function.all.start..function.parameters.start));
    match function.path.as_slice() {
        [name] if !function.method => Some(within(&space, name)),
        [class, name] if before.iter().any(|t| t.text == "static") => {
            Some(format!("{}::{name}", within(&space, class)))
        }
        _ => None,
    }
}

/// What the names of a file stand for.
pub(super) struct Names {
    space: String,
    classes: HashMap<String, String>,
    functions: HashMap<String, String>,
    /// Whether every name is understood.
    known: bool,
}

impl Names {
    pub(super) fn of(syntax: &Syntax<'_>) -> Self {
        let space = namespace(syntax);
        let mut names = Self {
            known: space.is_some(),
            space: space.unwrap_or_default(),
            classes: HashMap::new(),
            functions: HashMap::new(),
        };
        for used in statements(syntax, "use") {
            names.add(used);
        }
        names
    }

    fn add(&mut self, used: &[Token<'_>]) {
        let (list, path) = match used {
            [word, rest @ ..] if word.text == "function" => (&mut self.functions, rest),
            [word, ..] if word.text == "const" => return,
            path => (&mut self.classes, path),
        };
        if path.iter().any(|t| matches!(t.text, "{" | ",")) {
            self.known = false;
            return;
        }
        let (path, local) = match path {
            [path @ .., word, alias] if word.text == "as" => (path, alias.text),
            [.., last] => (path, last.text),
            [] => return,
        };
        // A grammar may hold the whole name as one.
        let local = local.rsplit('\\').next().unwrap_or(local);
        list.insert(local.to_owned(), joined(path));
    }

    /// What a callee may be in full.
    pub(super) fn full_name(&self, syntax: &Syntax<'_>, callee: &[&str]) -> Option<String> {
        if !self.known {
            return None;
        }
        match callee {
            [class, "::", name] => {
                let own = matches!(*class, "self" | "static" | "parent") || class.starts_with('$');
                if own {
                    return None;
                }
                let full = self.classes.get(*class).cloned();
                Some(format!("{}::{name}", full.unwrap_or_else(|| within(&self.space, class))))
            }
            [name] if !name.contains('\\') => {
                let own = syntax.functions.iter().any(|f| f.path.len() == 1 && f.name() == *name);
                let used = self.functions.get(*name).cloned();
                (!own).then(|| used.unwrap_or_else(|| within(&self.space, name)))
            }
            _ => None,
        }
    }
}
