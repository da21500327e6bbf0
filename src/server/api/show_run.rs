//! `GET /api/runs/{id}`: a run by itself.

use axum::{Json, extract::State};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, RunPath},
};
use crate::runs::views;

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Show a run: where it stands, what it waits for, its result. Its state only in development mode.
#[utoipa::path(
    get, path = "/runs/{id}", tag = "runs", operation_id = "show_run", params(RunPath),
    responses((status = 200, body = views::RunDetails, description = "The run"))
)]
async fn show(
    State(api): State<ApiState>,
    Path(RunPath { id }): Path<RunPath>,
) -> Result<Json<views::RunDetails>, Refusal> {
    let seen = api.runs.show(&id).await?;
    let details = views::run_details(&seen, api.runs.now());
    Ok(Json(if api.development { details } else { details.without_state() }))
}
