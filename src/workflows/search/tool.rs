//! The search as one function, and as a tool that a model may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Search, SearchDeps,
    input::{SearchInput, SearchMode},
    options::SearchOptions,
    state::{ExecutionTime, ScoredRepository, SearchError},
};
use crate::{
    base::{Fault, Result, invalid_input},
    graph::Stop,
    workflows::InProcess,
};

/// What a search comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The repositories, the best first.
    pub top_repos: Vec<ScoredRepository>,
    /// How long each node took.
    pub execution_time: ExecutionTime,
    /// What went wrong on the way.
    pub errors: Vec<SearchError>,
}

/// Searches repositories, here and now, without a store.
///
/// # Errors
/// When the run takes too long. What goes wrong within it is in the result.
pub async fn search_repositories(
    deps: SearchDeps,
    query: impl Into<String>,
    mode: SearchMode,
) -> Result<SearchResult> {
    let broken = |error: crate::graph::GraphError| Fault::permanent(error.to_string());
    let search = InProcess::<Search>::new(deps).map_err(broken)?;
    let input = SearchInput { query: query.into(), mode, config: SearchOptions::default() };
    let ended = search.run(input).await?;
    match (ended.stop, ended.machine.state()) {
        (Stop::Completed, Some(state)) => Ok(SearchResult {
            top_repos: state.top_repos.clone(),
            execution_time: state.execution_time,
            errors: state.errors.clone(),
        }),
        (Stop::Failed(failure), _) => Err(failure.fault),
        (stop, _) => Err(Fault::permanent(format!("the search ended early: {stop:?}"))),
    }
}

/// What a model passes to the tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolArguments {
    /// What is looked for, in plain words.
    query: String,
    /// How far to look beyond the words of the query.
    #[serde(default)]
    mode: SearchMode,
}

/// The tool as models are told of it: `{"name", "description", "parameters"}`, the last a JSON Schema.
pub fn tool_definition() -> Value {
    json!({
        "name": "search_repositories",
        "description": "Finds source code repositories and ranks them by what is looked for.",
        "parameters": schemars::schema_for!(ToolArguments),
    })
}

/// Does what a model asked of the tool.
///
/// # Errors
/// Permanent when the arguments do not fit; otherwise as [`search_repositories`].
pub async fn call_tool(deps: SearchDeps, arguments: Value) -> Result<SearchResult> {
    let unfit = |error: serde_json::Error| {
        Fault::permanent(format!("search_repositories: {}", invalid_input(&error)))
    };
    let ToolArguments { query, mode } = serde_json::from_value(arguments).map_err(unfit)?;
    search_repositories(deps, query, mode).await
}
