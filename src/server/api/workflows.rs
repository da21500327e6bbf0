//! `GET /api/workflows`: what can be run here.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{super::answer::Refusal, ApiState};
use crate::runs::Runs;

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A workflow.
#[derive(Serialize, ToSchema)]
struct WorkflowRow {
    /// Its name.
    name: &'static str,
    /// The versions whose runs are executed here, its own first.
    versions: Vec<u32>,
    /// The events of the forge that it takes.
    events: &'static [&'static str],
}

/// List the workflows of this process.
#[utoipa::path(
    get, path = "/workflows", tag = "workflows", operation_id = "list_workflows",
    responses((status = 200, body = Vec<WorkflowRow>, description = "The workflows"))
)]
async fn list(State(runs): State<Runs>) -> Result<Json<Vec<WorkflowRow>>, Refusal> {
    let rows: Result<Vec<_>, _> = runs
        .workflow_names()
        .map(|name| {
            let workflow = runs.workflow(name)?;
            Ok(WorkflowRow { name, versions: workflow.versions(), events: workflow.events() })
        })
        .collect();
    rows.map(Json)
}
