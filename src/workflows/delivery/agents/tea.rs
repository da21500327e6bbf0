//! Validates the work, and decides whether it may be deployed.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    super::{Ctx, DeliveryState, DeliveryUpdate, DeploymentDecision, END, ESCALATE, routes},
    Agent, AgentReport, ask, handed_over,
};
use crate::base::Result;

const INSTRUCTIONS: &str = "\
    You are the test architect of a software delivery team. Validate the implementation against \
    every requirement. Say whether it should be deployed. When something blocks that and a \
    developer can mend it, the gate is blocked: list each issue.";

#[derive(Deserialize, JsonSchema)]
struct Validation {
    /// Whether the work may be deployed as it is.
    should_deploy: bool,
    /// Whether a developer has to mend something first.
    gate_blocked: bool,
    /// What has to be mended.
    #[serde(default)]
    issues: Vec<String>,
    #[serde(flatten)]
    report: AgentReport,
}

/// Validates the work, and decides whether it may be deployed.
pub(super) struct TestArchitect;

#[async_trait]
impl Agent for TestArchitect {
    fn id(&self) -> &'static str {
        "tea"
    }

    fn targets(&self) -> &'static [&'static str] {
        &["dev", END, ESCALATE]
    }

    fn route(&self, state: &DeliveryState) -> &'static str {
        routes::route_after_tea(state)
    }

    async fn work(&self, ctx: &Ctx) -> Result<DeliveryUpdate> {
        let answer: Validation = ask(ctx, INSTRUCTIONS).await?;
        let should_deploy = answer.should_deploy && !answer.gate_blocked;
        Ok(DeliveryUpdate {
            gate_blocked: Some(answer.gate_blocked),
            deployment_ready: Some(should_deploy),
            deployment_decision: Some(DeploymentDecision { should_deploy, issues: answer.issues }),
            ..handed_over(ctx, answer.report)
        })
    }
}
