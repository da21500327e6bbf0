//! Where each agent leads, by the state. Pure: the same flags lead the same way.

use super::{AGENTS, DeliveryState, END, ESCALATE};

/// `pm` once there are requirements; a person when there are none, or the analyst is stuck.
pub fn route_after_analyst(state: &DeliveryState) -> &'static str {
    let crystallised = state.requirements.as_ref().is_some_and(|all| !all.is_empty());
    if state.escalate_to_human || !crystallised { ESCALATE } else { "pm" }
}

/// `architect` when the work needs a design, else `dev`; a person when the pm is stuck.
pub fn route_after_pm(state: &DeliveryState) -> &'static str {
    match state {
        DeliveryState { escalate_to_human: true, .. } => ESCALATE,
        DeliveryState { needs_architecture: true, .. } => "architect",
        _ => "dev",
    }
}

/// `dev`, always: a design that raised a question is validated with it.
pub fn route_after_architect(_: &DeliveryState) -> &'static str {
    "dev"
}

/// `tea`, always.
pub fn route_after_dev(_: &DeliveryState) -> &'static str {
    "tea"
}

/// The end when the work is ready, `dev` when a gate blocks it; a person when somebody is stuck, or
/// the test architect says neither.
pub fn route_after_tea(state: &DeliveryState) -> &'static str {
    match state {
        DeliveryState { escalate_to_human: true, .. } => ESCALATE,
        DeliveryState { gate_blocked: true, .. } => "dev",
        DeliveryState { deployment_ready: true, .. } => END,
        _ => ESCALATE,
    }
}

/// Whom the person named; the end when the work is to stop.
pub fn route_after_escalation(state: &DeliveryState) -> &'static str {
    let next = state.escalation.as_ref().and_then(|said| said.next.as_deref());
    let next = next.and_then(|next| AGENTS.iter().find(|agent| agent.id() == next));
    next.map_or(END, |agent| agent.id())
}
