//! Checks that need both sides of the diff: what was there before decides whether what is there
//! now is wrong.
//!
//! What it promises: the same two texts and the same hunks give the same findings; a finding lies
//! on touched lines, or on a line whose meaning the change broke, and then says so; comments and
//! layout change nothing. What it never does: I/O, or guess: a check that cannot see enough to be
//! sure says nothing. What would be said is a [`Claim`] as long as the rest of the change may
//! refute it; [`settle`] decides when all of it was looked at.
//!
//! | file | looks for |
//! |---|---|
//! | `condition.rs` | a condition turned round |
//! | `guard.rs` | a check for null, of a length or for zero taken away, the use stays |
//! | `bounds.rs` | conditions that an index or a division needs |
//! | `errors.rs` | an error that nobody looks at any more |
//! | `access.rs` | a check of permissions taken away |
//! | `locks.rs` | a lock taken away, or no longer given back |
//! | `closes.rs` | a close taken away, the opening stays |
//! | `copies.rs` | a copy with one name left behind |
//! | `callers.rs` | a signature changed, a call in the same file left behind |
//! | `elsewhere.rs` | the same, with the call in another file of the change |
//! | `signature.rs` | what a function takes and what a call passes |
//! | `imports.rs`, `php.rs` | what the names of a file stand for in others |
//! | `tests.rs` | tests removed or emptied |
//! | `lock_file.rs` | a lock file that contradicts its manifest |
//! | `lock_packages.rs`, `lock_readers.rs` | what each kind of them says |
//! | `about.rs` | what each of them is called and says |
//! | `compared.rs` | both sides of one file, function by function |
//! | `syntax.rs`, `shape.rs` | one side of a file, the same for every language |
//! | `words.rs` | conditions and names, read |

mod about;
mod access;
mod bounds;
mod callers;
mod closes;
mod compared;
mod condition;
mod copies;
pub mod elsewhere;
mod errors;
mod guard;
mod imports;
pub mod lock_file;
mod lock_packages;
mod lock_readers;
mod locks;
mod php;
mod shape;
mod signature;
mod syntax;
pub mod tests;
mod words;

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

pub use self::about::{About, CHECKS};
use self::compared::Compared;
use super::{Finding, Lang, LineSet, Lines, globs};

/// Both sides of one changed file, secrets masked in both.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Its path in the head.
    pub path: &'a str,
    /// Its path in the base.
    pub old_path: &'a str,
    /// The base text; empty when there was none.
    pub base: &'a str,
    /// The head text.
    pub head: &'a str,
    /// The lines of the base that are gone.
    pub removed: &'a LineSet,
    /// The lines of the head that are new.
    pub added: &'a LineSet,
}

/// A finding, unless another part of the change explains it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What would be said; its fingerprint is not yet set.
    pub finding: Finding,
    /// What would refute it.
    pub unless: Unless,
}

/// What would refute a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unless {
    /// A check of permissions is added anywhere.
    pub access: bool,
    /// A test is added, or a file that is no test loses more than it gains.
    pub tests: bool,
    /// The definition of one of these is removed.
    pub gone: Vec<String>,
}

/// What a file contributes to the decision about others' claims. Holds hashes, no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traces {
    gone: HashSet<u64>,
    access: bool,
    tests: bool,
    shrinks: bool,
}

impl Traces {
    /// Whether a test is declared on a new line.
    pub fn adds_tests(&self) -> bool {
        self.tests
    }
}

/// What came of looking at a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Looked {
    /// What would be said about it.
    pub claims: Vec<Claim>,
    /// What it says about the claims of all files.
    pub traces: Traces,
    /// The signatures it changed, for the calls in other files.
    pub changed: Vec<elsewhere::Changed>,
}

/// A check: both sides in, claims out.
type Look = fn(&Compared<'_>) -> Vec<Claim>;

/// Every check of the two texts of a file.
const LOOKS: &[Look] = &[
    condition::look,
    guard::look,
    errors::look,
    access::look,
    locks::look,
    closes::look,
    copies::look,
    callers::look,
    tests::look,
];

/// Whether the base side of a file is wanted, as far as its path says.
pub fn wants_base(path: &str) -> bool {
    Lang::of(path, "").is_some_and(shape::is_program)
}

/// The base of a file that only gained lines, where one of them may be a parameter: nothing else
/// of such a file needs its base.
pub fn base_without(path: &str, head: &str, added: &LineSet) -> Option<String> {
    let parameter = |line: &str| line.trim_end().ends_with(',');
    let lines = Lines::new(head);
    Lang::of(path, head).filter(|l| callers::reads(*l))?;
    lines.touched(added).find(|(_, line)| parameter(line))?;
    let kept = (1..=lines.count()).filter(|n| !added.contains(*n)).filter_map(|n| lines.get(n));
    let base: String = kept.flat_map(|line| [line, "\n"]).collect();
    (!base.trim().is_empty()).then_some(base)
}

/// Looks at both sides of one file.
pub fn look(pair: Pair<'_>) -> Looked {
    let Some(language) = Lang::of(pair.path, pair.head).filter(|l| shape::is_program(*l)) else {
        let traces = Traces { shrinks: shrinks(pair), ..Traces::default() };
        return Looked { traces, ..Looked::default() };
    };
    let traces = traces(pair);
    if !words::worth_parsing(pair) {
        return Looked { traces, ..Looked::default() };
    }
    let Some(compared) = Compared::new(pair, language) else {
        return Looked { traces, ..Looked::default() };
    };
    let claims: Vec<Claim> = LOOKS.iter().flat_map(|look| look(&compared)).collect();
    // Where tests stand beside what they test, it is the tests that went.
    let shrinks = traces.shrinks && !claims.iter().any(|c| c.unless.tests);
    let changed = elsewhere::changed(&compared);
    Looked { claims, traces: Traces { shrinks, ..traces }, changed }
}

/// The findings among the claims of a whole change that nothing in it refutes. `sources_gone` says
/// whether a whole file that is no test was removed.
pub fn settle<'l>(
    looked: impl Iterator<Item = &'l Looked> + Clone,
    sources_gone: bool,
) -> Vec<Finding> {
    let any = |says: &dyn Fn(&Traces) -> bool| looked.clone().any(|l| says(&l.traces));
    let refuted = |unless: &Unless| {
        unless.access && any(&|t| t.access)
            || unless.tests && (sources_gone || any(&|t| t.tests || t.shrinks))
            || unless.gone.iter().map(digest).any(|name| any(&|t| t.gone.contains(&name)))
    };
    let claims = looked.clone().flat_map(|l| &l.claims);
    claims.filter(|c| !refuted(&c.unless)).map(|c| c.finding.clone()).collect()
}

/// Whether a file that is neither a test nor prose loses more lines than it gains.
fn shrinks(pair: Pair<'_>) -> bool {
    let counts = !globs::is_test(pair.path) && !globs::is_prose(pair.path);
    counts && pair.removed.len() > pair.added.len()
}

fn traces(pair: Pair<'_>) -> Traces {
    let mut traces = Traces::default();
    let head = Lines::new(pair.head);
    for (_, line) in head.touched(pair.added) {
        traces.access |= words::names(line).any(words::is_access);
        traces.tests |= tests::declares(line);
    }
    let base = Lines::new(pair.base);
    // In a test they are its own values.
    let typed = !globs::is_test(pair.path);
    let removed = base.touched(pair.removed).filter_map(|(_, line)| words::defined(line, typed));
    let mut gone: HashSet<u64> = removed.map(digest).collect();
    for (_, line) in head.touched(pair.added) {
        if let Some(name) = words::defined(line, typed) {
            gone.remove(&digest(name));
        }
    }
    traces.gone = gone;
    traces.shrinks = shrinks(pair);
    traces
}

fn digest(name: impl AsRef<str>) -> u64 {
    let mut hash = DefaultHasher::new();
    name.as_ref().hash(&mut hash);
    hash.finish()
}
