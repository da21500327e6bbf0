//! The node `synthesizer`: one text of what arrived.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Ctx;
use crate::{
    base::Result,
    workflows::ask::{Question, ask_model},
};

const INSTRUCTIONS: &str = "\
    Several writers answered one request, the most important first. Combine what they wrote into \
    one text that answers the request: keep what is right and useful, say everything once, and add \
    nothing of your own.";

/// What the model answers.
#[derive(Deserialize, JsonSchema)]
struct Synthesis {
    /// The combined text.
    content: String,
}

/// Combines what was written.
///
/// # Errors
/// When the model does not answer.
pub(super) async fn synthesize(ctx: &Ctx) -> Result<String> {
    let state = ctx.state();
    let mut prompt = format!("The request:\n\n{}\n", state.user_request);
    for (role, content) in state.completed() {
        // Writing to a string cannot fail.
        let _ = write!(prompt, "\n# {}\n\n{content}\n", role.name);
    }
    let question = Question { purpose: "writing.synthesizer", instructions: INSTRUCTIONS, prompt };
    let synthesis: Synthesis = ask_model(ctx, ctx.deps().model.as_ref(), question).await?;
    Ok(synthesis.content)
}
