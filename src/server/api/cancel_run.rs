//! `POST /api/runs/{id}/cancel`: a run stopped.

use axum::{Json, extract::State};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, RunPath},
};
use crate::runs::{Runs, views};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(cancel))
}

/// Stop a run. 409 if it has ended.
#[utoipa::path(
    post, path = "/runs/{id}/cancel", tag = "runs", operation_id = "cancel_run", params(RunPath),
    responses((status = 200, body = views::Run, description = "Stopped: the run as it is now"))
)]
async fn cancel(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
) -> Result<Json<views::Run>, Refusal> {
    runs.cancel(&id).await?;
    Ok(Json(views::run(&runs.find(&id).await?, runs.now())))
}
