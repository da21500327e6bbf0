//! The node `analyze`: what kind of task it is, and who works on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ctx;
use crate::{
    base::Result,
    workflows::ask::{Question, ask_model},
};

const INSTRUCTIONS: &str = "\
    You analyse tasks for a team of software development agents. Say what type of task it is, how \
    complex, whether it needs work on the user interface, on the backend, or a design of the \
    architecture first, whether a person has to approve the outcome, and which agents should be \
    involved.";

/// What kind of task it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskAnalysis {
    /// What is to be done.
    pub task_type: TaskType,
    /// How much work it is.
    pub complexity: Complexity,
    /// Whether something that people see changes.
    pub requires_ui: bool,
    /// Whether something behind it changes.
    pub requires_backend: bool,
    /// Whether a design is needed first.
    pub requires_architecture: bool,
    /// Whether a person has to approve the outcome.
    pub requires_approval: bool,
    /// The agents that should be involved.
    #[serde(default)]
    pub suggested_agents: Vec<String>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum TaskType {
    Feature,
    Bugfix,
    Refactor,
    Docs,
    Config,
    Test,
}

/// How much work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words say it")]
pub enum Complexity {
    Trivial,
    Simple,
    Moderate,
    Complex,
}

/// Asks the model.
///
/// # Errors
/// When it does not answer.
pub(super) async fn analyze(ctx: &Ctx) -> Result<TaskAnalysis> {
    let (state, deps) = (ctx.state(), ctx.deps());
    let agents = deps.agents.names().collect::<Vec<_>>().join(", ");
    let (prompt, project) = (&state.prompt, &state.project_id);
    let question = Question {
        purpose: "orchestrator.analyze",
        instructions: INSTRUCTIONS,
        prompt: format!("The agents: {agents}\nThe project: {project}\n\nThe task:\n\n{prompt}"),
    };
    ask_model(ctx, deps.model.as_ref(), question).await
}

/// Who works on such a task, in order.
pub fn build_agent_queue(analysis: &TaskAnalysis) -> Vec<String> {
    let bugfix = analysis.task_type == TaskType::Bugfix;
    let large = matches!(analysis.complexity, Complexity::Moderate | Complexity::Complex);
    let all = [
        ("project_manager", large && !bugfix),
        ("architect", analysis.requires_architecture && !bugfix),
        ("ui_designer", analysis.requires_ui && !bugfix),
        ("frontend_developer", analysis.requires_ui && !bugfix),
        ("backend_developer", analysis.requires_backend && !bugfix),
        ("bug_fixer", bugfix),
        ("tester", true),
        ("reviewer", true),
    ];
    all.into_iter().filter(|(_, needed)| *needed).map(|(name, _)| name.to_owned()).collect()
}
