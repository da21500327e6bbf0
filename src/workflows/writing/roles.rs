//! The node `role_analyzer`: who is to write.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Ctx,
    state::{Role, RoleAnalysis},
};
use crate::{
    base::Result,
    workflows::ask::{Question, ask_model},
};

const INSTRUCTIONS: &str = "\
    You choose the writers for a text. Find the roles that together answer the request best, each \
    with a perspective of its own, and write the instructions each of them follows. Say why you \
    chose them. When the request names no subject to write about, say that it is ambiguous and \
    name no roles.";

/// What the model answers.
#[derive(Deserialize, JsonSchema)]
struct RoleSelection {
    /// The roles.
    identified_roles: Vec<Role>,
    /// Why these, for people.
    reasoning: String,
    /// Whether the request is too vague to choose by.
    #[serde(default)]
    is_ambiguous: bool,
}

/// Asks the model who is to write. A vague request, or one that fewer roles are found for than there
/// should be, gets the default roles, and a warning is logged.
///
/// # Errors
/// When the model does not answer.
pub(super) async fn analyze(ctx: &Ctx) -> Result<RoleAnalysis> {
    let (state, deps) = (ctx.state(), ctx.deps());
    let (min, max) = (deps.options.min_roles, deps.options.max_roles);
    let request = &state.user_request;
    let question = Question {
        purpose: "writing.role_analyzer",
        instructions: INSTRUCTIONS,
        prompt: format!("Name {min} to {max} roles for this request:\n\n{request}"),
    };
    let selected: RoleSelection = ask_model(ctx, deps.model.as_ref(), question).await?;
    let roles = usable(selected.identified_roles, max);
    let found = roles.len();
    if !selected.is_ambiguous && found >= min {
        let reasoning = selected.reasoning;
        return Ok(RoleAnalysis { identified_roles: roles, reasoning, is_default: false });
    }
    let (run, words) = (&ctx.run().id, request.split_whitespace().count());
    let ambiguous = selected.is_ambiguous;
    // The request itself may be anybody's secret: the run has it.
    tracing::warn!(%run, ambiguous, roles = found, words, "ambiguous request: the default roles write");
    let reasoning = "The request asks for no particular roles, so general ones write.".to_owned();
    let identified_roles = default_roles().into_iter().take(max).collect();
    Ok(RoleAnalysis { identified_roles, reasoning, is_default: true })
}

/// The roles that can be used, the most important first, their priorities made unique.
fn usable(roles: Vec<Role>, max: usize) -> Vec<Role> {
    let mut kept: Vec<Role> = Vec::new();
    for role in roles {
        let whole = !role.id.trim().is_empty() && !role.prompt_template.trim().is_empty();
        let new = !kept.iter().any(|known| known.id == role.id);
        if whole && new && (0.0..=1.0).contains(&role.confidence) {
            kept.push(role);
        }
    }
    kept.sort_by_key(|role| role.priority);
    kept.truncate(max);
    for (priority, role) in (1..).zip(&mut kept) {
        role.priority = priority;
    }
    kept
}

/// Who writes when the request does not tell.
pub fn default_roles() -> Vec<Role> {
    let role = |priority, id: &str, name: &str, perspective: &str, task: &str| Role {
        id: id.to_owned(),
        name: name.to_owned(),
        description: task.to_owned(),
        prompt_template: format!("You are a {}. {task}", name.to_lowercase()),
        priority,
        perspective: perspective.to_owned(),
        confidence: 0.5,
    };
    vec![
        role(
            1,
            "general_writer",
            "General writer",
            "an interested reader's",
            "Write a clear and complete answer to the request.",
        ),
        role(
            2,
            "editor",
            "Editor",
            "a critical reader's",
            "Write the answer as it should read in print: tight, ordered, without a word too many.",
        ),
        role(
            3,
            "content_strategist",
            "Content strategist",
            "the audience's",
            "Say what the audience needs from this text, and write the parts that give it to them.",
        ),
    ]
}
