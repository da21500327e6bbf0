//! The deterministic analysers, and the [`Finding`] all of them (and later models) yield.
//!
//! What it promises: the same text and the same touched lines give the same findings; a finding
//! lies on touched lines only, those of `sides/` aside, which say so; nothing of the analysed text
//! is executed, and nothing in it is obeyed (a suppression is read, and weighed by the judge). What
//! it never does: I/O, or show a secret.
//!
//! | file | is |
//! |---|---|
//! | `finding.rs` | the finding, its words, its fingerprint |
//! | `lines.rs` | sets of line numbers, and texts by line |
//! | `language.rs` | which language a file is in |
//! | `lifetimes.rs`, `lifetimes.tsv` | when versions and interfaces ended |
//! | `functions.rs` | which lines make a function, and where it is named |
//! | `rules.rs`, `rules/` | structural rules: one YAML file each, listed by `build.rs` |
//! | `ruleset.rs` | rules compiled, the built-in and a repository's own |
//! | `parse.rs` | a text into a tree, within bounds |
//! | `php_markup.rs`, `page_scripts.rs` | PHP, and scripts in pages, without the markup around them |
//! | `meter.rs` | what one match of a rule may cost |
//! | `rule_cost.rs` | what the regular expressions of a repository's rules may cost |
//! | `scan.rs` | one walk over one parsed file for all rules |
//! | `suggested.rs` | whether a text still parses with a suggestion applied |
//! | `flow/` | values followed from where somebody else decides them to where they do harm |
//! | `origin.rs` | whether the values that a statement is put together from are its own |
//! | `examples.rs` | the examples in rule files, tried |
//! | `secrets.rs`, `secret_kinds.rs`, `secrets/` | credentials: found, weighed, masked in place |
//! | `suppressions.rs` | comments that tell a finding away |
//! | `changes.rs` | what needs both sides or the whole change: lock files, licence headers |
//! | `checks.rs` | what needs no grammar: conflict markers, hidden characters, file modes |
//! | `sides/` | what needs both sides of the diff: callers, copies, errors, locks, lock files |
//! | `globs.rs` | which paths are generated, vendored or tests |

pub mod changes;
mod check_info;
pub mod checks;
pub mod examples;
mod finding;
pub mod flow;
mod functions;
pub mod globs;
mod language;
mod lifetimes;
mod lines;
mod meter;
mod origin;
mod page_scripts;
mod parse;
mod php_markup;
mod rule_cost;
pub mod rules;
mod ruleset;
mod scan;
mod secret_kinds;
pub mod secrets;
pub mod sides;
mod suggested;
pub mod suppressions;
mod template_json;

use std::collections::BTreeMap;

pub use check_info::{BAD_RULE, BAD_SETTINGS, CheckInfo, TEXT_CHECKS};
pub use finding::{
    Category, Confidence, Finding, FlowStep, Severity, Side, Source, UnknownWord, Unless,
    assign_fingerprints, quote,
};
pub use functions::{References, RelatedLine, Surroundings, surroundings};
pub use language::Lang;
pub use lines::{LineSet, Lines};
pub use meter::{both, while_wanted};
pub use parse::Unparsed;
pub use rules::{RuleError, RuleFile};
pub use ruleset::Ruleset;
pub use secrets::MaskedText;
pub use suggested::Suggestible;

/// Names these analysers: another build of the same sources has the same, anything else another.
pub const VERSION: &str = env!("VERDICT_ANALYSIS_VERSION");

/// A text to analyse, and which of its lines the change touches.
#[derive(Debug, Clone, Copy)]
pub struct SourceText<'a> {
    /// The path, for language and naming.
    pub path: &'a str,
    /// The whole text.
    pub text: &'a MaskedText,
    /// The touched lines.
    pub touched: &'a LineSet,
}

/// What came of a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Examined {
    /// What was found; fingerprints are set.
    pub findings: Vec<Finding>,
    /// Why no rule looked at it, when none did for the text's own sake.
    pub skipped: Option<String>,
    /// What was not done to the end, for the bounds of the analysis, by category.
    pub cut_off: BTreeMap<Category, String>,
}

/// The rule of a finding that a model made is this and its agent's id.
pub const MODEL_RULE: &str = "model-";

/// Whether a rule is another tool's: the tool, a slash, and its own name for the rule.
pub fn is_tool_rule(id: &str) -> bool {
    id.split_once('/').is_some_and(|(tool, rule)| !tool.is_empty() && !rule.is_empty())
}

/// Makes what an analysis of a file of this name needs, once in a process: most of what a short review
/// takes, and it can be made while the file is still being fetched.
pub fn prepare(path: &str) {
    globs::is_vendored(path);
    globs::is_generated(path);
    let (text, touched) = (secrets::mask("\n".to_owned()).text, LineSet::from_iter([1..=1]));
    examine(&Ruleset::built_in(), SourceText { path, text: &text, touched: &touched });
}

/// Runs every analyser of every category over one text.
pub fn examine(rules: &Ruleset, source: SourceText<'_>) -> Examined {
    let lines = Lines::new(source.text);
    let scanned = rules.find(source, &lines);
    let skipped = scanned.as_ref().err().map(ToString::to_string);
    let scan::Scanned { mut findings, cut_off } = scanned.unwrap_or_default();
    findings.extend(checks::text(source, &lines));
    findings.extend(changes::switched_off(source, &lines));
    if skipped.is_none() {
        findings.extend(suppressions::complaints(source, |id| knows(rules, id)));
    }
    findings.sort_by(|a, b| (a.start_line, &a.rule).cmp(&(b.start_line, &b.rule)));
    assign_fingerprints(&mut findings);
    Examined { findings, skipped, cut_off }
}

/// The findings of [`examine`].
pub fn analyse(rules: &Ruleset, source: SourceText<'_>) -> Vec<Finding> {
    examine(rules, source).findings
}

/// Whether anything that is analysed with `rules`, or another tool, can yield a finding of this rule.
pub fn knows(rules: &Ruleset, id: &str) -> bool {
    let secret = id.strip_prefix("secret-").is_some_and(secrets::is_kind);
    let sided = sides::CHECKS.iter().any(|check| check.id == id);
    let flow = flow::rules().any(|rule| rule.id == id);
    let text = TEXT_CHECKS.iter().any(|check| check.id == id);
    let model = id.strip_prefix(MODEL_RULE).is_some_and(|agent| !agent.is_empty());
    rules.contains(id) || text || sided || secret || flow || model || is_tool_rule(id)
}
