//! Designs what the stories need.

use async_trait::async_trait;

use super::{
    super::{Ctx, DeliveryState, DeliveryUpdate, routes},
    Agent, AgentReport, ask, handed_over,
};
use crate::base::Result;

const INSTRUCTIONS: &str = "\
    You are the architect of a software delivery team. Design what the stories need: components, \
    their borders, the data between them. Every choice that could have gone another way is a \
    decision with its rationale. Put the design into your summary.";

/// Designs what the stories need.
pub(super) struct Architect;

#[async_trait]
impl Agent for Architect {
    fn id(&self) -> &'static str {
        "architect"
    }

    fn targets(&self) -> &'static [&'static str] {
        &["dev"]
    }

    fn route(&self, state: &DeliveryState) -> &'static str {
        routes::route_after_architect(state)
    }

    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate> {
        let report: AgentReport = ask(ctx, INSTRUCTIONS).await?;
        Ok(handed_over(ctx, report))
    }
}
