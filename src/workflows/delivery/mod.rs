//! The delivery workflow: analyst → pm → architect or dev → dev → tea → end, or back to dev; whoever is
//! stuck escalates to a person.
//!
//! What it promises: where a run goes follows from flags of its state, by pure functions; every
//! decision and handoff is kept; work that was escalated goes on where the person says. What it never
//! does: end as ready what a gate has blocked, or guess where an agent says that it is stuck.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what is asked for |
//! | `state.rs` | what is kept in the run |
//! | `deps.rs` | what the nodes need from outside |
//! | `agents/` | the nodes: one agent each |
//! | `routes.rs` | where each leads, by the state |
//! | `escalation.rs` | the node `escalate`: a person is asked |

pub mod agents;
mod deps;
mod escalation;
mod input;
pub mod routes;
mod state;

use async_trait::async_trait;

use self::agents::{AGENTS, Agent};
pub use self::{
    deps::DeliveryDeps,
    escalation::EscalationAnswer,
    input::DeliveryInput,
    state::{
        Decision, DeliveryState, DeliveryUpdate, DeploymentDecision, Escalation, HandoffContext,
    },
};
use super::Workflow;
use crate::graph::{Context, END, Graph, GraphBuilder, GraphError, NodeError, RetryPolicy};

/// The node that asks a person.
const ESCALATE: &str = "escalate";

/// Handoffs of one run before it counts as going round in circles.
const RECURSION_LIMIT: u32 = 50;

type Ctx = Context<DeliveryState, DeliveryDeps>;

/// The delivery workflow.
#[derive(Debug, Clone, Copy)]
pub struct Delivery;

#[async_trait]
impl Workflow for Delivery {
    const NAME: &'static str = "delivery";
    const VERSION: u32 = 1;

    type State = DeliveryState;
    type Deps = DeliveryDeps;

    fn graph() -> Result<Graph<DeliveryState, DeliveryDeps>, GraphError> {
        graph("analyst")
    }
}

/// The graph, entered at this agent.
///
/// # Errors
/// If there is no such agent.
pub fn graph(entry_point: &str) -> Result<Graph<DeliveryState, DeliveryDeps>, GraphError> {
    let mut graph = GraphBuilder::new();
    for agent in AGENTS {
        add_agent(&mut graph, *agent);
    }
    graph.node(ESCALATE, |ctx: Ctx| async move { escalation::escalate(&ctx) });
    let targets = AGENTS.iter().map(|agent| agent.id()).chain([END]);
    graph.branch(ESCALATE, targets, routes::route_after_escalation);
    graph.entry(entry_point).recursion_limit(RECURSION_LIMIT);
    graph.compile()
}

fn add_agent(graph: &mut GraphBuilder<DeliveryState, DeliveryDeps>, agent: &'static dyn Agent) {
    let name = agent.id();
    let node = graph.node(name, move |ctx: Ctx| async move {
        let update = agent.work(&ctx).await?;
        ctx.progress("decisions", &update.decisions.len());
        Ok::<_, NodeError>(update)
    });
    // The model has retries of its own.
    node.retry(RetryPolicy::none());
    graph.branch(name, agent.targets().iter().copied(), |state| agent.route(state));
}
