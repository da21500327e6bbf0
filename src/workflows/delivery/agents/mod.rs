//! The agents of a delivery, and what they have in common. To add one: a file here and a line in
//! [`AGENTS`].

mod analyst;
mod architect;
mod dev;
mod pm;
mod tea;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    Ctx, DeliveryState, DeliveryUpdate,
    state::{Decision, HandoffContext},
};
use crate::{
    base::{Fault, Result},
    workflows::{
        Message,
        ask::{Question, ask_model},
    },
};

/// One agent: a node of the graph.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Its name, and its node's.
    fn id(&self) -> &'static str;
    /// Where it may lead.
    fn targets(&self) -> &'static [&'static str];
    /// Where it leads.
    fn route(&self, state: &DeliveryState) -> &'static str;
    /// Does its part.
    ///
    /// # Errors
    /// When the model does not answer.
    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate>;
}

/// The list of all agents.
pub const AGENTS: &[&dyn Agent] = &[
    &analyst::Analyst,
    &pm::ProjectManager,
    &architect::Architect,
    &dev::Developer,
    &tea::TestArchitect,
];

/// What every agent answers, beside what is its own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct AgentReport {
    /// What you did, and what the next agent should know.
    summary: String,
    /// What you decided.
    #[serde(default)]
    decisions: Vec<ReportedDecision>,
    /// True only when you cannot go on without a person.
    #[serde(default)]
    escalate_to_human: bool,
    /// What you would ask that person.
    #[serde(default)]
    question: Option<String>,
}

/// A decision as a model writes it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct ReportedDecision {
    /// What was decided.
    decision: String,
    /// Why.
    rationale: String,
}

/// Asks the model, with the delivery so far as what it is about.
async fn ask<T: JsonSchema + DeserializeOwned>(ctx: &Ctx, instructions: &str) -> Result<T> {
    let so_far = serde_json::to_string_pretty(ctx.state())
        .map_err(|e| Fault::permanent(format!("the state has no JSON form: {e}")))?;
    let purpose = format!("delivery.{}", ctx.node());
    let prompt = format!("The delivery so far, as JSON:\n\n{so_far}");
    let question = Question { purpose: &purpose, instructions, prompt };
    ask_model(ctx, ctx.deps().model.as_ref(), question).await
}

/// What every agent's report comes to.
fn handed_over(ctx: &Ctx, report: AgentReport) -> DeliveryUpdate {
    let agent = ctx.node().to_string();
    // Of somebody before who is stuck, and whom nobody has answered yet.
    let left = ctx.state().handoff_context.as_ref().filter(|_| ctx.state().escalate_to_human);
    let open = left.and_then(|left| left.question.clone());
    let decided = report.decisions.into_iter().map(|ReportedDecision { decision, rationale }| {
        Decision { agent: agent.clone(), decision, rationale }
    });
    DeliveryUpdate {
        messages: vec![Message::new(format!("{}.{agent}", ctx.step()), &agent, &report.summary)],
        decisions: decided.collect(),
        handoff_context: Some(HandoffContext {
            source_agent: agent.clone(),
            summary: report.summary,
            question: report.question.filter(|_| report.escalate_to_human).or(open),
        }),
        // Only a person's answer clears it.
        escalate_to_human: report.escalate_to_human.then_some(true),
        current_agent: Some(agent),
        ..DeliveryUpdate::default()
    }
}
