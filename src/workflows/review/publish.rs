//! The last node: where the review goes. The forge's publisher decides; a fork of a run publishes
//! nowhere unless it was told to.

use super::{
    report::{self, Checked, ReportContext},
    state::ReviewState,
};
use crate::{
    analysis::{Finding, Side},
    base::{Fault, Result},
    forge::{Comment, Forges, Publication, PublishContext, Published},
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
            .map(|finding| comment(finding, &context))
            .collect(),
    }
}

fn comment(finding: &Finding, context: &ReportContext) -> Comment {
    Comment {
        fingerprint: finding.fingerprint.clone(),
        path: finding.path.clone(),
        on_base: finding.side == Side::Left,
        lines: (!finding.is_whole_file()).then_some((finding.start_line, finding.end_line)),
        body: report::comment(finding),
        in_summary: report::in_summary(finding, context),
        suggestion: finding.suggestion.clone(),
    }
}
