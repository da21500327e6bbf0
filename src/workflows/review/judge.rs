//! What of all that was found is worth saying. Pure: texts and findings in, a judgement out.
//!
//! In this order: anchor (a finding must quote the line it names, or the one line near it that it
//! meant), weigh by the settings, drop what a comment with a reason suppresses, merge what says the
//! same about the same line, drop what is below the thresholds, rank, cap. Whatever is left out is counted, by reason.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use serde::{Deserialize, Serialize};

use super::{
    settings::{Settings, Weight},
    state::{AgentReport, Ingested, Outcome},
};
use crate::analysis::{Finding, Lines, Severity, Side, Source, suppressions::Suppressions};

/// A quote is searched for this many lines up and down.
const QUOTE_SEARCH_LINES: u32 = 40;

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
    /// Below the severity or confidence asked for.
    pub below_threshold: usize,
    /// Beyond the cap.
    pub over_cap: usize,
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
}

/// Findings on the lines they quote. Texts are needed only here, and a few at a time.
#[derive(Debug, Default)]
pub struct Placed {
    /// Each with whether a comment at its place suppresses it.
    findings: Vec<(Finding, bool)>,
    unanchored: usize,
}

impl Placed {
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
) -> Judgement {
    let mut missing = Vec::new();
    for report in reports {
        if let Outcome::Failed(why) = &report.outcome {
            missing.push(format!("{}: {why}", task(change, report)));
        }
        missing.extend(report.unread.iter().map(|(path, why)| format!("{path}: {why}")));
    }
    missing.sort_unstable();
    missing.dedup();
    let (findings, left_out) = select(placed, &change.settings);
    let verdict = if !missing.is_empty() {
        Verdict::Incomplete
    } else if findings.iter().any(|f| f.severity >= Severity::High) {
        Verdict::ChangesRequested
    } else if findings.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Comments
    };
    Judgement { verdict, findings, left_out, missing }
}

/// A task of an agent, for people.
fn task(change: &Ingested, report: &AgentReport) -> String {
    match change.plan.of(&report.agent).len() {
        0 | 1 => report.agent.clone(),
        count => format!("{}, part {} of {count}", report.agent, report.chunk + 1),
    }
}

/// The findings to show, ranked, and what was left out.
pub fn select(placed: Placed, settings: &Settings) -> (Vec<Finding>, LeftOut) {
    let mut left_out = LeftOut { unanchored: placed.unanchored, ..LeftOut::default() };
    let mut findings = placed.findings;

    let anchored = findings.len();
    findings.retain_mut(|(finding, _)| weigh(finding, settings));
    left_out.off = anchored - findings.len();
    let weighed = findings.len();
    findings.retain(|(_, suppressed)| !suppressed);
    left_out.suppressed = weighed - findings.len();

    let mut findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
    soften_notices(&mut findings);
    findings.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let anchored = findings.len();
    findings = gather(merge(findings));
    left_out.merged = anchored - findings.len();

    let merged = findings.len();
    findings.retain(|f| {
        f.source == Source::Verdict
            || f.severity >= settings.min_severity && f.confidence >= settings.min_confidence
    });
    left_out.below_threshold = merged - findings.len();

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
fn weigh(finding: &mut Finding, settings: &Settings) -> bool {
    match settings.rules.get(&finding.rule) {
        Some(Weight::Off) => return finding.source == Source::Verdict,
        Some(Weight::Severity(severity)) => finding.severity = *severity,
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

/// Keeps the first of those that say the same about the same line.
fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut by_place: BTreeMap<(String, Side, u32), Vec<usize>> = BTreeMap::new();
    for finding in findings {
        let place = (finding.path.clone(), finding.side, finding.start_line);
        let here = by_place.entry(place).or_default();
        if here.iter().any(|index| same(&kept[*index], &finding)) {
            continue;
        }
        here.push(kept.len());
        kept.push(finding);
    }
    kept
}

/// As many whole files as this get a finding each from one rule, and so many others are named.
const MAX_FILES_OF_A_RULE: usize = 3;

/// Where a rule says the same, word for word, of more whole files, the first speaks for all.
fn gather(findings: Vec<Finding>) -> Vec<Finding> {
    let said = |f: &Finding| [f.rule.clone(), f.title.clone(), f.body.clone()];
    let mut files: HashMap<[String; 3], Vec<String>> = HashMap::new();
    for finding in findings.iter().filter(|f| f.is_whole_file()) {
        files.entry(said(finding)).or_default().push(finding.path.clone());
    }
    files.retain(|_, paths| paths.len() > MAX_FILES_OF_A_RULE);
    let speaks = |mut finding: Finding| {
        let Some(paths) = files.get(&said(&finding)).filter(|_| finding.is_whole_file()) else {
            return Some(finding);
        };
        let (_, others) = paths.split_first().filter(|(first, _)| **first == finding.path)?;
        let named: Vec<String> =
            others.iter().take(MAX_FILES_OF_A_RULE).map(|p| format!("`{p}`")).collect();
        let more = match others.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        finding.body.push_str(&format!(
            "\n\nThe same is true of {} other files: {}{more}.",
            others.len(),
            named.join(", ")
        ));
        Some(finding)
    };
    findings.into_iter().filter_map(speaks).collect()
}

/// Whether two findings about one line say the same: by rule, or by most words of their titles.
fn same(a: &Finding, b: &Finding) -> bool {
    if a.fingerprint == b.fingerprint || a.rule == b.rule {
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

/// Finds out whether findings stand on the lines they quote.
struct Anchors<'t> {
    texts: HashMap<&'t str, Lines<'t>>,
    suppressions: HashMap<&'t str, Suppressions<'t>>,
}

impl<'t> Anchors<'t> {
    fn new<T: AsRef<str>>(texts: &'t HashMap<String, T>) -> Self {
        let texts = || texts.iter().map(|(path, text)| (path.as_str(), text.as_ref()));
        let lines = texts().map(|(path, text)| (path, Lines::new(text)));
        let suppressions = texts().map(|(path, text)| (path, Suppressions::of(path, text)));
        Self { texts: lines.collect(), suppressions: suppressions.collect() }
    }

    /// Whether a suppression comment covers this finding.
    fn suppressed(&self, finding: &Finding) -> bool {
        let head = !finding.is_whole_file() && finding.side == Side::Right;
        let here = self.suppressions.get(finding.path.as_str()).filter(|_| head);
        here.is_some_and(|s| s.covers(finding.start_line, &finding.rule))
    }

    /// The finding on the line it quotes, moved there if need be; `None` when there is none.
    fn anchor(&self, mut finding: Finding) -> Option<Finding> {
        // Of the base side and of whole files there is no head text to compare with.
        if finding.is_whole_file() || finding.side == Side::Left {
            return Some(finding);
        }
        let lines = self.texts.get(finding.path.as_str())?;
        let line = find_line(lines, finding.start_line, &finding.quote)?;
        let height = finding.end_line.saturating_sub(finding.start_line);
        if line != finding.start_line {
            // What was to be replaced is no longer certain.
            finding.suggestion = None;
        }
        finding.start_line = line;
        finding.end_line = line.saturating_add(height).min(lines.count());
        Some(finding)
    }
}

/// The line that reads as `quote`: the one named, or else the only one within reach.
fn find_line(lines: &Lines<'_>, named: u32, quote: &str) -> Option<u32> {
    let reads = |number: u32| lines.get(number).is_some_and(|line| reads_as(line, quote));
    if reads(named) {
        return Some(named);
    }
    if quote.trim().is_empty() {
        return None;
    }
    let last = lines.count().min(named.saturating_add(QUOTE_SEARCH_LINES));
    let mut near = (named.saturating_sub(QUOTE_SEARCH_LINES).max(1)..=last).filter(|n| reads(*n));
    let only = near.next()?;
    near.next().is_none().then_some(only)
}

/// Whether a line reads as a quote, blanks at the ends aside; a long line by its beginning.
fn reads_as(line: &str, quote: &str) -> bool {
    let (line, said) = (line.trim(), quote.trim());
    line == said || quote.chars().count() >= Finding::QUOTE_CHARS && line.starts_with(said)
}
