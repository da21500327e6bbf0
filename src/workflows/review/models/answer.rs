//! What a model answers, and what is made of it: findings on rows that read as they quote. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unit::{Mark, Row, Unit};
use crate::analysis::{Confidence, Finding, MODEL_RULE, MaskedText, Severity, Side, Source, quote};

/// How far from a changed row a finding may begin and still be about the change.
const NEAR_ROWS: usize = 3;

/// No model is surer than this.
const MAX_CONFIDENCE: f64 = 0.95;

/// Longer texts are cut.
const MAX_TITLE_CHARS: usize = 160;
const MAX_BODY_CHARS: usize = 2_000;

/// The answer to a request for a review.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct ModelAnswer {
    /// The proof words of the files that were read to their end.
    pub(super) read: Vec<String>,
    /// The defects, most important first; empty when there are none.
    pub(super) findings: Vec<ModelFinding>,
}

/// One defect.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct ModelFinding {
    /// The number of the file.
    pub(super) file: u32,
    /// The side its lines count on.
    #[serde(default)]
    pub(super) side: ModelSide,
    /// The number of its first row.
    pub(super) line: u32,
    /// The number of its last row.
    #[serde(default)]
    pub(super) end_line: Option<u32>,
    /// The first row, copied exactly, without number and mark.
    pub(super) quote: String,
    /// The defect in one line.
    pub(super) title: String,
    /// Why it is wrong and what to do.
    pub(super) body: String,
    /// How much it matters.
    pub(super) severity: ModelSeverity,
    /// From 0 to 1.
    pub(super) confidence: f64,
    /// What to put in place of the lines.
    #[serde(default)]
    pub(super) replacement: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ModelSide {
    #[default]
    New,
    Old,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ModelSeverity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

/// A finding on the rows of its unit, as it is remembered: numbers of lines change, rows do not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Anchored {
    /// The place of its first row in the unit.
    row: usize,
    /// How many rows it is about.
    rows: usize,
    title: String,
    body: String,
    severity: Severity,
    confidence: Confidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
}

/// Puts a finding on the row that reads as it quotes: the one it names, or else the only one there is. `None` when none does.
pub(super) fn anchor(found: &ModelFinding, unit: &Unit) -> Option<Anchored> {
    let quoted = found.quote.lines().map(str::trim).find(|line| !line.is_empty())?;
    let side = |row: &Row| (row.mark == Mark::Removed) == (found.side == ModelSide::Old);
    let reads = |row: &Row| side(row) && reads_as(&row.shown(), quoted);
    let at = |number: u32| unit.rows.iter().position(|row| side(row) && row.number == number);
    let named = at(found.line).filter(|place| reads(&unit.rows[*place]));
    let only = || {
        let mut places = (0..unit.rows.len()).filter(|place| reads(&unit.rows[*place]));
        places.next().filter(|_| places.next().is_none())
    };
    let row = named.or_else(only)?;
    let end = found.end_line.filter(|end| named.is_some() && *end > found.line).and_then(at);
    let rows = end.map_or(1, |end| end.saturating_sub(row) + 1);
    let confidence = found.confidence.clamp(0.0, MAX_CONFIDENCE);
    Some(Anchored {
        row,
        rows,
        title: clean(&found.title.replace('\n', " "), MAX_TITLE_CHARS),
        body: clean(&found.body, MAX_BODY_CHARS),
        severity: severity(found.severity),
        confidence: Confidence::try_from(confidence).ok()?,
        // Moved, it may replace what nobody meant.
        replacement: found.replacement.clone().filter(|_| named.is_some()),
    })
}

/// Whether a row reads as a quote, which may still have its number and mark.
fn reads_as(row: &str, quoted: &str) -> bool {
    let row = row.trim();
    let bare = quoted.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let bare = bare.strip_prefix(['+', '-']).unwrap_or(bare).trim_start();
    !row.is_empty() && (row == quoted || row == bare)
}

pub(super) fn clean(text: &str, most: usize) -> String {
    let text = MaskedText::from(text.trim());
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_string(),
    }
}

fn severity(severity: ModelSeverity) -> Severity {
    match severity {
        ModelSeverity::Info => Severity::Info,
        ModelSeverity::Low => Severity::Low,
        ModelSeverity::Medium => Severity::Medium,
        ModelSeverity::High => Severity::High,
        ModelSeverity::Critical => Severity::Critical,
    }
}

impl Anchored {
    /// The finding of an agent, by the numbers that the rows have now. `None` if the unit is another one.
    pub(super) fn finding(&self, agent: &str, unit: &Unit) -> Option<Finding> {
        let rows = unit.rows.get(self.row..)?.get(..self.rows.min(unit.rows.len() - self.row))?;
        let first = rows.first()?;
        let side = if first.mark == Mark::Removed { Side::Left } else { Side::Right };
        let same_side = |row: &&Row| (row.mark == Mark::Removed) == (side == Side::Left);
        let last = rows.iter().rfind(same_side)?;
        let mut finding = Finding {
            fingerprint: String::new(),
            agent: agent.to_owned(),
            rule: format!("{MODEL_RULE}{agent}"),
            path: unit.path.clone(),
            side,
            start_line: first.number,
            end_line: last.number.max(first.number),
            severity: self.severity,
            confidence: self.confidence,
            title: self.title.clone(),
            body: self.body.clone(),
            suggestion: self.suggestion(rows, side),
            quote: quote(&first.text),
            source: Source::Model,
            flow: Vec::new(),
            unless: Default::default(),
        };
        if !self.is_near_change(unit) && self.severity < Severity::High {
            finding.soften();
        }
        Some(finding)
    }

    /// What to put in place of the rows: only of added lines in a row, of which none was masked.
    fn suggestion(&self, rows: &[Row], side: Side) -> Option<String> {
        let replacement = self.replacement.as_ref()?;
        let whole = side == Side::Right && rows.iter().all(|row| row.mark == Mark::Added);
        let masked = rows.iter().any(|row| row.text.contains("****"));
        let old: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        let new = replacement.trim_end_matches('\n');
        (whole && !masked && !new.contains("****") && old.join("\n") != new).then(|| new.to_owned())
    }

    fn is_near_change(&self, unit: &Unit) -> bool {
        let start = self.row.saturating_sub(NEAR_ROWS);
        let end = (self.row + self.rows + NEAR_ROWS).min(unit.rows.len());
        unit.rows[start..end].iter().any(|row| row.mark != Mark::Same)
    }
}
