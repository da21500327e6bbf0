//! The node `escalate`: an agent is stuck, and a person says how it goes on.

use serde::{Deserialize, Serialize};

use super::{AGENTS, Ctx, DeliveryUpdate, state::Escalation};
use crate::{
    graph::NodeError,
    workflows::{Message, ask::ask_person},
};

/// What the person is asked.
#[derive(Serialize)]
struct EscalationRequest<'s> {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Who is stuck.
    source_agent: &'s str,
    /// What it asks, or what it did last.
    question: &'s str,
    /// Whom `next` may name.
    agents: Vec<&'static str>,
}

/// What the person answers: `{"guidance": TEXT, "next"?: AGENT}` to go on, at the agent that asked
/// unless another is named, or `{"stop": true}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EscalationAnswer {
    /// What the agents should know.
    pub guidance: String,
    /// Who goes on.
    pub next: Option<String>,
    /// Whether the work ends here.
    pub stop: bool,
}

/// Whether `next` names an agent.
fn known(answer: &EscalationAnswer) -> Result<(), String> {
    let ids = || AGENTS.iter().map(|agent| agent.id());
    match &answer.next {
        Some(next) if !ids().any(|id| id == next) => {
            Err(format!("next: expected one of {}", ids().collect::<Vec<_>>().join(", ")))
        }
        _ => Ok(()),
    }
}

/// Asks, and takes the answer down.
///
/// # Errors
/// The interrupt, until somebody has answered.
pub(super) fn escalate(ctx: &Ctx) -> Result<DeliveryUpdate, NodeError> {
    let state = ctx.state();
    let handoff = state.handoff_context.as_ref();
    let question =
        handoff.map(|left| left.question.as_deref().unwrap_or(&left.summary)).unwrap_or_default();
    let request = EscalationRequest {
        kind: "escalation",
        source_agent: &state.current_agent,
        question,
        agents: AGENTS.iter().map(|agent| agent.id()).collect(),
    };
    let answer: EscalationAnswer = ask_person(ctx, "escalation", &request, known)?;
    let asker = state.current_agent.clone();
    let next = (!answer.stop).then(|| answer.next.unwrap_or_else(|| asker.clone()));
    let id = format!("{}.{}", ctx.step(), ctx.node());
    Ok(DeliveryUpdate {
        messages: vec![Message::new(id, "human", answer.guidance)],
        escalate_to_human: Some(false),
        escalation: Some(Escalation { source_agent: asker, next }),
        ..DeliveryUpdate::default()
    })
}
