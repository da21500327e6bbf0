//! The last node: where the review goes. The forge's publisher decides; a fork of a run publishes
//! nowhere unless it was told to.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    judge,
    report::{self, Checked, ReportContext},
    state::ReviewState,
};
use crate::{
    analysis::{Finding, MaskedText, Side, Source},
    base::{Fault, Result},
    forge::{Comment, Forges, Publication, PublishContext, Published, Standing, Status, Target},
    graph::RunInfo,
};

/// Publishes what the judge left.
///
/// # Errors
/// When there is no judgement to publish, or the forge does not take it.
pub async fn publish(
    forges: &Forges,
    run: &RunInfo,
    state: &ReviewState,
    (idempotency_key, attempt): (String, u32),
) -> Result<Published> {
    if state.judgement.is_none() {
        return Err(Fault::permanent("there is no judgement to publish"));
    }
    if run.forked.as_ref().is_some_and(|fork| !fork.publish) {
        return Ok(Published::InRun);
    }
    let context = PublishContext { idempotency_key, fork: run.forked.is_some(), attempt };
    let publisher = forges.publisher(&state.target)?;
    publisher.publish(&context, &publication(run, state)).await
}

/// Shows where the review of a run stands that is not published.
///
/// # Errors
/// Transient when showing it again may help.
pub async fn show(
    forges: &Forges,
    run: &RunInfo,
    target: &Target,
    standing: &Standing,
) -> Result<()> {
    if run.forked.as_ref().is_some_and(|fork| !fork.publish) {
        return Ok(());
    }
    forges.publisher(target)?.show(target, run.id.as_str(), standing).await
}

fn publication(run: &RunInfo, state: &ReviewState) -> Publication {
    let context = ReportContext { run: run.id.to_string(), ..ReportContext::default() };
    Publication {
        target: state.target.clone(),
        run: context.run.clone(),
        verdict: report::verdict(state),
        reviewed: report::coverage(state).iter().any(|file| file.status == Checked::Done),
        opening: report::opening(state, &context),
        closing: report::closing(state, &context),
        comments: report::findings(state)
            .into_iter()
            .map(|finding| comment(&masked(finding), &context))
            .collect(),
        found: found(state),
        unsettled: unsettled(state),
    }
}

/// By path the agents and tools that did not review it; of what was deleted there is nothing to review.
fn unsettled(state: &ReviewState) -> BTreeMap<String, BTreeSet<String>> {
    let files = state.ingested.iter().flat_map(|change| &change.files);
    let rows = report::coverage(state).into_iter().zip(files);
    let there = rows.filter(|(_, file)| file.change.status != Status::Deleted);
    let left = there.map(|(row, _)| {
        let left = row.agents.into_iter().filter(|(_, checked)| *checked != Checked::Done);
        (row.path, left.map(|(name, _)| name).collect::<BTreeSet<String>>())
    });
    left.filter(|(_, names)| !names.is_empty()).collect()
}

fn found(state: &ReviewState) -> BTreeSet<String> {
    let Some(change) = &state.ingested else { return BTreeSet::new() };
    judge::found(change, state.reports()).map(|f| f.fingerprint.clone()).collect()
}

/// Texts were masked when they were read; this is for words that somebody made up.
fn masked(finding: &Finding) -> Finding {
    let mask = |text: &str| MaskedText::from(text).to_string();
    Finding {
        title: mask(&finding.title),
        body: mask(&finding.body),
        suggestion: finding.suggestion.clone().filter(|text| mask(text) == *text),
        ..finding.clone()
    }
}

fn comment(finding: &Finding, context: &ReportContext) -> Comment {
    Comment {
        fingerprint: finding.fingerprint.clone(),
        agent: finding.agent.clone(),
        unsteady: matches!(finding.source, Source::Model | Source::Tool),
        severity: finding.severity.word(),
        title: report::plain(&finding.title),
        text: report::plain(&finding.body),
        path: finding.path.clone(),
        on_base: finding.side == Side::Left,
        lines: (!finding.is_whole_file()).then_some((finding.start_line, finding.end_line)),
        body: report::comment(finding),
        in_summary: report::in_summary(finding, context),
        suggestion: finding.suggestion.clone(),
    }
}
