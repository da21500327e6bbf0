//! The node `dynamic_agent_executor`: one writer writes its part. It works for any role.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Ctx,
    state::{AgentOutput, OutputStatus},
};
use crate::{
    base::{Fault, Result},
    graph::Dispatch,
    workflows::ask::{Question, ask_model},
};

/// What a writer answers.
#[derive(Deserialize, JsonSchema)]
struct Draft {
    /// The text.
    content: String,
}

/// Writes the part of the role that the task was sent.
///
/// # Errors
/// When there is no such role, the model does not answer, or it writes nothing.
pub(super) async fn execute(ctx: &Ctx) -> Result<AgentOutput> {
    let (state, role_id) = (ctx.state(), ctx.input::<String>()?);
    let role = state.roles().iter().find(|role| role.id == role_id);
    let role = role.ok_or_else(|| Fault::permanent(format!("there is no role `{role_id}`")))?;
    let instructions = role.prompt_template.replace("{request}", &state.user_request);
    let question = Question {
        purpose: "writing.dynamic_agent_executor",
        instructions: &format!("{instructions}\n\nYour perspective: {}", role.perspective),
        prompt: state.user_request.clone(),
    };
    let draft: Draft = ask_model(ctx, ctx.deps().model.as_ref(), question).await?;
    if draft.content.trim().is_empty() {
        return Err(Fault::permanent(format!("the writer `{role_id}` wrote nothing")));
    }
    ctx.progress("written", &role_id);
    let content = Some(draft.content);
    Ok(AgentOutput { role_id, status: OutputStatus::Completed, content, error: None })
}

/// What stands in for a writer that failed.
pub(super) fn gave_up(task: &Dispatch, fault: &Fault) -> AgentOutput {
    AgentOutput {
        role_id: task.read_input().unwrap_or_default(),
        status: OutputStatus::of(fault),
        content: None,
        error: Some(fault.to_string()),
    }
}
