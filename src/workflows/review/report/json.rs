//! For programs: one object, whose keys are a contract.

use serde::Serialize;

use super::{Coverage, ReportContext, coverage, findings, models, verdict};
use crate::{
    analysis::{Confidence, Finding, FlowStep, Severity, Side, Source},
    workflows::review::{judge::LeftOut, models::ModelUse, state::ReviewState, tools::ToolUse},
};

#[derive(Serialize)]
struct Report<'a> {
    run: &'a str,
    base: &'a str,
    head: &'a str,
    verdict: &'static str,
    findings: Vec<Shown<'a>>,
    left_out: LeftOut,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing: &'a [String],
    coverage: Vec<Coverage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<&'a ToolUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<ModelUse>,
    timings: &'a std::collections::BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    path: &'a str,
    side: Side,
    start_line: u32,
    end_line: u32,
    severity: Severity,
    confidence: Confidence,
    agent: &'a str,
    rule: &'a str,
    title: &'a str,
    body: &'a str,
    suggestion: Option<&'a str>,
    fingerprint: &'a str,
    source: Source,
    quote: &'a str,
    #[serde(skip_serializing_if = "<[FlowStep]>::is_empty")]
    flow: &'a [FlowStep],
}

/// The review as JSON, with a newline at the end.
pub fn json(state: &ReviewState, about: &ReportContext) -> String {
    let judgement = state.judgement.as_ref();
    let report = Report {
        run: &about.run,
        base: &state.target.base,
        head: &state.target.head,
        verdict: verdict(state),
        findings: findings(state).into_iter().map(shown).collect(),
        left_out: judgement.map(|j| j.left_out).unwrap_or_default(),
        missing: judgement.map_or(&[], |j| &j.missing),
        coverage: coverage(state),
        tools: state.tool_uses().collect(),
        models: models(state),
        timings: &about.timings,
    };
    // Strings, numbers and maps keyed by strings always have a JSON form.
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

fn shown(finding: &Finding) -> Shown<'_> {
    Shown {
        path: &finding.path,
        side: finding.side,
        start_line: finding.start_line,
        end_line: finding.end_line,
        severity: finding.severity,
        confidence: finding.confidence,
        agent: &finding.agent,
        rule: &finding.rule,
        title: &finding.title,
        body: &finding.body,
        suggestion: finding.suggestion.as_deref(),
        fingerprint: &finding.fingerprint,
        source: finding.source,
        quote: &finding.quote,
        flow: &finding.flow,
    }
}
