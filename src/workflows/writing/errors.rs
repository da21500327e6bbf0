//! The node `error_handler`: what went wrong is told and kept, and the run goes on with what there is.

use super::{
    Ctx, ERROR_HANDLER, EXECUTOR, FORMATTER, SYNTHESIZER,
    state::{OutputStatus, WritingError, WritingState},
};
use crate::{
    base::{Fault, Result},
    graph::Failure,
};

/// Takes down what failed in the step before, and logs it.
///
/// # Errors
/// What failed, when there is nothing to go on with: no analysis, no text of any writer, or no way to
/// format one.
pub(super) fn handle(ctx: &Ctx) -> Result<Vec<WritingError>> {
    let state = ctx.state();
    let mut failed = ctx.failures().iter().filter(|failure| failure.step + 1 == ctx.step());
    let Some(last) = failed.next_back() else {
        return Err(Fault::permanent("nothing failed that the error handler could handle"));
    };
    let node = last.node.as_deref().unwrap_or_default();
    let errors = match node {
        EXECUTOR => writers(state),
        node => vec![WritingError {
            node: node.to_owned(),
            role_id: None,
            kind: OutputStatus::of(&last.fault),
            message: last.fault.to_string(),
        }],
    };
    let run = &ctx.run().id;
    for WritingError { node, role_id, kind, message } in &errors {
        tracing::warn!(%run, node, agent = role_id.as_deref(), kind = kind.word(), error = message, "writing failed in part");
    }
    let usable = matches!(node, EXECUTOR | SYNTHESIZER) && state.completed().next().is_some();
    if usable { Ok(errors) } else { Err(nothing_left(last)) }
}

/// The writers that failed.
fn writers(state: &WritingState) -> Vec<WritingError> {
    let failed = state.agent_outputs.values().filter_map(|output| {
        Some(WritingError {
            node: EXECUTOR.to_owned(),
            role_id: Some(output.role_id.clone()),
            kind: output.status,
            message: output.error.clone()?,
        })
    });
    failed.collect()
}

fn nothing_left(last: &Failure) -> Fault {
    last.fault.clone().while_doing("nothing was written")
}

/// To the error handler when a writer failed, else to the synthesis.
pub(super) fn route_after_execution(state: &WritingState) -> &'static str {
    let failed = |output: &super::AgentOutput| output.status != OutputStatus::Completed;
    if state.agent_outputs.values().any(failed) { ERROR_HANDLER } else { SYNTHESIZER }
}

/// To the synthesis of what arrived, or past it when it is the synthesis that failed.
pub(super) fn route_after_error(state: &WritingState) -> &'static str {
    match state.errors.last() {
        Some(error) if error.node == SYNTHESIZER => FORMATTER,
        _ => SYNTHESIZER,
    }
}
