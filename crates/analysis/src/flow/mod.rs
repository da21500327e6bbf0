//! Values followed through functions: from where somebody else decides them to where they do harm.
//!
//! What it promises: every step follows from the text, the same text gives the same flows, and a flow
//! that no touched line is part of is not reported. It is bounded in time and memory; what was cut off
//! is named. What it never does: follow a value into another file, or through an alias.
//!
//! | file | is |
//! |---|---|
//! | `form.rs` | the language-neutral form: functions, statements, expressions |
//! | `lower.rs`, `lower_expr.rs`, `lower_fn.rs`, `grammar/` | trees into the form, by a table for each language |
//! | `model.rs`, `models/` | sources, sinks, cleaners: data, with examples |
//! | `value.rs`, `env.rs`, `fold.rs` | values, variables, constants |
//! | `run.rs`, `branch.rs`, `eval.rs`, `assign.rs`, `call.rs`, `built_in.rs` | statements, expressions, calls |
//! | `summary.rs`, `parameter.rs` | functions, and what calling them does; what their parameters are |
//! | `guard.rs`, `lookups.rs`, `clean.rs`, `source.rs`, `shape.rs`, `shell.rs` | conditions that check a value, and queries that do; what makes it harmless; what its source says of it; places where it does no harm; what a shell runs |
//! | `names.rs` | which names a file defines |
//! | `report.rs` | flows into findings |

mod assign;
mod branch;
mod built_in;
mod call;
mod clean;
mod env;
mod eval;
mod fold;
mod form;
mod grammar;
mod guard;
mod lookups;
mod lower;
mod lower_expr;
mod lower_fn;
pub mod model;
mod names;
mod objects;
mod parameter;
mod report;
mod run;
mod shape;
mod shell;
mod source;
mod summary;
#[cfg(test)]
mod tests;
mod value;

use crate::{Finding, Lang, Lines, SourceText, parse::Tree};

pub use clean::is_vouched_for;
pub use report::{FlowRule, rules};

/// What following the values of a text came to.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub(super) findings: Vec<Finding>,
    /// Whether bounds were met before the end of the text.
    pub(super) cut_off: bool,
}

/// The languages values are followed in, by name.
pub const LANGUAGES: &[&str] = &[
    "Python",
    "JavaScript",
    "TypeScript",
    "Tsx",
    "Java",
    "Go",
    "Php",
    "Ruby",
    "CSharp",
    "Kotlin",
    "Scala",
];

/// Whether values are followed in this language.
pub(super) fn reads(language: Lang) -> bool {
    grammar::of(language).is_some()
}

/// The flows of a parsed text that its touched lines are part of.
pub(super) fn find(
    root: &Tree<'_>,
    language: Lang,
    source: SourceText<'_>,
    lines: &Lines<'_>,
) -> Flows {
    let Some(table) = grammar::of(language) else { return Flows::default() };
    let Some(model) = model::of(table.grammar.name) else { return Flows::default() };
    let unit = lower::lower(table, source.text, root.get_inner_node().0);
    let followed = run::follow(&unit, model, table.grammar.name, source.text);
    let findings = report::findings(&unit, &followed, source, lines);
    Flows { findings, cut_off: followed.cut_off }
}
