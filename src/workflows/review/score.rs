//! How well a review found what was to be found. Pure.

use serde::{Deserialize, Serialize};

use super::report::{self, Report};
use crate::{analysis::Finding, model::Usage};

/// A finding may lie so many lines beside the expected ones.
const NEAR_LINES: u32 = 2;

/// Something that a review should find.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The path, as named in the head.
    pub path: String,
    /// The first line it may be found at.
    pub line: u32,
    /// The last one; the first when absent.
    #[serde(default)]
    pub end_line: Option<u32>,
    /// A word one of which must be in the finding's rule, title or body, in any case; any finding there will do when empty.
    #[serde(default)]
    pub words: Vec<String>,
}

impl Expected {
    fn is_met_by(&self, finding: &Finding) -> bool {
        let last = self.end_line.unwrap_or(self.line).saturating_add(NEAR_LINES);
        let here =
            finding.start_line <= last && finding.end_line.saturating_add(NEAR_LINES) >= self.line;
        let text = format!("{} {} {}", finding.rule, finding.title, finding.body).to_lowercase();
        let says = |word: &String| text.contains(&word.to_lowercase());
        finding.path == self.path && here && (self.words.is_empty() || self.words.iter().any(says))
    }
}

/// What reviews found, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Score {
    /// Expected and found.
    pub right: usize,
    /// Expected and not found.
    pub missed: usize,
    /// Found and not expected.
    pub extra: usize,
    /// Of these, how many in cases where nothing was expected.
    pub noise: usize,
    /// Reviews that were incomplete.
    pub incomplete: usize,
    /// What models were paid.
    pub usage: Usage,
    /// How long it took.
    pub seconds: f64,
}

impl Score {
    /// The score of one review. Each expected finding counts once, and so does each that was found.
    pub fn of(report: &Report, expected: &[Expected], seconds: f64) -> Self {
        let found = report::findings(report.state());
        let mut open: Vec<&Expected> = expected.iter().collect();
        let mut extra = 0;
        for finding in found {
            match open.iter().position(|expected| expected.is_met_by(finding)) {
                Some(at) => drop(open.swap_remove(at)),
                // A second one about the same is neither right nor wrong.
                None if expected.iter().any(|expected| expected.is_met_by(finding)) => {}
                None => extra += 1,
            }
        }
        Self {
            right: expected.len() - open.len(),
            missed: open.len(),
            extra,
            noise: if expected.is_empty() { extra } else { 0 },
            ..Self::unknown(report, seconds)
        }
    }

    /// What is known of a review whatever it should have found.
    pub fn unknown(report: &Report, seconds: f64) -> Self {
        let incomplete = usize::from(report::verdict(report.state()) == "incomplete");
        Self { incomplete, usage: report.usage(), seconds, ..Self::default() }
    }

    /// Of what was found, how much was expected; all of nothing.
    pub fn precision(&self) -> f64 {
        share(self.right, self.right + self.extra)
    }

    /// Of what was expected, how much was found; all of nothing.
    pub fn recall(&self) -> f64 {
        share(self.right, self.right + self.missed)
    }

    /// The harmonic mean of the two.
    pub fn f1(&self) -> f64 {
        share(2 * self.right, 2 * self.right + self.extra + self.missed)
    }
}

#[expect(clippy::cast_precision_loss, reason = "findings of a suite are few")]
fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

impl std::ops::AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.right += other.right;
        self.missed += other.missed;
        self.extra += other.extra;
        self.noise += other.noise;
        self.incomplete += other.incomplete;
        self.usage += other.usage;
        self.seconds += other.seconds;
    }
}
