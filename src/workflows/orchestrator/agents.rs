//! Who works on tasks: a registry that is given at start, and the agents that come with verdict.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    analyze::TaskAnalysis,
    state::{AgentOutput, ApprovalResponse, Artifact, OrchestratorState, RoutingHints},
};
use crate::{
    base::{Fault, Result},
    graph::RunId,
    model::{self, Account, Model, Request},
};

/// Works on a part of a task.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Does its part. It may be asked twice for the same.
    ///
    /// # Errors
    /// When it could not; it is asked again until the task's limit of retries is reached.
    async fn execute(&self, context: &AgentContext) -> Result<AgentResult>;
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentContext {
    /// The run, whose budget pays.
    #[serde(skip)]
    pub run: String,
    /// Whose task it is.
    pub tenant_id: String,
    /// The project it belongs to.
    pub project_id: String,
    /// Its name there.
    pub task_id: String,
    /// The task.
    pub prompt: String,
    /// What kind of task it is.
    pub analysis: Option<TaskAnalysis>,
    /// What agents have left so far.
    pub previous_outputs: Vec<AgentOutput>,
    /// What a person said last: why this part is to be done again, or which option was chosen.
    pub approval: Option<ApprovalResponse>,
}

impl AgentContext {
    /// What the agents of a run are told in this state.
    pub(super) fn of(run: &RunId, state: &OrchestratorState) -> Self {
        Self {
            run: run.to_string(),
            tenant_id: state.tenant_id.clone(),
            project_id: state.project_id.clone(),
            task_id: state.task_id.clone(),
            prompt: state.prompt.clone(),
            analysis: state.analysis.clone(),
            previous_outputs: state.agent_outputs.clone(),
            approval: state.approval_response.clone(),
        }
    }
}

/// What an agent did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentResult {
    /// Whether it did its part.
    pub success: bool,
    /// What it did.
    pub result: Value,
    /// What it made.
    pub artifacts: Vec<Artifact>,
    /// Who should be next.
    pub routing_hints: RoutingHints,
    /// Why it did not.
    pub error: Option<String>,
}

/// The agents of a process, by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct AgentRegistry(Arc<BTreeMap<String, Arc<dyn Agent>>>);

impl AgentRegistry {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// The agents that come with verdict, who think with this model.
    pub fn built_in(model: Option<&Arc<dyn Model>>) -> Self {
        BUILT_IN.iter().fold(Self::new(), |registry, (name, instructions)| {
            registry.with(name, ModelAgent { name, instructions, model: model.cloned() })
        })
    }

    /// One more, or another of this name.
    #[must_use]
    pub fn with(mut self, name: &str, agent: impl Agent) -> Self {
        Arc::make_mut(&mut self.0).insert(name.to_owned(), Arc::new(agent));
        self
    }

    /// The agent of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Agent>> {
        self.0.get(name)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The list of all built-in agents: their names, and what each does.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "project_manager",
        "Divide the task into steps in the order they are done, each with what shows that it is done.",
    ),
    (
        "architect",
        "Design what the task needs: components, their borders, the data between them, and why so.",
    ),
    ("ui_designer", "Design what people see and do, screen by screen, as mockups."),
    ("frontend_developer", "Write the user interface along the design, as source files."),
    (
        "backend_developer",
        "Write the services and the data behind them along the design, as source files.",
    ),
    (
        "bug_fixer",
        "Find the cause of the bug, mend it with the smallest change, and say what it was.",
    ),
    (
        "tester",
        "Write the tests that show that the work does what the task asks. When it does not, say that it has failures and suggest who mends them.",
    ),
    (
        "reviewer",
        "Review all that was done against the task. When something must be mended, say that it has failures and suggest who mends them; when nothing must, the task is complete.",
    ),
];

/// What every built-in agent is told beside its own part.
const TEAM: &str = "\
    You are one of a team of software development agents. You are told the task, its analysis, what \
    others have left and what a person said. Do your own part only. Ask for approval when a person \
    has to choose or agree before others go on.";

/// An agent that is a language model with instructions.
struct ModelAgent {
    name: &'static str,
    instructions: &'static str,
    model: Option<Arc<dyn Model>>,
}

/// What the model answers.
#[derive(Deserialize, JsonSchema)]
struct AgentAnswer {
    /// Whether you did your part.
    success: bool,
    /// What you did, for the others and for people.
    summary: String,
    /// What you made.
    #[serde(default)]
    artifacts: Vec<Artifact>,
    /// Who should be next.
    #[serde(default)]
    routing_hints: RoutingHints,
    /// Why you did not.
    #[serde(default)]
    error: Option<String>,
}

#[async_trait]
impl Agent for ModelAgent {
    async fn execute(&self, context: &AgentContext) -> Result<AgentResult> {
        let Self { name, instructions, model } = self;
        let told = serde_json::to_string_pretty(context)
            .map_err(|e| Fault::permanent(format!("what `{name}` is told is no JSON: {e}")))?;
        let purpose = format!("orchestrator.{name}");
        let request =
            Request::new(purpose, format!("{TEAM} You are the {name}. {instructions}"), told)
                .paid_by(Account { run: context.run.clone(), ..Account::default() });
        let answer = model::complete(model::configured(model.as_ref())?, request).await;
        let AgentAnswer { success, summary, artifacts, routing_hints, error } =
            answer.map_err(Fault::from)?.value;
        let result = Value::String(summary);
        Ok(AgentResult { success, result, artifacts, routing_hints, error })
    }
}
