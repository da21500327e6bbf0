//! Flows into findings: how sure each is, where it is shown, and the way it takes.

use std::{cmp::Reverse, collections::HashMap, fmt::Write as _};

use super::{
    form::{Function, Param, Unit},
    model::{self, Harm, Reach},
    run::{Followed, Hit},
    value::Origin,
};
use crate::{
    Category, Confidence, Finding, FlowStep, Lines, Severity, Side, Source, SourceText,
    finding::quote, globs,
};

/// How sure a flow is at most that starts at a parameter anybody may pass.
const FROM_PARAMETER: u8 = 60;
/// The same where the source is the surroundings, or the function is nobody else's.
const FROM_NEAR: u8 = 40;
/// What passing through something unknown takes off.
const VAGUE: u8 = 30;
/// The kind of harm that a check of the value ends for all its uses: the surest of them is reported.
const ENDED_AT_SOURCE: &str = "path-traversal";
/// Steps shown of one way.
const MAX_SHOWN: usize = 12;
/// Characters shown of one step.
const MAX_NOTE: usize = 120;

/// What a kind of flow is called and means.
#[derive(Debug, Clone, Copy)]
pub struct FlowRule {
    /// The rule's name.
    pub id: &'static str,
    /// What is wrong, in one line.
    pub title: &'static str,
    /// Why it is wrong.
    pub problem: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// The weakness (CWE number).
    pub cwe: u32,
    /// How much it matters.
    pub severity: Severity,
    /// How sure a flow from a request is.
    pub confidence: Confidence,
}

/// Every kind of flow that is reported.
pub fn rules() -> impl Iterator<Item = FlowRule> {
    model::harms().iter().map(|harm| FlowRule {
        id: &harm.id,
        title: harm.title.trim(),
        problem: harm.problem.trim(),
        advice: harm.advice.trim(),
        cwe: harm.cwe,
        severity: harm.severity,
        confidence: harm.confidence,
    })
}

/// The findings of a file: one for each sink and kind of harm, from its surest source.
pub(super) fn findings(
    unit: &Unit<'_>,
    followed: &Followed,
    source: SourceText<'_>,
    lines: &Lines<'_>,
) -> Vec<Finding> {
    let mut best: Vec<(&Hit, u8)> = Vec::new();
    // A statement whose use is known is reported there.
    let used = |hit: &Hit| {
        let same = |h: &&Hit| (h.harm, h.origin) == (hit.harm, hit.origin);
        let first = followed.hits.iter().filter(same).min_by_key(|h| (h.text_only, h.line));
        hit.text_only && first.is_some_and(|first| !std::ptr::eq(first, hit))
    };
    // What is prepared is reported where it is used.
    let goes_on = |hit: &Hit| {
        let step = format!("through `{}`", hit.sink);
        let through = |later: &Hit| {
            let same = (later.harm, later.origin) == (hit.harm, hit.origin);
            same && later.way.iter().any(|(line, note)| *line == hit.line && **note == *step)
        };
        followed.hits.iter().any(|later| through(later) && anchor(later, source).is_some())
    };
    for hit in followed.hits.iter().filter(|hit| !used(hit) && !goes_on(hit)) {
        let Some(harm) = model::harms().get(hit.harm) else { continue };
        if anchor(hit, source).is_none() {
            continue;
        }
        let sure = confidence(unit, followed, hit, harm, source);
        match best.iter_mut().find(|(h, _)| (h.harm, h.line) == (hit.harm, hit.line)) {
            Some(known) if known.1 < sure => *known = (hit, sure),
            Some(_) => {}
            None => best.push((hit, sure)),
        }
    }
    let mut uses: HashMap<_, Vec<u32>> = HashMap::new();
    best.sort_by_key(|(hit, sure)| (Reverse(*sure), hit.line));
    best.retain(|(hit, _)| {
        let once = model::harms().get(hit.harm).is_some_and(|harm| harm.id == ENDED_AT_SOURCE);
        let uses = uses.entry((hit.harm, hit.origin)).or_default();
        uses.push(hit.line);
        !once || uses.len() == 1
    });
    let test = globs::is_test(source.path);
    let tooling = globs::is_tooling(source.path);
    let mut all: Vec<Finding> = Vec::new();
    for (hit, sure) in best {
        let Some(mut finding) = finding(hit, sure, source, lines) else { continue };
        let request = matches!(hit.origin, Origin::Source(at)
            if followed.sources.get(at).is_some_and(|s| s.reach == Reach::Request));
        if test || tooling && !request {
            finding.soften();
        }
        let others = uses.get(&(hit.harm, hit.origin)).filter(|_| finding.rule == ENDED_AT_SOURCE);
        if let [_, others @ ..] = others.map_or(&[][..], Vec::as_slice)
            && !others.is_empty()
        {
            let others: Vec<String> = others.iter().map(u32::to_string).collect();
            let _ = write!(finding.body, " It is used so on line {}, too.", others.join(", "));
        }
        all.push(finding);
    }
    all
}

fn confidence(
    unit: &Unit<'_>,
    followed: &Followed,
    hit: &Hit,
    harm: &Harm,
    source: SourceText<'_>,
) -> u8 {
    let most = match hit.origin {
        Origin::Source(at) => match followed.sources.get(at).map(|s| s.reach) {
            Some(Reach::Request) => 100,
            Some(Reach::Parameter) => FROM_PARAMETER,
            _ => FROM_NEAR,
        },
        Origin::Param(at, number) => {
            let passed = followed.passed.get(&(at, number));
            // What nothing here calls, somebody else does, whatever it is declared as.
            let called = |f: &Function<'_>| f.exported || passed.is_none();
            let function = unit.functions.get(at).filter(|f| called(f) && !f.nested);
            let param = function.and_then(|f| f.params.get(number));
            let own = passed == Some(&false);
            // PHP puts numbers into a text as they are.
            let number = |p: &Param<'_>| source.path.ends_with(".php") && is_number(p);
            let told = param.is_some_and(|p| !p.optional && !number(p));
            if !own && told { FROM_PARAMETER } else { FROM_NEAR }
        }
    };
    let mut sure = harm.confidence.get().min(most);
    if hit.vague {
        sure = sure.saturating_sub(VAGUE);
    }
    if hit.weak {
        sure = sure.min(FROM_NEAR);
    }
    sure
}

/// Whether the name of a parameter without a type says that it holds a number.
fn is_number(param: &Param<'_>) -> bool {
    let name = param.target.name().unwrap_or_default().to_ascii_lowercase();
    param.ty.is_none() && ["id", "count", "limit", "offset"].iter().any(|end| name.ends_with(end))
}

/// The touched line that a flow is shown at: the sink, else the touched step nearest to it.
fn anchor(hit: &Hit, source: SourceText<'_>) -> Option<(u32, u32)> {
    let touched = |first: u32, last: u32| source.touched.first_in(first, last.max(first));
    let steps = hit.way.iter().rev().map(|(line, _)| *line);
    touched(hit.line, hit.end).or_else(|| steps.into_iter().find_map(|line| touched(line, line)))
}

fn finding(hit: &Hit, sure: u8, source: SourceText<'_>, lines: &Lines<'_>) -> Option<Finding> {
    let harm = model::harms().get(hit.harm)?;
    let (start_line, end_line) = anchor(hit, source)?;
    let flow = way(hit, source.path);
    let told: Vec<String> =
        flow.iter().map(|step| format!("line {}, {}", step.line, step.note)).collect();
    let (problem, advice) = (harm.problem.trim(), harm.advice.trim());
    let way = told.join(" → ");
    let body = format!("{problem} (CWE-{})\n\n{advice}\n\nThe way of the value: {way}.", harm.cwe);
    Some(Finding {
        fingerprint: String::new(),
        agent: Category::Security.into(),
        rule: harm.id.clone(),
        path: source.path.to_owned(),
        side: Side::Right,
        start_line,
        end_line,
        severity: harm.severity,
        confidence: Confidence::hundredths(sure),
        title: harm.title.trim().to_owned(),
        body,
        suggestion: None,
        quote: quote(lines.get(start_line)?),
        source: Source::Flow,
        flow,
        unless: Default::default(),
    })
}

/// The steps of a flow, in order, the sink last.
fn way(hit: &Hit, path: &str) -> Vec<FlowStep> {
    let mut steps: Vec<FlowStep> = Vec::new();
    let sink = format!("reaches `{}`", hit.sink.trim_start_matches('.'));
    let all = hit.way.iter().map(|(line, note)| (*line, note.to_string()));
    for (line, note) in all.chain([(hit.line, sink)]) {
        let note = note.chars().take(MAX_NOTE).collect();
        let step = FlowStep { path: path.to_owned(), line, note };
        if steps.last() != Some(&step) {
            steps.push(step);
        }
    }
    // The first and the last say most.
    while steps.len() > MAX_SHOWN {
        steps.remove(steps.len() / 2);
    }
    steps
}
