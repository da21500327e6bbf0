//! The node `execute_agent`: the agent that is next does its part.

use super::{
    Ctx,
    agents::{AgentContext, AgentResult},
    state::{AgentOutput, OrchestratorUpdate},
};
use crate::base::Result;

/// Runs the current agent. No agent, or one that is not registered, ends the task.
///
/// # Errors
/// As the agent failed.
pub(super) async fn execute(ctx: &Ctx) -> Result<OrchestratorUpdate> {
    let (state, deps) = (ctx.state(), ctx.deps());
    let Some(agent_id) = state.current_agent.clone() else {
        return Ok(OrchestratorUpdate::Failed("no agent is selected for execution".to_owned()));
    };
    let Some(agent) = deps.agents.get(&agent_id) else {
        let known = deps.agents.names().collect::<Vec<_>>().join(", ");
        let why = format!("agent not found: `{agent_id}` (known: {known})");
        return Ok(OrchestratorUpdate::Failed(why));
    };
    ctx.progress("agent", &agent_id);
    let AgentResult { success, result, artifacts, routing_hints, error } =
        agent.execute(&AgentContext::of(&ctx.run().id, state)).await?;
    let timestamp = deps.clock.now().to_string();
    Ok(OrchestratorUpdate::AgentRan(AgentOutput {
        agent_id,
        success,
        result,
        artifacts,
        routing_hints,
        error,
        timestamp,
    }))
}
