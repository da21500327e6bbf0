//! `POST /api/runs/{id}/fork`: a run copied up to a step.

use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    body::Body,
    params::{Path, RunPath},
    start_run::{Accepted, AcceptedAt, accepted},
};
use crate::{graph::RunStatus, runs::Runs};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(fork))
}

/// What to copy.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ForkRequest {
    /// The last step to copy (0: start anew).
    from: u32,
    /// Whether the fork may publish.
    #[serde(default)]
    publish: bool,
}

/// Copy a run up to a step into a new one, and queue it.
#[utoipa::path(
    post, path = "/runs/{id}/fork", tag = "runs", operation_id = "fork_run", params(RunPath),
    request_body = ForkRequest,
    responses((
        status = 202, body = Accepted, description = "The fork",
        headers(("Location" = String, description = "Where to see it"))
    ))
)]
async fn fork(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Body(ForkRequest { from, publish }): Body<ForkRequest>,
) -> Result<AcceptedAt, Refusal> {
    let fork = runs.fork(&id, from, publish).await?;
    Ok(accepted(fork, RunStatus::Queued))
}
