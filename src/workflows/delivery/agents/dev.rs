//! Implements the stories.

use async_trait::async_trait;

use super::{
    super::{Ctx, DeliveryState, DeliveryUpdate, routes},
    Agent, AgentReport, ask, handed_over,
};
use crate::base::Result;

const INSTRUCTIONS: &str = "\
    You are the developer of a software delivery team. Implement the stories along the design, \
    if there is one. When the deployment decision lists issues, mend them first. Put what you \
    built, with the code that matters, into your summary.";

/// Implements the stories.
pub(super) struct Developer;

#[async_trait]
impl Agent for Developer {
    fn id(&self) -> &'static str {
        "dev"
    }

    fn targets(&self) -> &'static [&'static str] {
        &["tea"]
    }

    fn route(&self, state: &DeliveryState) -> &'static str {
        routes::route_after_dev(state)
    }

    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate> {
        let report: AgentReport = ask(ctx, INSTRUCTIONS).await?;
        Ok(handed_over(ctx, report))
    }
}
