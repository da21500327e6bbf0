//! The orchestrator workflow: analyze → route_to_agent ⇄ execute_agent, awaiting_approval, complete,
//! error.
//!
//! What it promises: the analysis of a task decides which agents work on it, what each leaves decides
//! who is next; a person is asked once for each approval, and work that is rejected goes back with the
//! feedback. What it never does: run an agent that is not registered, or try a failing one for ever.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what is asked for |
//! | `state.rs` | what is kept in the run |
//! | `deps.rs` | what the nodes need from outside |
//! | `analyze.rs` | the node `analyze`, and the queue that an analysis comes to |
//! | `route.rs` | the node `route_to_agent`, and where every node leads |
//! | `agents.rs` | the registry of agents, and the built-in ones |
//! | `execute.rs` | the node `execute_agent`, a subgraph: find_agent → run_agent |
//! | `approve.rs` | the node `awaiting_approval` |

mod agents;
mod analyze;
mod approve;
mod deps;
mod execute;
mod input;
pub mod route;
mod state;

use async_trait::async_trait;

pub use self::{
    agents::{Agent, AgentContext, AgentRegistry, AgentResult, BUILT_IN},
    analyze::{Complexity, TaskAnalysis, TaskType, build_agent_queue},
    deps::OrchestratorDeps,
    input::OrchestratorInput,
    state::{
        AgentOutput, ApprovalKind, ApprovalRequest, ApprovalResponse, Artifact, ArtifactKind,
        OrchestratorState, OrchestratorUpdate, RoutingHints, Status,
    },
};
use super::Workflow;
use crate::graph::{Context, END, Graph, GraphBuilder, GraphError, NodeError, RetryPolicy};

const ANALYZE: &str = "analyze";
const ROUTE: &str = "route_to_agent";
const EXECUTE: &str = "execute_agent";
const APPROVAL: &str = "awaiting_approval";
const COMPLETE: &str = "complete";
const ERROR: &str = "error";

type Ctx = Context<OrchestratorState, OrchestratorDeps>;

/// The orchestrator workflow.
#[derive(Debug, Clone, Copy)]
pub struct Orchestrator;

#[async_trait]
impl Workflow for Orchestrator {
    const NAME: &'static str = "orchestrator";
    const VERSION: u32 = 1;

    type State = OrchestratorState;
    type Deps = OrchestratorDeps;

    fn graph() -> Result<Graph<OrchestratorState, OrchestratorDeps>, GraphError> {
        let mut graph = GraphBuilder::new();
        graph
            .node(ANALYZE, |ctx: Ctx| async move {
                let analysis = analyze::analyze(&ctx).await?;
                ctx.progress("agents", &build_agent_queue(&analysis));
                Ok::<_, NodeError>(OrchestratorUpdate::Analyzed(analysis))
            })
            // The model has retries of its own.
            .retry(RetryPolicy::none());
        graph.node(ROUTE, |ctx: Ctx| async move {
            Ok::<_, NodeError>(OrchestratorUpdate::Routed(route::next_agent(ctx.state())))
        });
        graph
            .subgraph(
                EXECUTE,
                &execute::graph()?,
                |ctx: &Ctx| Ok(ctx.state().current_agent.clone()),
                execute::AgentRun::outcome,
            )
            .on_error_continue(execute::failed);
        graph.node(APPROVAL, |ctx: Ctx| async move { approve::approve(&ctx) });
        graph.node(
            COMPLETE,
            |_: Ctx| async move { Ok::<_, NodeError>(OrchestratorUpdate::Completed) },
        );
        graph.node(ERROR, |ctx: Ctx| async move {
            Ok::<_, NodeError>(OrchestratorUpdate::Failed(route::reason(ctx.state())))
        });
        graph.entry(ANALYZE).branch(ANALYZE, [ROUTE, ERROR], route::route_after_analysis);
        graph.branch(ROUTE, [EXECUTE, COMPLETE, APPROVAL], route::route_after_routing);
        graph.branch(EXECUTE, [ROUTE, APPROVAL, ERROR], route::route_after_execution);
        graph.branch(APPROVAL, [ROUTE, ERROR], route::route_after_approval);
        graph.edge(COMPLETE, END).edge(ERROR, END);
        graph.compile()
    }
}
