//! The search workflow: query_translator → scout → screener, always in this order.
//!
//! What it promises: what goes wrong is kept in the state with its stage and time; a strategy or the
//! second stage of screening that fails leaves a poorer result and no error; a run that cannot go on
//! ends with what there is. What it never does: go back, or ask for more than the configuration says.
//!
//! | file | is |
//! |---|---|
//! | `input.rs` | what is asked for |
//! | `options.rs` | the configuration of a search: thresholds, weights, limits |
//! | `state.rs` | what is kept in the run |
//! | `deps.rs` | what the nodes need from outside |
//! | `translator.rs` | the node `query_translator` |
//! | `scout.rs` | the node `scout` |
//! | `screener.rs` | the node `screener` |
//! | `tool.rs` | the search as one function, and as a tool for models |

mod deps;
mod input;
mod options;
mod scout;
mod screener;
mod state;
mod tool;
mod translator;

use async_trait::async_trait;

pub use self::{
    deps::SearchDeps,
    input::{SearchInput, SearchMode},
    options::{
        CoarseFilterThresholds, DimensionWeights, ScoutOptions, ScreenerOptions, SearchOptions,
        StrategyWeights,
    },
    screener::Scores,
    state::{
        Candidate, ExecutionTime, ScoredRepository, SearchError, SearchParams, SearchState,
        SearchUpdate, StarRange, Strategy,
    },
    tool::{SearchResult, call_tool, search_repositories, tool_definition},
};
use super::Workflow;
use crate::{
    base::{Clock, Fault, Result, Timestamp},
    graph::{Context, END, Graph, GraphBuilder, GraphError, Node, NodeError, RetryPolicy},
};

const TRANSLATOR: &str = "query_translator";
const SCOUT: &str = "scout";
const SCREENER: &str = "screener";

type Ctx = Context<SearchState, SearchDeps>;

/// The search workflow.
#[derive(Debug, Clone, Copy)]
pub struct Search;

#[async_trait]
impl Workflow for Search {
    const NAME: &'static str = "search";
    const VERSION: u32 = 1;

    type State = SearchState;
    type Deps = SearchDeps;

    fn graph() -> Result<Graph<SearchState, SearchDeps>, GraphError> {
        let mut graph = GraphBuilder::new();
        let node = graph.node(TRANSLATOR, |ctx: Ctx| async move {
            let started = ctx.deps().clock.now();
            let params = translator::translate(&ctx).await?;
            ctx.progress("query translated", &params.keywords);
            let update = SearchUpdate { search_params: Some(params), ..SearchUpdate::default() };
            Ok::<_, NodeError>(update.timed(TRANSLATOR, took(&ctx, started)))
        });
        // The model has retries of its own.
        aborts(node.retry(RetryPolicy::none()), TRANSLATOR);
        let node = graph.node(SCOUT, |ctx: Ctx| async move {
            if ctx.state().aborted {
                return Ok(SearchUpdate::default());
            }
            let started = ctx.deps().clock.now();
            let update = scout::scout(&ctx).await?;
            ctx.progress("candidates found", &update.candidate_repos.as_ref().map(Vec::len));
            Ok::<_, NodeError>(update.timed(SCOUT, took(&ctx, started)))
        });
        aborts(node, SCOUT);
        let node = graph.node(SCREENER, |ctx: Ctx| async move {
            if ctx.state().aborted {
                return Ok(SearchUpdate::default());
            }
            let started = ctx.deps().clock.now();
            let update = screener::screen(&ctx).await?;
            ctx.progress("repositories ranked", &update.top_repos.as_ref().map(Vec::len));
            Ok::<_, NodeError>(update.timed(SCREENER, took(&ctx, started)))
        });
        aborts(node.retry(RetryPolicy::none()), SCREENER);
        graph.entry(TRANSLATOR).edge(TRANSLATOR, SCOUT).edge(SCOUT, SCREENER).edge(SCREENER, END);
        graph.compile()
    }
}

fn took(ctx: &Ctx, started: Timestamp) -> u64 {
    u64::try_from(ctx.deps().clock.now().since(started).as_millis()).unwrap_or(u64::MAX)
}

/// A node whose failure ends the search with what there is.
fn aborts(node: &mut Node<SearchState, SearchDeps>, stage: &'static str) {
    node.on_error_continue(move |fault| {
        let error = failed(stage, fault, Clock::system().now());
        SearchUpdate { errors: vec![error], aborted: true, ..SearchUpdate::default() }
    });
}

fn failed(stage: &str, fault: &Fault, at: Timestamp) -> SearchError {
    SearchError { stage: stage.to_owned(), error: fault.to_string(), timestamp: at.to_string() }
}
