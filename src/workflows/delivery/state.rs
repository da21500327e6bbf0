//! What a delivery knows, as it is kept in the run.

use serde::{Deserialize, Serialize};

use super::input::DeliveryInput;
use crate::{
    graph::{Invalid, State},
    workflows::Message,
};

/// The state of a delivery.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeliveryState {
    /// What was said: the request, each agent's summary, the answers of people.
    pub messages: Vec<Message>,
    /// Who worked last; empty before.
    pub current_agent: String,
    /// What that agent left for the next.
    pub handoff_context: Option<HandoffContext>,
    /// Everything that was decided, the oldest first.
    pub decisions: Vec<Decision>,
    /// The crystallised requirements; absent before the analyst.
    pub requirements: Option<Vec<String>>,
    /// Whether the work may be deployed; absent before the test architect.
    pub deployment_decision: Option<DeploymentDecision>,
    /// Whether the work needs a design first. Set by `pm`.
    pub needs_architecture: bool,
    /// Whether an agent is stuck. Set by any of them, cleared when a person has answered.
    pub escalate_to_human: bool,
    /// Whether a quality gate failed. Set by `tea`.
    pub gate_blocked: bool,
    /// Whether validation passed. Set by `tea`.
    pub deployment_ready: bool,
    /// What a person said last.
    pub escalation: Option<Escalation>,
}

/// What one agent leaves for the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffContext {
    /// Who leaves it.
    pub source_agent: String,
    /// What was done, and what the next should know.
    pub summary: String,
    /// What the agent, or one before it, would ask a person; absent when nobody is stuck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// Something that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Who decided.
    pub agent: String,
    /// What.
    pub decision: String,
    /// Why.
    pub rationale: String,
}

/// What the test architect says of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentDecision {
    /// Whether it may be deployed.
    pub should_deploy: bool,
    /// What has to be mended first.
    pub issues: Vec<String>,
}

/// What a person said to an agent that was stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// Who was stuck.
    pub source_agent: String,
    /// Who goes on; nobody when the work is to stop.
    pub next: Option<String>,
}

/// What one node changes. What is absent stays as it was; lists are appended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryUpdate {
    /// Appended; one with a known id replaces the known one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_agent: Option<String>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_context: Option<HandoffContext>,
    /// Appended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Vec<String>>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_decision: Option<DeploymentDecision>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_architecture: Option<bool>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate_to_human: Option<bool>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_blocked: Option<bool>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_ready: Option<bool>,
    /// Replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
}

impl DeliveryState {
    /// The state that a run of this request starts with.
    pub fn initial(request: impl Into<String>) -> Self {
        Self::new(DeliveryInput { request: request.into() })
    }
}

impl State for DeliveryState {
    type Input = DeliveryInput;
    type Update = DeliveryUpdate;

    fn new(input: DeliveryInput) -> Self {
        let request = Message::new("request", "user", input.request);
        Self { messages: vec![request], ..Self::default() }
    }

    fn validate(&self, update: &DeliveryUpdate) -> Result<(), Invalid> {
        let blocked = update.gate_blocked.unwrap_or(self.gate_blocked);
        let ready = update.deployment_ready.unwrap_or(self.deployment_ready);
        if ready && blocked {
            return Err(Invalid::new("deployment_ready", "false while `gate_blocked` is true"));
        }
        let blank = |text: &String| text.trim().is_empty();
        if update.requirements.iter().flatten().any(blank) {
            return Err(Invalid::new("requirements", "texts that are not blank"));
        }
        Ok(())
    }

    fn merge(&mut self, update: DeliveryUpdate) {
        Message::append(&mut self.messages, update.messages);
        self.decisions.extend(update.decisions);
        replace(&mut self.current_agent, update.current_agent);
        replace(&mut self.needs_architecture, update.needs_architecture);
        replace(&mut self.escalate_to_human, update.escalate_to_human);
        replace(&mut self.gate_blocked, update.gate_blocked);
        replace(&mut self.deployment_ready, update.deployment_ready);
        self.handoff_context = update.handoff_context.or(self.handoff_context.take());
        self.requirements = update.requirements.or(self.requirements.take());
        self.deployment_decision = update.deployment_decision.or(self.deployment_decision.take());
        self.escalation = update.escalation.or(self.escalation.take());
    }
}

fn replace<T>(field: &mut T, update: Option<T>) {
    if let Some(update) = update {
        *field = update;
    }
}
