//! What of all that was found is worth saying. Pure: texts and findings in, a judgement out.
//!
//! In this order: anchor (a finding must quote the line it names, or the one line near it that it
//! meant), weigh by the settings, drop what a comment with a reason suppresses, merge what says the
//! same about the same line, drop what is below the thresholds, gather what is the same at many
//! places, drop what people dismissed and what is new about code that was reviewed before, rank, cap. Whatever is left out is counted, by reason.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use serde::{Deserialize, Serialize};

use super::{
    anchors::Anchors,
    gather::gather,
    models::{ModelUse, Ruled, Ruling},
    past::Past,
    settings::{ByPath, Settings, Weight},
    state::{AgentReport, Ingested, Outcome},
    tools::{merge_into, same_cause, same_harm},
};
use crate::analysis::{Finding, Severity, Side, Source};

/// The outcome of a review in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing to say.
    Clean,
    /// Something to say, nothing that must change.
    Comments,
    /// Something that must change.
    ChangesRequested,
    /// Part of the review is missing.
    Incomplete,
}

impl Verdict {
    /// The word it is written as.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Comments => "comments",
            Self::ChangesRequested => "changes_requested",
            Self::Incomplete => "incomplete",
        }
    }
}

/// How many findings were left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// Of a rule that the settings turn off.
    pub off: usize,
    /// Suppressed by a comment in the source, with a reason.
    pub suppressed: usize,
    /// Said the same as another.
    pub merged: usize,
    /// Quoted a line that is not there.
    pub unanchored: usize,
    /// Did not hold when they were checked.
    #[serde(skip_serializing_if = "is_zero")]
    pub refuted: usize,
    /// Below the severity or confidence asked for.
    pub below_threshold: usize,
    /// Dismissed before, by people who may write to the repository.
    #[serde(skip_serializing_if = "is_zero")]
    pub dismissed: usize,
    /// New about code that did not change since the last review.
    #[serde(skip_serializing_if = "is_zero")]
    pub unchanged: usize,
    /// Beyond the cap.
    pub over_cap: usize,
    /// Results of other tools that are not about changed lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub outside: usize,
}

/// What the judge decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The outcome.
    pub verdict: Verdict,
    /// What is worth saying, most important first.
    pub findings: Vec<Finding>,
    /// What was left out.
    pub left_out: LeftOut,
    /// What is missing of the review, when it is incomplete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What was thought of models' findings when they were checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rulings: Vec<Ruled>,
    /// What models did for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Findings on the lines they quote. Texts are needed only here, and a few at a time.
#[derive(Debug, Clone, Default)]
pub struct Placed {
    /// Each with whether a comment at its place suppresses it.
    findings: Vec<(Finding, bool)>,
    unanchored: usize,
    refuted: usize,
    merged: usize,
}

impl Placed {
    /// Takes out what does not hold or is said better by another, and lowers what matters less.
    pub fn apply(&mut self, ruled: &[Ruled]) {
        let rulings: HashMap<&str, Ruling> =
            ruled.iter().map(|r| (r.fingerprint.as_str(), r.ruling)).collect();
        let (refuted, merged) = (&mut self.refuted, &mut self.merged);
        self.findings.retain_mut(|(finding, _)| match rulings.get(finding.fingerprint.as_str()) {
            Some(Ruling::Drop) => {
                *refuted += 1;
                false
            }
            Some(Ruling::Merge) => {
                *merged += 1;
                false
            }
            Some(Ruling::Lower) => {
                let place = Severity::ALL.iter().position(|s| *s == finding.severity).unwrap_or(0);
                finding.severity = Severity::ALL[place.saturating_sub(1)];
                true
            }
            Some(Ruling::Keep) | None => true,
        });
    }

    /// Makes those of these fingerprints less sure.
    pub fn soften(&mut self, fingerprints: &[String]) {
        let known = |it: &&mut Finding| fingerprints.contains(&it.fingerprint);
        self.findings
            .iter_mut()
            .map(|(finding, _)| finding)
            .filter(known)
            .for_each(Finding::soften);
    }

    /// `found` by `texts`, the masked heads of their files by path.
    pub fn of<T: AsRef<str>>(found: Vec<Finding>, texts: &HashMap<String, T>) -> Self {
        let mut placed = Self::default();
        placed.place(found, texts);
        placed
    }

    /// More of them. Whole files and the base side need no text.
    pub fn place<T: AsRef<str>>(&mut self, found: Vec<Finding>, texts: &HashMap<String, T>) {
        let anchors = Anchors::new(texts);
        for finding in found {
            match anchors.anchor(finding) {
                None => self.unanchored += 1,
                Some(finding) => {
                    let suppressed = anchors.suppressed(&finding);
                    self.findings.push((finding, suppressed));
                }
            }
        }
    }
}

/// Everything found, by ingest and by the agents.
pub fn found<'r>(
    change: &'r Ingested,
    reports: impl IntoIterator<Item = &'r AgentReport>,
) -> impl Iterator<Item = &'r Finding> {
    change.findings.iter().chain(reports.into_iter().flat_map(|report| &report.findings))
}

/// Judges everything found.
pub fn judge<'r>(
    change: &Ingested,
    reports: impl IntoIterator<Item = &'r AgentReport>,
    placed: Placed,
    past: &Past,
) -> Judgement {
    let mut missing = Vec::new();
    let mut unanchored = 0;
    let mut uses = Vec::from_iter(&change.tools);
    for report in reports {
        uses.extend(report.tool.iter().flat_map(|run| &run.uses));
        unanchored += report.model.as_ref().map_or(0, |used| used.unanchored);
        if let Outcome::Failed(why) = &report.outcome {
            missing.push(format!("{}: {why}", task(change, report)));
        }
        missing.extend(report.unread.iter().map(|(path, why)| format!("{path}: {why}")));
    }
    for tool in &uses {
        missing.extend(tool.missing.iter().map(|why| format!("{}: {why}", tool.name)));
    }
    missing.sort_unstable();
    missing.dedup();
    let (findings, mut left_out) = select(placed, &change.settings, past);
    left_out.unanchored += unanchored;
    left_out.outside = uses.iter().map(|t| t.results.saturating_sub(t.placed)).sum();
    let verdict = if !missing.is_empty() {
        Verdict::Incomplete
    } else if findings.iter().any(|f| f.severity >= Severity::High) {
        Verdict::ChangesRequested
    } else if findings.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Comments
    };
    Judgement { verdict, findings, left_out, missing, rulings: Vec::new(), model: None }
}

/// A task of an agent, for people.
fn task(change: &Ingested, report: &AgentReport) -> String {
    if report.model.is_some() {
        return format!("{}, its model", report.agent);
    }
    match change.plan.of(&report.agent).len() {
        0 | 1 => report.agent.clone(),
        count => format!("{}, part {} of {count}", report.agent, report.chunk + 1),
    }
}

/// The findings to show, ranked, and what was left out.
pub fn select(placed: Placed, settings: &Settings, past: &Past) -> (Vec<Finding>, LeftOut) {
    let Placed { unanchored, refuted, .. } = placed;
    let mut left_out = LeftOut { unanchored, refuted, ..LeftOut::default() };
    let merged_before = placed.merged;
    let mut findings = placed.findings;

    let anchored = findings.len();
    let by_path = settings.by_path();
    findings.retain_mut(|(finding, _)| weigh(finding, &by_path));
    left_out.off = anchored - findings.len();
    let weighed = findings.len();
    findings.retain(|(_, suppressed)| !suppressed);
    left_out.suppressed = weighed - findings.len();

    let mut findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
    soften_notices(&mut findings);
    let shows = |f: &Finding| {
        f.source == Source::Verdict || by_path.shows(&f.path, f.severity, f.confidence)
    };
    findings.sort_by(|a, b| rank(a).cmp(&rank(b)));
    // Of those that say the same one that is to be shown speaks for the others.
    findings.sort_by_cached_key(|finding| !shows(finding));
    let anchored = findings.len();
    findings = merge(findings);
    left_out.merged = merged_before + anchored - findings.len();

    let merged = findings.len();
    findings.retain(shows);
    left_out.below_threshold = merged - findings.len();
    let clear = findings.len();
    findings = gather(findings);
    left_out.merged += clear - findings.len();

    let counted = findings.len();
    findings.retain(|finding| !past.dismisses(finding));
    left_out.dismissed = counted - findings.len();
    let counted = findings.len();
    findings.retain(|finding| !past.has_seen(finding));
    left_out.unchanged = counted - findings.len();

    left_out.over_cap = findings.len().saturating_sub(settings.max_findings);
    findings.truncate(settings.max_findings);
    (findings, left_out)
}

/// Several notices that go at once were taken away by whoever may: each still counts, below the
/// usual threshold.
fn soften_notices(findings: &mut [Finding]) {
    let dropped = |f: &Finding| f.rule == "licence-header-dropped";
    if findings.iter().filter(|f| dropped(f)).count() > 1 {
        findings.iter_mut().filter(|f| dropped(f)).for_each(Finding::soften);
    }
}

/// What the settings say about the finding's rule; whether it is still to be shown.
fn weigh(finding: &mut Finding, settings: &ByPath<'_>) -> bool {
    match settings.weight(&finding.path, &finding.rule) {
        Some(Weight::Off) => return finding.source == Source::Verdict,
        Some(Weight::Severity(severity)) => finding.severity = severity,
        None => {}
    }
    true
}

/// Severity times confidence, most first; equals by place, so that the order is always the same.
fn rank(finding: &Finding) -> (Reverse<u32>, &str, u32, &str, &str) {
    let weight = match finding.severity {
        Severity::Info => 1,
        Severity::Low => 2,
        Severity::Medium => 4,
        Severity::High => 8,
        Severity::Critical => 16,
    };
    let worth = weight * u32::from(finding.confidence.get());
    (Reverse(worth), &finding.path, finding.start_line, &finding.rule, &finding.fingerprint)
}

/// Keeps the first of those that say the same about the same line, or, where another tool is one of
/// them, that are about the same harm at the same place.
fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let with_tools = findings.iter().any(|finding| finding.source == Source::Tool);
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut by_place: BTreeMap<(String, Side, u32), Vec<usize>> = BTreeMap::new();
    let mut by_file: HashMap<String, Vec<usize>> = HashMap::new();
    for finding in findings {
        let place = (finding.path.clone(), finding.side, finding.start_line);
        let here = by_place.entry(place).or_default();
        let known = here.iter().copied().find(|index| same(&kept[*index], &finding));
        let known = known.or_else(|| {
            let mut in_file = by_file.get(&finding.path)?.iter().copied();
            in_file.find(|index| same_harm(&kept[*index], &finding))
        });
        here.push(known.unwrap_or(kept.len()));
        if let Some(known) = known {
            merge_into(&mut kept[known], finding);
            continue;
        }
        if with_tools {
            by_file.entry(finding.path.clone()).or_default().push(kept.len());
        }
        kept.push(finding);
    }
    kept
}

/// Whether two findings about one line say the same: by rule, by weakness, or by most words of their titles.
fn same(a: &Finding, b: &Finding) -> bool {
    // All findings of an agent's model are of one rule.
    let model = a.source == Source::Model;
    if a.fingerprint == b.fingerprint || a.rule == b.rule && !model || same_cause(a, b) {
        return true;
    }
    let words = |text: &str| -> HashSet<String> {
        let split = text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() > 2);
        split.map(str::to_lowercase).collect()
    };
    let (a, b) = (words(&a.title), words(&b.title));
    let common = a.intersection(&b).count();
    common * 2 > a.len().max(b.len())
}
