//! The finished review, for people and for programs. Pure: a state in, text out; only
//! [`Code::read`] reads from the forge, before.
//!
//! Everything shown was masked when it was read. What people see is also freed of control
//! characters, so that no path or line of the change can move the cursor, and of whatever else
//! would act where it is shown.
//!
//! | file | is |
//! |---|---|
//! | `text.rs` | for a terminal |
//! | `json.rs` | for programs; its keys are a contract |
//! | `markdown.rs`, `escape.rs` | for a comment on a pull request |
//! | `sarif/` | for code scanning: SARIF 2.1.0 |
//! | `github.rs` | for the log of a GitHub workflow: annotations |
//! | `gitlab.rs` | for GitLab's merge requests: code quality |
//! | `coverage.rs` | what was reviewed |
//! | `code.rs` | the lines that findings are about |

mod code;
mod coverage;
mod escape;
mod github;
mod gitlab;
mod json;
mod markdown;
mod sarif;
mod text;

use std::{collections::BTreeMap, fmt, str::FromStr};

pub use code::Code;
pub use coverage::{Checked, Coverage, coverage};
pub use escape::{plain, prose};
pub use github::github;
pub use gitlab::gitlab;
pub use json::json;
pub use markdown::{closing, comment, in_summary, markdown, opening};
pub use sarif::sarif;
pub use text::text;

use serde::Deserialize;
use serde_json::Value;

use super::{models::ModelUse, state::ReviewState};
use crate::{
    analysis::{Finding, Severity},
    base::{Fault, Result, Timestamp},
    forge::Forges,
    graph::{RunId, Timings},
    model::{Cost, Usage},
};

/// How a review is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For a comment on a pull request.
    Markdown,
    /// For code scanning.
    Sarif,
    /// For the log of a GitHub workflow.
    Github,
    /// For GitLab's merge requests.
    Gitlab,
}

impl Format {
    /// Every format's name.
    pub const NAMES: [&'static str; 6] = ["text", "json", "markdown", "sarif", "github", "gitlab"];
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        match word {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "markdown" => Ok(Self::Markdown),
            "sarif" => Ok(Self::Sarif),
            "github" => Ok(Self::Github),
            "gitlab" => Ok(Self::Gitlab),
            _ => Err(UnknownFormat { word: word.to_owned() }),
        }
    }
}

/// A review cannot be written like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a format; use {}", Format::NAMES.join(", "))]
pub struct UnknownFormat {
    word: String,
}

/// What a report shows beside the state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportContext {
    /// The run's id.
    pub run: String,
    /// Milliseconds: `total`, and by node.
    pub timings: BTreeMap<String, f64>,
    /// Why the run failed, if it did.
    pub error: Option<String>,
    /// The lines that findings are about, as far as they were read again.
    pub code: Code,
    /// How many columns the text may have; unlimited when absent.
    pub width: Option<usize>,
    /// What its forge calls the change, where it says more than the two commits.
    pub description: Option<String>,
    /// When it was reviewed, if that was before.
    pub recorded: Option<Timestamp>,
}

/// A review to be shown.
#[derive(Debug, Clone)]
pub struct Report {
    state: ReviewState,
    context: ReportContext,
}

impl Report {
    /// Of a run, from its state as it is shown outside the workflow.
    ///
    /// # Errors
    /// If the state is no review's.
    pub fn of(run: &RunId, state: &Value, timings: &Timings) -> Result<Self> {
        let state = ReviewState::deserialize(state)
            .map_err(|e| Fault::permanent(format!("the state of run {run} is no review's: {e}")))?;
        let mut times: BTreeMap<String, f64> =
            timings.nodes.iter().map(|(node, ms)| (node.to_string(), *ms)).collect();
        times.insert("total".to_owned(), timings.total_ms);
        let context =
            ReportContext { run: run.to_string(), timings: times, ..ReportContext::default() };
        Ok(Self { state, context })
    }

    /// The same, of a run that failed for this reason.
    pub fn failed(mut self, error: Option<&str>) -> Self {
        self.context.error = error.map(str::to_owned);
        self
    }

    /// The same, fit for so many columns.
    pub fn fit(mut self, width: Option<usize>) -> Self {
        self.context.width = width;
        self
    }

    /// The same with the lines its findings are about, as far as its forge still has them.
    pub async fn with_code(mut self, forges: &Forges) -> Self {
        self.context.code = Code::read(forges, &self.state).await;
        self
    }

    /// The same with what its forge calls the change.
    pub fn described(mut self, description: Option<String>) -> Self {
        self.context.description = description;
        self
    }

    /// The same, of a review that was made before and is only shown again.
    pub fn recorded(mut self, at: Option<Timestamp>) -> Self {
        self.context.recorded = at;
        self
    }

    /// Written down. Only text can be coloured.
    pub fn write(&self, format: Format, colour: bool) -> String {
        let Self { state, context } = self;
        match format {
            Format::Text => text(state, context, colour),
            Format::Json => json(state, context),
            Format::Markdown => markdown(state, context),
            Format::Sarif => sarif(state, context),
            Format::Github => github(state, context),
            Format::Gitlab => gitlab(state, context),
        }
    }

    /// The state it is made of.
    pub(super) fn state(&self) -> &ReviewState {
        &self.state
    }

    /// What models were paid for it.
    pub fn usage(&self) -> Usage {
        models(&self.state).map(|used| used.usage).unwrap_or_default()
    }

    /// What of it the judge was paid.
    pub fn usage_of_judge(&self) -> Usage {
        let judgement = self.state.judgement.as_ref();
        let used = judgement.and_then(|judged| judged.model.as_ref());
        used.map(|used| used.usage).unwrap_or_default()
    }

    /// The outcome in one line, in which there is nothing of the change.
    pub fn summary(&self) -> String {
        summary(&self.state)
    }

    /// Whether a finding is at or above this severity. `None`: no such word.
    pub fn reaches(&self, severity: &str) -> Option<bool> {
        let limit = Severity::deserialize(Value::from(severity)).ok()?;
        Some(worst(&self.state).is_some_and(|worst| worst >= limit))
    }
}

/// The findings to show: the judge's, or, when the run stopped before it, all there are.
pub fn findings(state: &ReviewState) -> Vec<&Finding> {
    match &state.judgement {
        Some(judgement) => judgement.findings.iter().collect(),
        None => {
            let early = state.ingested.iter().flat_map(|i| &i.findings);
            early.chain(state.reports().flat_map(|r| &r.findings)).collect()
        }
    }
}

/// The verdict's word; a run that stopped before the judge is incomplete.
pub fn verdict(state: &ReviewState) -> &'static str {
    state.judgement.as_ref().map_or("incomplete", |j| j.verdict.word())
}

/// The verdict as people read it: nothing is called clean that nobody has read.
fn verdict_words(state: &ReviewState) -> &'static str {
    match verdict(state) {
        "clean" if !coverage(state).iter().any(|row| row.status == Checked::Done) => {
            "nothing reviewed"
        }
        word => word,
    }
}

/// The most severe finding to show: what an exit code depends on.
pub fn worst(state: &ReviewState) -> Option<Severity> {
    findings(state).iter().map(|f| f.severity).max()
}

/// What of the review is missing; empty when nothing is known to be.
fn missing(state: &ReviewState) -> &[String] {
    state.judgement.as_ref().map_or(&[], |judgement| &judgement.missing)
}

fn summary(state: &ReviewState) -> String {
    let mut counts = String::new();
    for (severity, count) in counts_of(state) {
        counts.push_str(&format!(" · {count} {severity}"));
    }
    let total = counted(findings(state).len(), "finding", "findings");
    format!("verdict: {} · {total}{counts}; {}", verdict_words(state), covered(state))
}

/// How many findings of each severity, worst first.
fn counts_of(state: &ReviewState) -> Vec<(Severity, usize)> {
    let found = findings(state);
    let count = |severity: Severity| found.iter().filter(|f| f.severity == severity).count();
    let all = Severity::ALL.iter().rev().map(|severity| (*severity, count(*severity)));
    all.filter(|(_, count)| *count > 0).collect()
}

/// How much was reviewed.
fn covered(state: &ReviewState) -> String {
    let rows = coverage(state);
    let done: Vec<&Coverage> = rows.iter().filter(|r| r.status == Checked::Done).collect();
    let lines: u64 = done.iter().map(|r| r.lines).sum();
    let lines = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
    format!("{} of {} changed files reviewed, {lines}", done.len(), rows.len())
}

/// What models did for the review; absent when none was asked.
fn models(state: &ReviewState) -> Option<ModelUse> {
    let judge = state.judgement.iter().filter_map(|judgement| judgement.model.as_ref());
    let tasks = state.models.values().filter_map(|report| report.model.as_ref());
    let mut reports = tasks.chain(judge).peekable();
    reports.peek()?;
    let mut all = ModelUse::default();
    for used in reports {
        all.names.extend(used.names.iter().cloned());
        all.usage += used.usage;
        all.saved += used.saved;
    }
    Some(all)
}

/// The same in words, in which there is nothing of the change.
fn models_words(state: &ReviewState) -> Option<String> {
    let ModelUse { names, usage, saved, .. } = models(state)?;
    let names: Vec<String> = names.into_iter().collect();
    let mut words = match names.is_empty() {
        true => "no model answered".to_owned(),
        false => format!("models: {}", names.join(", ")),
    };
    let calls = counted(usize::try_from(usage.calls).unwrap_or(usize::MAX), "call", "calls");
    words.push_str(&format!(" · {calls}, {} + {} tokens", usage.input, usage.output));
    if usage.cost > Cost::default() {
        words.push_str(&format!(" · cost {}", usage.cost));
    }
    if saved.input > 0 {
        words.push_str(&format!(" · {} + {} tokens not paid again", saved.input, saved.output));
    }
    if saved.cost > Cost::default() {
        words.push_str(&format!(" ({})", saved.cost));
    }
    Some(words)
}

/// The tools whose findings the review has, in words.
fn tools_words(state: &ReviewState) -> Option<String> {
    let words = state.tool_uses().map(|tool| {
        let version = tool.version.iter().map(|version| format!(" {version}")).collect::<String>();
        let let_pass = match tool.suppressed {
            0 => String::new(),
            count => format!(" and {count} it was told to let pass"),
        };
        let results = counted(tool.results, "result", "results");
        let network = if tool.networked { ", not cut off from the network" } else { "" };
        let (name, placed) = (&tool.name, tool.placed);
        format!("{name}{version}, {placed} of {results} on changed lines{let_pass}{network}")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("tools: {}", words.join("; ")))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `text` without what would act on a terminal or cannot be seen.
pub(super) fn tame(text: &str) -> impl fmt::Display + '_ {
    struct Tame<'a>(&'a str);
    impl fmt::Display for Tame<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            use fmt::Write;
            for c in self.0.chars() {
                match c {
                    '\t' => f.write_str("    ")?,
                    c if c.is_control() || hidden(c) => write!(f, "{}", c.escape_unicode())?,
                    c => f.write_char(c)?,
                }
            }
            Ok(())
        }
    }
    Tame(text)
}

/// Characters that turn the direction of others, or take no room. The joiners of scripts and of
/// emoji are not among them.
fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
