//! The writing workflow: role_analyzer → dynamic_agent_executor, one task for each role →
//! synthesizer → output_formatter, with error_handler beside them.
//!
//! What it promises: as many writers as the request needs, side by side; the text is made of what
//! arrived, and says what is missing. What it never does: fail because one writer did, or pass a part
//! as the whole.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what is asked for |
//! | `options.rs` | section `workflows.writing` of the settings |
//! | `state.rs` | what is kept in the run |
//! | `deps.rs` | what the nodes need from outside |
//! | `roles.rs` | the node `role_analyzer`, and the default roles |
//! | `executor.rs` | the node `dynamic_agent_executor` |
//! | `synthesizer.rs` | the node `synthesizer` |
//! | `output.rs` | the node `output_formatter` |
//! | `errors.rs` | the node `error_handler`, and where it leads |

mod deps;
mod errors;
mod executor;
mod input;
mod options;
mod output;
mod roles;
mod state;
mod synthesizer;

use std::time::Duration;

use async_trait::async_trait;

pub use self::{
    deps::WritingDeps,
    input::WritingInput,
    options::WritingOptions,
    output::{MissingPart, WritingOutput},
    roles::default_roles,
    state::{
        AgentOutput, OutputStatus, Role, RoleAnalysis, WritingError, WritingState, WritingUpdate,
    },
};
use super::Workflow;
use crate::graph::{
    Context, Dispatch, END, Graph, GraphBuilder, GraphError, NodeError, RetryPolicy,
};

const ROLE_ANALYZER: &str = "role_analyzer";
const EXECUTOR: &str = "dynamic_agent_executor";
const SYNTHESIZER: &str = "synthesizer";
const FORMATTER: &str = "output_formatter";
const ERROR_HANDLER: &str = "error_handler";

type Ctx = Context<WritingState, WritingDeps>;

/// The writing workflow.
#[derive(Debug, Clone, Copy)]
pub struct Writing;

#[async_trait]
impl Workflow for Writing {
    const NAME: &'static str = "writing";
    const VERSION: u32 = 1;
    const TIMEOUT: Duration = Duration::from_secs(60);

    type State = WritingState;
    type Deps = WritingDeps;

    fn graph() -> Result<Graph<WritingState, WritingDeps>, GraphError> {
        graph(&WritingOptions::default())
    }

    fn render(state: &WritingState) -> Option<String> {
        state.final_output.as_ref().map(|output| output.content.clone())
    }
}

/// The graph under these options.
///
/// # Errors
/// None, unless it is badly built.
pub fn graph(options: &WritingOptions) -> Result<Graph<WritingState, WritingDeps>, GraphError> {
    let mut graph = GraphBuilder::new();
    // The model has retries of its own: 1 s, 2 s and 4 s unless set.
    graph
        .node(ROLE_ANALYZER, |ctx: Ctx| async move {
            let analysis = roles::analyze(&ctx).await?;
            ctx.progress("roles", &analysis.identified_roles.len());
            Ok::<_, NodeError>(WritingUpdate::RoleAnalysis(analysis))
        })
        .retry(RetryPolicy::none())
        .on_error_goto(ERROR_HANDLER);
    graph
        .node(EXECUTOR, |ctx: Ctx| async move {
            let output = executor::execute(&ctx).await?;
            Ok::<_, NodeError>(WritingUpdate::AgentOutput(output))
        })
        .retry(RetryPolicy::none())
        .timeout(options.agent_timeout)
        .on_task_error_continue(|task, fault| {
            WritingUpdate::AgentOutput(executor::gave_up(task, fault))
        });
    graph
        .node(SYNTHESIZER, |ctx: Ctx| async move {
            let content = synthesizer::synthesize(&ctx).await?;
            Ok::<_, NodeError>(WritingUpdate::SynthesizedContent(content))
        })
        .retry(RetryPolicy::none())
        .on_error_goto(ERROR_HANDLER);
    graph
        .node(FORMATTER, |ctx: Ctx| async move {
            Ok::<_, NodeError>(WritingUpdate::FinalOutput(output::format(ctx.state())))
        })
        .on_error_goto(ERROR_HANDLER);
    graph
        .node(ERROR_HANDLER, |ctx: Ctx| async move {
            Ok::<_, NodeError>(WritingUpdate::Errors(errors::handle(&ctx)?))
        })
        .retry(RetryPolicy::none());
    graph.entry(ROLE_ANALYZER).fan_out(ROLE_ANALYZER, [EXECUTOR], tasks);
    graph.branch(EXECUTOR, [SYNTHESIZER, ERROR_HANDLER], errors::route_after_execution);
    graph.branch(ERROR_HANDLER, [SYNTHESIZER, FORMATTER], errors::route_after_error);
    graph.edge(SYNTHESIZER, FORMATTER).edge(FORMATTER, END);
    graph.compile()
}

/// A task for each role, which is sent the role's id.
fn tasks(state: &WritingState) -> Vec<Dispatch> {
    let roles = state.role_analysis.iter().flat_map(|analysis| &analysis.identified_roles);
    roles.map(|role| Dispatch::with(EXECUTOR, &role.id)).collect()
}
