//! `GET /api/runs/{id}/drawing` and `GET /api/workflows/{name}/drawing`: graphs as text.

use axum::{
    extract::State,
    http::{HeaderName, header},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, Query, RunPath},
};
use crate::{graph::Drawing, runs::Runs};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(of_run)).routes(routes!(of_workflow))
}

/// In which language.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct How {
    /// The drawing's language.
    #[serde(default)]
    #[param(inline)]
    format: Language,
}

/// A drawing's language.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    /// A Mermaid flowchart.
    #[default]
    Mermaid,
    /// A DOT digraph, for Graphviz.
    Dot,
}

/// A workflow named in the path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct WorkflowPath {
    /// The workflow's name.
    name: String,
}

type Text = ([(HeaderName, &'static str); 1], String);

fn written(drawing: &Drawing, format: Language) -> Text {
    let text = match format {
        Language::Mermaid => drawing.mermaid(),
        Language::Dot => drawing.dot(),
    };
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text)
}

/// Draw a run's way through its workflow's graph.
#[utoipa::path(
    get, path = "/runs/{id}/drawing", tag = "runs", operation_id = "draw_run", params(RunPath, How),
    responses((status = 200, body = String, content_type = "text/plain", description = "The drawing"))
)]
async fn of_run(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Query(How { format }): Query<How>,
) -> Result<Text, Refusal> {
    Ok(written(&runs.show(&id).await?.drawing, format))
}

/// Draw a workflow's graph.
#[utoipa::path(
    get, path = "/workflows/{name}/drawing", tag = "workflows", operation_id = "draw_workflow",
    params(WorkflowPath, How),
    responses((status = 200, body = String, content_type = "text/plain", description = "The drawing"))
)]
async fn of_workflow(
    State(runs): State<Runs>,
    Path(WorkflowPath { name }): Path<WorkflowPath>,
    Query(How { format }): Query<How>,
) -> Result<Text, Refusal> {
    Ok(written(&runs.drawing(&name, None).await?, format))
}
