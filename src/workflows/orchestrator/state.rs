//! What the orchestrator knows, as it is kept in the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    analyze::{TaskAnalysis, build_agent_queue},
    input::OrchestratorInput,
};
use crate::{
    graph::{Invalid, State},
    workflows::Message,
};

/// The state of the orchestrator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrchestratorState {
    /// What was said: the task, its analysis, what agents did, what people answered.
    pub messages: Vec<Message>,
    /// Whose task it is.
    pub tenant_id: String,
    /// The project it belongs to.
    pub project_id: String,
    /// Its name there.
    pub task_id: String,
    /// The task.
    pub prompt: String,
    /// What kind of task it is; absent before the analysis.
    pub analysis: Option<TaskAnalysis>,
    /// Who works, or is about to.
    pub current_agent: Option<String>,
    /// Who comes after, in order.
    pub agent_queue: Vec<String>,
    /// Who has done its part, each once.
    pub completed_agents: Vec<String>,
    /// What each agent left, each time it ran.
    pub agent_outputs: Vec<AgentOutput>,
    /// How often in a row the same part of the work failed.
    pub retry_count: u32,
    /// How often it may.
    pub max_retries: u32,
    /// Where the task stands.
    pub status: Status,
    /// Why it failed.
    pub error: Option<String>,
    /// What a person was asked last.
    pub approval_request: Option<ApprovalRequest>,
    /// What that person answered.
    pub approval_response: Option<ApprovalResponse>,
    /// How many of the outputs a person has decided on, counted from the first.
    pub decided_outputs: usize,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being analysed.
    Analyzing,
    /// Between two agents.
    Orchestrating,
    /// With an agent.
    AgentWorking,
    /// With a person.
    AwaitingApproval,
    /// No agent is left.
    Completing,
    /// Done.
    Completed,
    /// Given up.
    Failed,
    /// Ended by a person.
    Aborted,
}

/// What an agent left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentOutput {
    /// The agent.
    pub agent_id: String,
    /// Whether it did its part.
    pub success: bool,
    /// What it did.
    pub result: Value,
    /// What it made.
    pub artifacts: Vec<Artifact>,
    /// Who should be next.
    pub routing_hints: RoutingHints,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When: RFC 3339.
    pub timestamp: String,
}

impl AgentOutput {
    /// Whether the work has to be done again.
    pub fn failed(&self) -> bool {
        !self.success || self.routing_hints.has_failures
    }
}

/// Something that an agent made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Names it.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    /// Where it belongs.
    pub path: String,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum ArtifactKind {
    Mockup,
    SourceFile,
    TestFile,
    ConfigFile,
    Documentation,
}

/// Who should be next, as an agent sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoutingHints {
    /// Agents to go on with, the first that has not done its part yet; after failures, the one that
    /// can mend them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggest_next: Vec<String>,
    /// Agents that are not needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_agents: Vec<String>,
    /// Whether a person has to approve this before anybody goes on.
    pub needs_approval: bool,
    /// What that person may choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whether the work has failures that have to be mended.
    pub has_failures: bool,
    /// Whether the task is done, and nobody else is needed.
    pub is_complete: bool,
}

/// What a person is asked to approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ApprovalKind,
    /// The same for people.
    pub description: String,
    /// What was made.
    pub artifacts: Vec<Artifact>,
    /// What may be chosen from.
    pub options: Vec<String>,
}

/// What is to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum ApprovalKind {
    Design,
    Architecture,
    Implementation,
    Final,
}

/// What a person answers: `{"approved": true, "selected_option"?: OPTION}`,
/// `{"approved": false, "feedback": TEXT}`, or `{"approved": false, "abort": true}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalResponse {
    /// Whether the work goes on from here; otherwise it is done again.
    pub approved: bool,
    /// What was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_option: Option<String>,
    /// What the agents should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Whether the task ends here.
    #[serde(default)]
    pub abort: bool,
    /// When: RFC 3339. Set when the answer is taken down.
    #[serde(default)]
    pub timestamp: String,
}

/// What one node changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrchestratorUpdate {
    /// From `analyze`.
    Analyzed(TaskAnalysis),
    /// From `route_to_agent`.
    Routed(super::route::Next),
    /// From `execute_agent`.
    AgentRan(AgentOutput),
    /// From `execute_agent`, of an agent that ended without an output.
    AgentFailed {
        /// Why.
        error: String,
        /// When: RFC 3339.
        timestamp: String,
    },
    /// From `awaiting_approval`.
    Decided {
        /// What was asked.
        request: ApprovalRequest,
        /// What was answered.
        response: ApprovalResponse,
    },
    /// From `complete`.
    Completed,
    /// From `execute_agent` when there is no agent to run, and from `error`: why.
    Failed(String),
}

impl OrchestratorState {
    /// The latest output.
    pub fn last_output(&self) -> Option<&AgentOutput> {
        self.agent_outputs.last()
    }

    /// Whether a person has decided on the latest output.
    pub fn is_decided(&self) -> bool {
        self.decided_outputs >= self.agent_outputs.len()
    }

    fn add_output(&mut self, output: AgentOutput) {
        let mut failed = self.agent_outputs.iter().rev().filter(|output| output.failed());
        let mended = failed.next().is_none_or(|failed| failed.agent_id == output.agent_id);
        let name = output.agent_id.clone();
        if output.failed() {
            self.retry_count += 1;
        } else if mended {
            self.retry_count = 0;
        }
        if !output.failed() && !self.completed_agents.contains(&name) {
            self.completed_agents.push(name.clone());
        }
        let said = output.error.clone().unwrap_or_else(|| match &output.result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        self.say(&name, said);
        self.agent_outputs.push(output);
        self.current_agent = None;
        self.status = match super::route::needs_approval(self) {
            true => Status::AwaitingApproval,
            false => Status::Orchestrating,
        };
    }

    fn say(&mut self, from: &str, content: String) {
        let id = self.messages.len().to_string();
        Message::append(&mut self.messages, vec![Message::new(id, from, content)]);
    }
}

impl State for OrchestratorState {
    type Input = OrchestratorInput;
    type Update = OrchestratorUpdate;

    fn new(input: OrchestratorInput) -> Self {
        let OrchestratorInput { prompt, tenant_id, project_id, task_id, max_retries } = input;
        Self {
            messages: vec![Message::new("0", "user", &prompt)],
            tenant_id,
            project_id,
            task_id,
            prompt,
            analysis: None,
            current_agent: None,
            agent_queue: Vec::new(),
            completed_agents: Vec::new(),
            agent_outputs: Vec::new(),
            retry_count: 0,
            max_retries,
            status: Status::Pending,
            error: None,
            approval_request: None,
            approval_response: None,
            decided_outputs: 0,
        }
    }

    fn validate(&self, update: &OrchestratorUpdate) -> Result<(), Invalid> {
        match update {
            OrchestratorUpdate::AgentRan(output)
                if self.current_agent.as_ref() != Some(&output.agent_id) =>
            {
                Err(Invalid::new("agent_outputs.agent_id", "the agent in `current_agent`"))
            }
            OrchestratorUpdate::Decided { .. } if self.agent_outputs.is_empty() => {
                Err(Invalid::new("approval_response", "an output, before it is decided on"))
            }
            _ => Ok(()),
        }
    }

    fn merge(&mut self, update: OrchestratorUpdate) {
        match update {
            OrchestratorUpdate::Analyzed(analysis) => {
                self.agent_queue = build_agent_queue(&analysis);
                self.status = Status::Orchestrating;
                let queue = self.agent_queue.join(", ");
                self.say("analyze", format!("The agents: {queue}"));
                self.analysis = Some(analysis);
            }
            OrchestratorUpdate::Routed(next) => {
                self.agent_queue = next.queue;
                self.status = match next.agent {
                    Some(_) => Status::AgentWorking,
                    None => Status::Completing,
                };
                self.current_agent = next.agent;
            }
            OrchestratorUpdate::AgentRan(output) => self.add_output(output),
            OrchestratorUpdate::AgentFailed { error, timestamp } => {
                let output = AgentOutput {
                    agent_id: self.current_agent.clone().unwrap_or_default(),
                    success: false,
                    result: Value::Null,
                    artifacts: Vec::new(),
                    routing_hints: RoutingHints { has_failures: true, ..Default::default() },
                    error: Some(error),
                    timestamp,
                };
                self.add_output(output);
            }
            OrchestratorUpdate::Decided { request, response } => {
                self.status = if response.abort { Status::Aborted } else { Status::Orchestrating };
                let said = if response.approved { "approved" } else { "rejected" };
                let told = response.feedback.as_ref().or(response.selected_option.as_ref());
                let told = told.map_or(String::new(), |told| format!(": {told}"));
                self.say("human", format!("{said}{told}"));
                self.decided_outputs = self.agent_outputs.len();
                self.approval_request = Some(request);
                self.approval_response = Some(response);
            }
            OrchestratorUpdate::Completed => self.status = Status::Completed,
            OrchestratorUpdate::Failed(why) => {
                if self.status != Status::Aborted {
                    self.status = Status::Failed;
                }
                self.error = Some(why);
            }
        }
    }
}
