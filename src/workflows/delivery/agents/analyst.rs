//! Turns a request into requirements.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::{Ctx, DeliveryState, DeliveryUpdate, ESCALATE, routes},
    Agent, AgentReport, ask, handed_over,
};
use crate::base::Result;

const INSTRUCTIONS: &str = "\
    You are the analyst of a software delivery team. Turn the request into crystallised \
    requirements: each one a single, testable sentence. Leave nothing out and add nothing. When \
    the request is too vague to work on, list no requirement, escalate, and ask what is missing.";

#[derive(Deserialize, JsonSchema)]
struct Analysis {
    /// The crystallised requirements.
    requirements: Vec<String>,
    #[serde(flatten)]
    report: AgentReport,
}

/// Turns a request into requirements.
pub(super) struct Analyst;

#[async_trait]
impl Agent for Analyst {
    fn id(&self) -> &'static str {
        "analyst"
    }

    fn targets(&self) -> &'static [&'static str] {
        &["pm", ESCALATE]
    }

    fn route(&self, state: &DeliveryState) -> &'static str {
        routes::route_after_analyst(state)
    }

    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate> {
        let answer: Analysis = ask(ctx, INSTRUCTIONS).await?;
        let requirements = answer.requirements.into_iter().filter(|text| !text.trim().is_empty());
        let requirements = Some(requirements.collect());
        Ok(DeliveryUpdate { requirements, ..handed_over(ctx, answer.report) })
    }
}
