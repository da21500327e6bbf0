//! Checks that need both sides of the diff.
//!
//! Guarantees: the result depends only on the two texts and the hunks; a finding is on a touched
//! line, or on a line that the change broke, and then says so; comments and layout make no
//! difference. Never: I/O; a finding that is not certain from the texts.
//!
//! | file | is |
//! |---|---|
//! | `callers.rs` | check: a signature changed, a call in the same file was left behind |
//! | `cross_file.rs` | the same for a call in another file of the change |
//! | `misfits.rs` | check: a call does not fit what it calls in the same file |
//! | `signature.rs` | parameters and arguments |
//! | `imports.rs`, `modules.rs`, `php.rs` | which file an imported name refers to |
//! | `copies.rs` | check: one name left behind in a copied statement |
//! | `errors.rs` | check: an error is no longer checked |
//! | `unlocks.rs` | check: a lock is no longer released |
//! | `lock_file.rs` | check: a lock file contradicts its manifest |
//! | `lock_packages.rs`, `lock_readers.rs` | the formats of lock files |
//! | `compared.rs` | both sides of one file, function by function |
//! | `syntax.rs`, `shape.rs` | one side of a file, in one form for every language |

mod callers;
mod compared;
mod copies;
pub mod cross_file;
mod errors;
mod imports;
pub mod lock_file;
mod lock_packages;
mod lock_readers;
mod misfits;
mod modules;
mod php;
mod shape;
mod signature;
mod syntax;
mod unlocks;

use self::{compared::Compared, syntax::Syntax};
use super::{CheckInfo, Finding, Lang, LineSet, Lines, MaskedText, globs};

/// Every check of both sides, by id.
pub const CHECKS: &[CheckInfo] =
    &[callers::INFO, errors::INFO, lock_file::INFO, copies::INFO, unlocks::INFO, misfits::INFO];

/// Both sides of one changed file.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Its path in the head.
    pub path: &'a str,
    /// The base text; empty when there was none.
    pub base: &'a MaskedText,
    /// The head text.
    pub head: &'a MaskedText,
    /// The removed lines of the base.
    pub removed: &'a LineSet,
    /// The added lines of the head.
    pub added: &'a LineSet,
}

/// The result of checking one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    /// The findings in it; their fingerprints are not yet set.
    pub findings: Vec<Finding>,
    /// The signatures that it changed, for the calls in other files.
    pub changed: Vec<cross_file::ChangedSignature>,
}

/// Whether a check compares the two sides of a file in this language.
fn reads_base(language: Lang) -> bool {
    callers::reads(language) || errors::reads(language) || unlocks::reads(language)
}

/// Whether the base text of a file is needed, as far as its path says.
pub fn wants_base(path: &str) -> bool {
    Lang::of(path, "").is_some_and(reads_base)
}

/// The base text of a file that only gained lines, if one of them may be a parameter; no other
/// check needs the base of such a file.
pub fn base_without(path: &str, head: &MaskedText, added: &LineSet) -> Option<MaskedText> {
    let parameter = |line: &str| line.trim_end().ends_with(',');
    let lines = Lines::new(head);
    Lang::of(path, head).filter(|l| callers::reads(*l))?;
    lines.touched(added).find(|(_, line)| parameter(line))?;
    Some(without(head, added)).filter(|base| !base.trim().is_empty())
}

/// A text without some of its lines: what it was before it gained them.
pub fn without(head: &MaskedText, added: &LineSet) -> MaskedText {
    let lines = Lines::new(head);
    let kept = (1..=lines.count()).filter(|n| !added.contains(*n)).filter_map(|n| lines.get(n));
    MaskedText::of_lines(kept)
}

/// Checks both sides of one file.
pub fn check(pair: Pair<'_>) -> Checked {
    let language = Lang::of(pair.path, pair.head).filter(|l| l.is_program());
    check_program(pair, language).unwrap_or_default()
}

fn check_program(pair: Pair<'_>, language: Option<Lang>) -> Option<Checked> {
    let language = language?;
    let compares = reads_base(language) && !pair.base.is_empty();
    if pair.added.is_empty() && (pair.removed.is_empty() || !compares) {
        return None;
    }
    let test = globs::is_test(pair.path);
    let head = Syntax::parse(language, pair.head)?;
    let mut checked = Checked::default();
    if !test {
        checked.findings = copies::check(pair.path, &head, pair.added);
        if misfits::reads(language) {
            checked.findings.extend(misfits::check(pair.path, &head, pair.added));
        }
    }
    let base = compares.then(|| Syntax::parse(language, pair.base)).flatten();
    let Some(base) = base else { return Some(checked) };
    let compared = Compared { pair, language, base, head };
    if callers::reads(language) {
        let left_behind = callers::check(&compared);
        // One that was left behind does not fit, either.
        let told = |f: &Finding| left_behind.iter().any(|left| left.start_line == f.start_line);
        checked.findings.retain(|f| f.rule != misfits::INFO.id || !told(f));
        checked.findings.extend(left_behind);
        checked.changed = cross_file::changed_signatures(&compared);
    }
    if errors::reads(language) && !test {
        checked.findings.extend(errors::check(&compared));
    }
    if unlocks::reads(language) && !test {
        checked.findings.extend(unlocks::check(&compared));
    }
    Some(checked)
}
