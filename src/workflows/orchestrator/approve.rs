//! The node `awaiting_approval`: a person decides on the latest output.

use serde_json::json;

use super::{
    Ctx,
    state::{ApprovalKind, ApprovalRequest, ApprovalResponse, OrchestratorUpdate},
};
use crate::{base::Fault, graph::NodeError, workflows::ask::ask_person};

/// Asks once for each output, and takes the answer down.
///
/// # Errors
/// The interrupt, until somebody has answered.
pub(super) fn approve(ctx: &Ctx) -> Result<OrchestratorUpdate, NodeError> {
    let last = ctx.state().last_output();
    let last = last.ok_or_else(|| Fault::permanent("there is no output to approve"))?;
    let agent = &last.agent_id;
    let request = ApprovalRequest {
        kind: kind_of(agent),
        description: format!("Review the output of {agent}"),
        artifacts: last.artifacts.clone(),
        options: last.routing_hints.options.clone(),
    };
    let asked = json!({"type": "approval", "request": request});
    let fits = |response: &ApprovalResponse| match &response.selected_option {
        Some(option) if !request.options.contains(option) => {
            let options = request.options.join(", ");
            Err(format!("selected_option: expected one of the options ({options})"))
        }
        _ => Ok(()),
    };
    let mut response: ApprovalResponse = ask_person(ctx, "approval", &asked, fits)?;
    response.timestamp = ctx.deps().clock.now().to_string();
    Ok(OrchestratorUpdate::Decided { request, response })
}

/// What an agent's output is.
fn kind_of(agent: &str) -> ApprovalKind {
    match agent {
        "ui_designer" => ApprovalKind::Design,
        "architect" => ApprovalKind::Architecture,
        "frontend_developer" | "backend_developer" => ApprovalKind::Implementation,
        _ => ApprovalKind::Final,
    }
}
