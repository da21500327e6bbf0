//! The node `execute_agent`: the agent that is next does its part. A subgraph: find_agent → run_agent.

use serde::Serialize;

use super::{
    agents::{AgentContext, AgentResult},
    deps::OrchestratorDeps,
    state::{AgentOutput, OrchestratorState, OrchestratorUpdate},
};
use crate::{
    base::{Clock, Fault, Result},
    graph::{
        Command, Context, END, Graph, GraphBuilder, GraphError, NodeError, RetryPolicy, State,
    },
};

const FIND: &str = "find_agent";
const RUN: &str = "run_agent";

type Ctx = Context<AgentRun, OrchestratorDeps>;

/// One run of an agent. The task and what others have left are in the state around it: they are
/// recorded once, and not again for each agent.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AgentRun {
    /// Who is to work.
    agent_id: Option<String>,
    /// What comes of it.
    update: Option<OrchestratorUpdate>,
}

impl AgentRun {
    /// What comes of it.
    pub(super) fn outcome(&self) -> Command<OrchestratorUpdate> {
        Command { update: self.update.clone(), goto: None }
    }
}

impl State for AgentRun {
    type Input = Option<String>;
    type Update = OrchestratorUpdate;

    fn new(agent_id: Option<String>) -> Self {
        Self { agent_id, update: None }
    }

    fn merge(&mut self, update: OrchestratorUpdate) {
        self.update = Some(update);
    }
}

/// The graph of one run.
///
/// # Errors
/// If it is not well built, which tests show.
pub(super) fn graph() -> Result<Graph<AgentRun, OrchestratorDeps>, GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node(FIND, |ctx: Ctx| async move {
        let update = missing(&ctx).map(OrchestratorUpdate::Failed);
        Ok::<_, NodeError>(Command { update, goto: None })
    });
    graph
        .node(RUN, |ctx: Ctx| async move { Ok::<_, NodeError>(run(&ctx).await?) })
        // The state around counts the tries.
        .retry(RetryPolicy::none())
        .on_error_continue(failed);
    graph.entry(FIND).branch(FIND, [RUN, END], |run| if run.update.is_some() { END } else { RUN });
    graph.edge(RUN, END);
    graph.compile()
}

/// An agent that ended without an output.
pub(super) fn failed(fault: &Fault) -> OrchestratorUpdate {
    let (error, timestamp) = (fault.to_string(), Clock::system().now().to_string());
    OrchestratorUpdate::AgentFailed { error, timestamp }
}

/// Why there is no agent to run, which ends the task.
fn missing(ctx: &Ctx) -> Option<String> {
    let agents = &ctx.deps().agents;
    match &ctx.state().agent_id {
        None => Some("no agent is selected for execution".to_owned()),
        Some(agent_id) if agents.get(agent_id).is_none() => {
            let known = agents.names().collect::<Vec<_>>().join(", ");
            Some(format!("agent not found: `{agent_id}` (known: {known})"))
        }
        Some(_) => None,
    }
}

/// Runs the agent.
///
/// # Errors
/// As the agent failed.
async fn run(ctx: &Ctx) -> Result<OrchestratorUpdate> {
    let agent_id = ctx.state().agent_id.clone().unwrap_or_default();
    let agent = ctx.deps().agents.get(&agent_id);
    let (Some(agent), Some(around)) = (agent, ctx.around::<OrchestratorState>()) else {
        return Err(Fault::permanent(format!("agent `{agent_id}` cannot be run here")));
    };
    ctx.progress("agent", &agent_id);
    let AgentResult { success, result, artifacts, routing_hints, error } =
        agent.execute(&AgentContext::of(&ctx.run().id, around)).await?;
    let timestamp = ctx.deps().clock.now().to_string();
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
