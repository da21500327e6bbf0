//! The finished review, for people and for programs. Pure: a state in, text out.
//!
//! Everything shown was masked when it was read. Text for a terminal is also freed of control
//! characters, so that no path or line of the change can move the cursor.

mod coverage;
mod json;
mod text;

use std::{collections::BTreeMap, fmt, str::FromStr};

pub use coverage::{Coverage, Looked, coverage};
pub use json::json;
pub use text::text;

use serde::Deserialize;
use serde_json::Value;

use super::state::ReviewState;
use crate::{
    analysis::{Finding, Severity},
    base::{Fault, Result},
    graph::{RunId, Timings},
};

/// How a review is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        match word {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "markdown" | "sarif" => Err(UnknownFormat::NotYet(word.to_owned())),
            _ => Err(UnknownFormat::Unknown(word.to_owned())),
        }
    }
}

/// A review cannot be written like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFormat {
    /// It will be.
    #[error("format `{0}` is not available yet; use text or json")]
    NotYet(String),
    /// Nobody planned it.
    #[error("`{0}` is not a format; use text or json")]
    Unknown(String),
}

/// What is told beside the state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// The run's id.
    pub run: String,
    /// Milliseconds: `total`, and by node.
    pub timings: BTreeMap<String, f64>,
}

/// A review to be shown.
#[derive(Debug, Clone)]
pub struct Report {
    state: ReviewState,
    about: About,
}

impl Report {
    /// Of a run, from its state as it is told outside the workflow.
    ///
    /// # Errors
    /// If the state is no review's.
    pub fn of(run: &RunId, state: &Value, timings: &Timings) -> Result<Self> {
        let state = ReviewState::deserialize(state)
            .map_err(|e| Fault::permanent(format!("the state of run {run} is no review's: {e}")))?;
        let mut times: BTreeMap<String, f64> =
            timings.nodes.iter().map(|(node, ms)| (node.to_string(), *ms)).collect();
        times.insert("total".to_owned(), timings.total_ms);
        Ok(Self { state, about: About { run: run.to_string(), timings: times } })
    }

    /// For people.
    pub fn text(&self, colour: bool) -> String {
        text(&self.state, &self.about, colour)
    }

    /// For programs.
    pub fn json(&self) -> String {
        json(&self.state, &self.about)
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
            early.chain(state.agents.values().flat_map(|r| &r.findings)).collect()
        }
    }
}

/// The verdict's word; a run that stopped before the judge is incomplete.
pub fn verdict(state: &ReviewState) -> &'static str {
    state.judgement.as_ref().map_or("incomplete", |j| j.verdict.word())
}

/// The most severe finding to show: what an exit code depends on.
pub fn worst(state: &ReviewState) -> Option<Severity> {
    findings(state).iter().map(|f| f.severity).max()
}

/// `text` without what would act on a terminal.
pub(super) fn tame(text: &str) -> impl fmt::Display + '_ {
    struct Tame<'a>(&'a str);
    impl fmt::Display for Tame<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            use fmt::Write;
            for c in self.0.chars() {
                let bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
                match c {
                    '\t' => f.write_str("    ")?,
                    c if c.is_control() || bidi => write!(f, "{}", c.escape_unicode())?,
                    c => f.write_char(c)?,
                }
            }
            Ok(())
        }
    }
    Tame(text)
}
