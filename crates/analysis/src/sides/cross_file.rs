//! `caller-left-behind` across files: a call in another file of the change still passes the old
//! arguments.
//!
//! Two passes: each file yields the signatures it changed, without its text; then the files that
//! name one of them are read for calls. Only where an import, or a full name, makes the target
//! certain.

use std::collections::{HashMap, HashSet};

use ast_grep_language::SupportLang as S;

use super::{
    callers::{INFO, class_of, confidence, message, signatures},
    compared::{Compared, FunctionPair, Head},
    imports::{self, Binding, Import},
    modules::{Module, resolve},
    php,
    signature::{Passed, Signature, is_broken},
    syntax::{Call, Syntax, names},
};
use crate::{Confidence, Finding, Lang, LineSet, MaskedText};

/// A changed signature of a function or class that other files can call.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedSignature {
    language: Lang,
    path: String,
    /// The name in calls.
    name: String,
    /// The fully qualified name, in PHP.
    full: String,
    /// Whether it is the default export.
    default: bool,
    /// Whether it is exported under its own name.
    named: bool,
    before: Signature,
    now: Signature,
    /// The body of a finding about it.
    body: String,
    confidence: Option<Confidence>,
}

/// A call that no longer fits, unless one of the paths `rivals` exists: then it may refer to that.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// The finding; its fingerprint is not yet set.
    pub finding: Finding,
    /// Paths from the repository's root.
    pub rivals: Vec<String>,
}

/// The signatures that one file changed.
pub(super) fn changed_signatures(compared: &Compared<'_>) -> Vec<ChangedSignature> {
    if compared.language == Lang::Known(S::Ruby) {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().filter_map(|function| changed_signature(compared, *function)).collect()
}

fn changed_signature(
    compared: &Compared<'_>,
    function: FunctionPair<'_>,
) -> Option<ChangedSignature> {
    let (before, now) = signatures(compared, function)?;
    if before.widens_to(&now) {
        return None;
    }
    let head = &compared.head;
    let mut changed = ChangedSignature {
        language: compared.language,
        path: compared.pair.path.to_owned(),
        name: function.head.name().to_owned(),
        full: String::new(),
        default: false,
        named: true,
        before,
        now,
        body: String::new(),
        confidence: confidence(compared.language),
    };
    match compared.language {
        Lang::Known(S::Python) => changed.name = python_name(head, function)?.to_owned(),
        Lang::Known(S::Php) => changed.full = php::full_name(head, function.head)?,
        _ => exported(head, function, &mut changed)?,
    }
    let place = format!(" in `{}`", compared.pair.path);
    changed.body = message(compared, function, &changed.name, &place);
    Some(changed)
}

/// The name that a Python module exports, if nothing else in it binds that name.
fn python_name<'f>(head: &Syntax<'_>, function: FunctionPair<'f>) -> Option<&'f str> {
    let name = match function.head.path.as_slice() {
        [name] => name,
        [_, init] if init == "__init__" => class_of(head, function.head)?,
        _ => return None,
    };
    (!rebinds(head, name, 0)).then_some(name)
}

/// Sets how other files refer to a JavaScript function.
fn exported(
    head: &Syntax<'_>,
    function: FunctionPair<'_>,
    changed: &mut ChangedSignature,
) -> Option<()> {
    let [path] = function.head.path.as_slice() else { return None };
    let assigned = ["module.exports.", "exports."].iter().find_map(|p| path.strip_prefix(p));
    let name = assigned.unwrap_or(path);
    let start = function.head.all.start;
    let texts = |at: usize| head.tokens.get(at).map_or("", |t| t.text);
    // The assignment that defines it.
    let own = usize::from(start > 1 && texts(start - 1) == "=" && texts(start - 2) == name);
    let pair = head.tokens.windows(2).any(|w| w[0].text == name && w[1].text == ":");
    if rebinds(head, name, own) {
        return None;
    }
    let reads = |words: &[&str]| {
        head.tokens.windows(words.len()).any(|w| w.iter().zip(words).all(|(t, w)| t.text == *w))
    };
    changed.name = name.to_owned();
    changed.named = !pair;
    changed.default = reads(&["export", "default", name])
        || reads(&["export", "default", "function", name])
        || reads(&["export", "default", "async", "function", name])
        || path == "module.exports"
        || reads(&["module", ".", "exports", "=", name]) && !reads(&["exports", "=", name, "("]);
    Some(())
}

/// Whether the name is bound again at the top level; `own` assignments define it.
fn rebinds(head: &Syntax<'_>, name: &str, own: usize) -> bool {
    let top = |at: usize| head.function_at(at).is_none();
    let tokens = head.tokens.windows(2).enumerate();
    let (mut assigned, mut other) = (0, false);
    for (at, w) in tokens {
        assigned += usize::from(w[0].text == name && matches!(w[1].text, "=" | ":=") && top(at));
        let declares = matches!(w[0].text, "as" | "del" | "global");
        other |= w[1].text == name && (declares || w[0].text == "import" && top(at));
    }
    other || assigned > own
}

/// All signatures that a change modifies.
#[derive(Debug)]
pub struct Callees(Vec<ChangedSignature>);

impl Callees {
    /// Those of all files; `None` when there are none.
    pub fn of<'c>(changed: impl Iterator<Item = &'c ChangedSignature>) -> Option<Self> {
        let mut single: Vec<ChangedSignature> = changed.cloned().collect();
        // Two with the same full name: the target is not certain.
        let mut named: HashMap<String, usize> = HashMap::new();
        for full in single.iter().map(|c| &c.full).filter(|f| !f.is_empty()) {
            *named.entry(full.clone()).or_default() += 1;
        }
        single.retain(|c| named.get(&c.full).is_none_or(|count| *count == 1));
        (!single.is_empty()).then_some(Self(single))
    }

    /// Whether the file at `path` could call one of them, as far as its path says.
    pub fn may_be_called_in(&self, path: &str) -> bool {
        let language = Lang::of(path, "");
        self.0.iter().any(|c| Some(c.language) == language && c.path != path)
    }

    /// The calls in one file, secrets masked, that still pass the old arguments.
    pub fn check(&self, path: &str, head: &MaskedText, added: &LineSet) -> Vec<Suspect> {
        let Some(language) = Lang::of(path, head) else { return Vec::new() };
        let words: HashSet<&str> = names(head).collect();
        let named =
            |c: &&ChangedSignature| c.language == language && c.path != path && c.is_named(&words);
        let near: Vec<&ChangedSignature> = self.0.iter().filter(named).collect();
        if near.is_empty() {
            return Vec::new();
        }
        let Some(syntax) = Syntax::parse(language, head) else { return Vec::new() };
        let caller = Caller { path, added, names: Names::of(&syntax), syntax };
        caller.syntax.calls.iter().filter_map(|call| caller.suspect(&near, call)).collect()
    }
}

impl ChangedSignature {
    /// Whether a file with these words may call it.
    fn is_named(&self, words: &HashSet<&str>) -> bool {
        if !self.full.is_empty() {
            return self.full.split(['\\', ':']).next_back().is_some_and(|n| words.contains(n));
        }
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        let stem = file.split('.').next().unwrap_or(file);
        // An import need not name such a file.
        let named = matches!(stem, "__init__" | "index") || names(stem).all(|w| words.contains(w));
        named && (self.default || words.contains(self.name.as_str()))
    }
}

/// What the names of a file refer to.
enum Names {
    Imported(Vec<Import>),
    Full(php::Names),
}

impl Names {
    fn of(syntax: &Syntax<'_>) -> Self {
        match syntax.language {
            Lang::Known(S::Php) => Self::Full(php::Names::of(syntax)),
            _ => Self::Imported(imports::of(syntax)),
        }
    }
}

/// A file that may call a changed function.
struct Caller<'a> {
    path: &'a str,
    added: &'a LineSet,
    syntax: Syntax<'a>,
    names: Names,
}

impl Caller<'_> {
    fn suspect(&self, near: &[&ChangedSignature], call: &Call) -> Option<Suspect> {
        let callee: Vec<&str> = self.syntax.of(&call.callee).iter().map(|t| t.text).collect();
        let refers = |c: &&&ChangedSignature| self.refers_to(call, &callee, c);
        let (changed, rivals) = near.iter().find_map(|c| Some((*c, refers(&c)?)))?;
        let passed = Passed::of(self.syntax.of(&call.arguments))?;
        let edited = self.syntax.is_touched(&call.all, self.added);
        if !is_broken(changed.language, &changed.before, &changed.now, (&passed, edited)) {
            return None;
        }
        let line = self.syntax.line_span(&call.callee).1;
        let head = Head { path: self.path, lines: &self.syntax.lines, added: self.added };
        let finding = head.finding(&INFO, line, &changed.body, changed.confidence);
        Some(Suspect { finding, rivals })
    }

    /// Whether the call refers to it: the paths that must not exist for that to be certain.
    fn refers_to(
        &self,
        call: &Call,
        callee: &[&str],
        changed: &ChangedSignature,
    ) -> Option<Vec<String>> {
        let imports = match &self.names {
            Names::Full(names) => {
                let full = names.full_name(&self.syntax, callee);
                return full.filter(|f| *f == changed.full).map(|_| Vec::new());
            }
            Names::Imported(imports) => imports,
        };
        let (last, before) = callee.split_last()?;
        let of = call.all.start.checked_sub(1).and_then(|b| self.syntax.tokens.get(b));
        if of.is_some_and(|t| matches!(t.text, "." | "?." | "new")) {
            return None;
        }
        let resolves = |module: &Module| resolve(module, self.path, &changed.path);
        if before.is_empty() {
            let import = imports.iter().find(|i| i.local == *last)?;
            return match &import.binding {
                Binding::Member(module, name) if *name == changed.name && changed.named => {
                    resolves(module)
                }
                Binding::Default(module) | Binding::Required(module) if changed.default => {
                    resolves(module)
                }
                _ => None,
            };
        }
        let (dot, holder) = before.split_last()?;
        let local = holder.concat();
        let import = imports.iter().find(|i| i.local == local && *dot == ".")?;
        if *last != changed.name || !changed.named {
            return None;
        }
        match &import.binding {
            Binding::Module(module) | Binding::Required(module) => resolves(module),
            Binding::Member(Module::Python(dots, names), name) => {
                let inner = names.iter().chain([name]).cloned().collect();
                resolves(&Module::Python(*dots, inner))
            }
            _ => None,
        }
    }
}
