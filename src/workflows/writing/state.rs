//! What a writing run knows, as it is kept in the run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{input::WritingInput, output::WritingOutput};
use crate::{
    base::{Fault, FaultKind},
    graph::{Invalid, State},
};

/// The state of a writing run. It knows no role by name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WritingState {
    /// What is to be written.
    pub user_request: String,
    /// Who writes it; absent before the analysis.
    pub role_analysis: Option<RoleAnalysis>,
    /// What each of them wrote, by role id.
    pub agent_outputs: BTreeMap<String, AgentOutput>,
    /// All of it combined; absent before the synthesis, or when that failed.
    pub synthesized_content: Option<String>,
    /// What went wrong, the oldest first.
    pub errors: Vec<WritingError>,
    /// The answer; absent before the end.
    pub final_output: Option<WritingOutput>,
}

/// Who writes, and why they.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleAnalysis {
    /// The roles, the most important first.
    pub identified_roles: Vec<Role>,
    /// Why these, for people.
    pub reasoning: String,
    /// Whether they are the default roles, since the request asked for none in particular.
    #[serde(default)]
    pub is_default: bool,
}

/// One writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    /// A word that names it, unique in the run, like `research_scientist`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it contributes.
    pub description: String,
    /// The instructions it writes by. `{request}` stands for the request.
    pub prompt_template: String,
    /// Its place among the roles, 1 being the most important; unique.
    pub priority: u32,
    /// The point of view it writes from; unlike the others'.
    pub perspective: String,
    /// How sure it is that this role is needed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}

/// What became of one writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentOutput {
    /// Its role.
    pub role_id: String,
    /// How it ended.
    pub status: OutputStatus,
    /// What it wrote, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a writer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStatus {
    /// It wrote its part.
    Completed,
    /// It was cancelled after `workflows.writing.agent_timeout`.
    TimedOut,
    /// It failed, retries included.
    Failed,
}

impl OutputStatus {
    /// Of a writer that failed so.
    pub(super) fn of(fault: &Fault) -> Self {
        if fault.kind == FaultKind::Timeout { Self::TimedOut } else { Self::Failed }
    }

    /// Its word, for logs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            other => other.words(),
        }
    }

    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed out",
            Self::Failed => "failed",
        }
    }
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritingError {
    /// The node.
    pub node: String,
    /// The role, of a writer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<String>,
    /// `timed_out` or `failed`.
    pub kind: OutputStatus,
    /// What happened.
    pub message: String,
}

/// What one node adds to the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritingUpdate {
    /// From `role_analyzer`.
    RoleAnalysis(RoleAnalysis),
    /// From a task of `dynamic_agent_executor`; kept by its role.
    AgentOutput(AgentOutput),
    /// From `synthesizer`.
    SynthesizedContent(String),
    /// From `error_handler`; appended.
    Errors(Vec<WritingError>),
    /// From `output_formatter`.
    FinalOutput(WritingOutput),
}

impl WritingState {
    /// The roles, the most important first.
    pub fn roles(&self) -> &[Role] {
        self.role_analysis.as_ref().map_or(&[], |analysis| &analysis.identified_roles)
    }

    /// What was written, the most important role's first.
    pub fn completed(&self) -> impl Iterator<Item = (&Role, &str)> {
        let written = |role: &Role| self.agent_outputs.get(&role.id)?.content.as_deref();
        self.roles().iter().filter_map(move |role| Some((role, written(role)?)))
    }
}

impl State for WritingState {
    type Input = WritingInput;
    type Update = WritingUpdate;

    fn new(input: WritingInput) -> Self {
        Self { user_request: input.request, ..Self::default() }
    }

    fn validate(&self, update: &WritingUpdate) -> Result<(), Invalid> {
        match update {
            WritingUpdate::RoleAnalysis(analysis) => check_roles(&analysis.identified_roles),
            WritingUpdate::AgentOutput(output) => {
                let known = self.roles().iter().any(|role| role.id == output.role_id);
                let expected = "the id of an identified role";
                fits(known, "agent_outputs.role_id", expected)?;
                let whole = output.content.is_some() == (output.status == OutputStatus::Completed);
                fits(whole, "agent_outputs.content", "a text exactly when `completed`")
            }
            WritingUpdate::SynthesizedContent(text) => {
                fits(!text.trim().is_empty(), "synthesized_content", "a text that is not blank")
            }
            WritingUpdate::Errors(_) | WritingUpdate::FinalOutput(_) => Ok(()),
        }
    }

    fn merge(&mut self, update: WritingUpdate) {
        match update {
            WritingUpdate::RoleAnalysis(analysis) => self.role_analysis = Some(analysis),
            WritingUpdate::AgentOutput(output) => {
                self.agent_outputs.insert(output.role_id.clone(), output);
            }
            WritingUpdate::SynthesizedContent(text) => self.synthesized_content = Some(text),
            WritingUpdate::Errors(errors) => self.errors.extend(errors),
            WritingUpdate::FinalOutput(output) => self.final_output = Some(output),
        }
    }
}

fn check_roles(roles: &[Role]) -> Result<(), Invalid> {
    let (mut ids, mut priorities) = (BTreeSet::new(), BTreeSet::new());
    fits(!roles.is_empty(), "role_analysis.identified_roles", "at least one role")?;
    for (at, role) in roles.iter().enumerate() {
        let field = |name: &str| format!("role_analysis.identified_roles[{at}].{name}");
        let named = !role.id.trim().is_empty() && ids.insert(&role.id);
        fits(named, field("id"), "a word that no other role has")?;
        let placed = priorities.insert(role.priority);
        fits(placed, field("priority"), "a number that no other role has")?;
        let sure = (0.0..=1.0).contains(&role.confidence);
        fits(sure, field("confidence"), "a number from 0 to 1")?;
    }
    Ok(())
}

fn fits(fits: bool, field: impl Into<String>, expected: &str) -> Result<(), Invalid> {
    if fits { Ok(()) } else { Err(Invalid::new(field, expected)) }
}
