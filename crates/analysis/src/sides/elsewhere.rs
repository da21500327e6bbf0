//! A signature that changed, and a call in another file of the change that still passes the old
//! arguments.
//!
//! The files are looked at one after the other: each says which signatures it changed, small and
//! without its text; then those that name one of them are read for calls. Only where an import, or
//! a full name, makes certain what is called.

use std::collections::{HashMap, HashSet};

use ast_grep_language::SupportLang as S;

use super::{
    Looked,
    about::CALLER,
    callers::{made_by, reads, signatures, sure, takes},
    compared::{Both, Compared, Place, Said, finding_at},
    imports::{self, Import, Means, Module},
    php,
    signature::{Passed, Signature, is_broken},
    syntax::{Call, Syntax},
    words,
};
use crate::{Confidence, Finding, Lang, LineSet, Side};

/// A function or class that other files can call, and whose parameters changed so that a call may
/// no longer fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    language: Lang,
    path: String,
    /// What others call.
    name: String,
    /// Its name from the root on, where the language has one.
    full: String,
    /// Whether it is what the file exports without a name.
    default: bool,
    /// Whether the file exports it under its own name.
    named: bool,
    before: Signature,
    now: Signature,
    /// What it takes, in words.
    body: String,
    confidence: Option<Confidence>,
}

/// A call that no longer fits, unless one of the paths `rivals` is there: then it may mean that.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// What would be said; its fingerprint is not yet set.
    pub finding: Finding,
    /// Paths from the repository's root.
    pub rivals: Vec<String>,
}

/// The signatures that one file changed.
pub(super) fn changed(compared: &Compared<'_>) -> Vec<Changed> {
    if !reads(compared.language) || compared.language == Lang::Known(S::Ruby) {
        return Vec::new();
    }
    let functions = compared.functions();
    functions.iter().filter_map(|both| one(compared, *both)).collect()
}

fn one(compared: &Compared<'_>, both: Both<'_>) -> Option<Changed> {
    let (before, now) = signatures(compared, both)?;
    if before.widens_to(&now) {
        return None;
    }
    let head = &compared.head;
    let mut changed = Changed {
        language: compared.language,
        path: compared.pair.path.to_owned(),
        name: both.head.name().to_owned(),
        full: String::new(),
        default: false,
        named: true,
        before,
        now,
        body: String::new(),
        confidence: sure(compared.language),
    };
    match compared.language {
        Lang::Known(S::Python) => changed.name = python_name(head, both)?.to_owned(),
        Lang::Known(S::Php) => changed.full = php::full_name(head, both.head)?,
        _ => exported(head, both, &mut changed)?,
    }
    let place = format!(" in `{}`", compared.pair.path);
    changed.body = takes(compared, both, &changed.name, &place);
    Some(changed)
}

/// The name that a module of Python's gives to others, when nothing else has it.
fn python_name<'f>(head: &Syntax<'_>, both: Both<'f>) -> Option<&'f str> {
    let name = match both.head.path.as_slice() {
        [name] => name,
        [_, init] if init == "__init__" => made_by(head, both.head)?,
        _ => return None,
    };
    (!rebinds(head, name, 0)).then_some(name)
}

/// How others reach a function of JavaScript's.
fn exported(head: &Syntax<'_>, both: Both<'_>, changed: &mut Changed) -> Option<()> {
    let [path] = both.head.path.as_slice() else { return None };
    let assigned = ["module.exports.", "exports."].iter().find_map(|p| path.strip_prefix(p));
    let name = assigned.unwrap_or(path);
    let start = both.head.all.start;
    let texts = |at: usize| head.tokens.get(at).map_or("", |t| t.text);
    // The one place where it is assigned.
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

/// Whether the name gets another meaning at the top of the file; `own` assignments are its own.
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

/// All signatures that a change changed.
#[derive(Debug)]
pub struct Callees(Vec<Changed>);

impl Callees {
    /// Those of all files; `None` when there are none.
    pub fn of<'l>(looked: impl Iterator<Item = &'l Looked>) -> Option<Self> {
        let mut single: Vec<Changed> = looked.flat_map(|l| l.changed.clone()).collect();
        // Of two of one full name it is not certain which is meant.
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

    /// The calls in one file, secrets masked, that pass what one of them took before.
    pub fn look(&self, path: &str, head: &str, added: &LineSet) -> Vec<Suspect> {
        let Some(language) = Lang::of(path, head) else { return Vec::new() };
        let words: HashSet<&str> = words::names(head).collect();
        let named = |c: &&Changed| c.language == language && c.path != path && c.is_named(&words);
        let near: Vec<&Changed> = self.0.iter().filter(named).collect();
        if near.is_empty() {
            return Vec::new();
        }
        let Some(syntax) = Syntax::parse(language, head) else { return Vec::new() };
        let caller = Caller { path, added, names: Names::of(&syntax), syntax };
        caller.syntax.calls.iter().filter_map(|call| caller.suspect(&near, call)).collect()
    }
}

impl Changed {
    /// Whether a file with these words may call it.
    fn is_named(&self, words: &HashSet<&str>) -> bool {
        if !self.full.is_empty() {
            return self.full.split(['\\', ':']).next_back().is_some_and(|n| words.contains(n));
        }
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        let stem = file.split('.').next().unwrap_or(file);
        // The name of such a file need not be told.
        let told =
            matches!(stem, "__init__" | "index") || words::names(stem).all(|w| words.contains(w));
        told && (self.default || words.contains(self.name.as_str()))
    }
}

/// What the names of a file stand for.
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

/// A file that may call what changed.
struct Caller<'a> {
    path: &'a str,
    added: &'a LineSet,
    syntax: Syntax<'a>,
    names: Names,
}

impl Caller<'_> {
    fn suspect(&self, near: &[&Changed], call: &Call) -> Option<Suspect> {
        let callee: Vec<&str> = self.syntax.of(&call.callee).iter().map(|t| t.text).collect();
        let means = |c: &&&Changed| self.means(call, &callee, c);
        let (changed, rivals) = near.iter().find_map(|c| Some((*c, means(&c)?)))?;
        let passed = Passed::of(self.syntax.of(&call.arguments))?;
        if !is_broken(changed.language, &changed.before, &changed.now, &passed) {
            return None;
        }
        let line = self.syntax.line_span(&call.callee).1;
        let said =
            Said { body: changed.body.clone(), confidence: changed.confidence, ..Said::default() };
        let place = Place {
            path: self.path,
            side: Side::Right,
            lines: &self.syntax.lines,
            added: self.added,
        };
        Some(Suspect { finding: finding_at(&place, &CALLER, (line, line), said), rivals })
    }

    /// Whether the call means it, and what must not be there for that to be certain.
    fn means(&self, call: &Call, callee: &[&str], changed: &Changed) -> Option<Vec<String>> {
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
        let stands = |module: &Module| imports::stands_for(module, self.path, &changed.path);
        if before.is_empty() {
            let import = imports.iter().find(|i| i.local == *last)?;
            return match &import.means {
                Means::Member(module, name) if *name == changed.name && changed.named => {
                    stands(module)
                }
                Means::Default(module) | Means::Required(module) if changed.default => {
                    stands(module)
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
        match &import.means {
            Means::Module(module) | Means::Required(module) => stands(module),
            Means::Member(Module::Python(dots, names), name) => {
                let inner = names.iter().chain([name]).cloned().collect();
                stands(&Module::Python(*dots, inner))
            }
            _ => None,
        }
    }
}
