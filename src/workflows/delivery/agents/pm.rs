//! Turns requirements into stories.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::{Ctx, DeliveryState, DeliveryUpdate, ESCALATE, routes},
    Agent, AgentReport, ask, handed_over,
};
use crate::base::Result;

const INSTRUCTIONS: &str = "\
    You are the project manager of a software delivery team. Turn the requirements into stories \
    in the order they are built, and say whether they need a new design before anybody writes \
    code. Put the stories into your summary.";

#[derive(Deserialize, JsonSchema)]
struct Plan {
    /// Whether the work needs a design first.
    needs_architecture: bool,
    #[serde(flatten)]
    report: AgentReport,
}

/// Turns requirements into stories.
pub(super) struct ProjectManager;

#[async_trait]
impl Agent for ProjectManager {
    fn id(&self) -> &'static str {
        "pm"
    }

    fn targets(&self) -> &'static [&'static str] {
        &["architect", "dev", ESCALATE]
    }

    fn route(&self, state: &DeliveryState) -> &'static str {
        routes::route_after_pm(state)
    }

    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate> {
        let answer: Plan = ask(ctx, INSTRUCTIONS).await?;
        let needs_architecture = Some(answer.needs_architecture);
        Ok(DeliveryUpdate { needs_architecture, ..handed_over(ctx, answer.report) })
    }
}
