//! `DELETE /api/runs/{id}`: a run forgotten.

use axum::{extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, Query, RunPath},
};
use crate::{graph::store::Deleted, runs::Runs};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(delete))
}

/// How.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct How {
    /// Also if it has not ended, or a worker holds it: that stops at its next record.
    #[serde(default)]
    force: bool,
}

/// Delete a run that has ended. Its dead letters stay.
#[utoipa::path(
    delete, path = "/runs/{id}", tag = "runs", operation_id = "delete_run", params(RunPath, How),
    responses((status = 204, description = "It is gone"))
)]
async fn delete(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Query(How { force }): Query<How>,
) -> Result<StatusCode, Refusal> {
    let run = runs.find(&id).await?.id;
    let refuse = |status, why: String| Err(Refusal::new(status, why));
    match runs.delete(&run, force).await? {
        Deleted::Done => Ok(StatusCode::NO_CONTENT),
        Deleted::Missing => refuse(StatusCode::NOT_FOUND, format!("there is no run `{run}`")),
        Deleted::LeaseHeld(holder) => {
            let why = format!("run {run} is held by {} (or use `force=true`)", holder.owner);
            refuse(StatusCode::CONFLICT, why)
        }
        Deleted::Unfinished(status) => {
            let why = format!("run {run} is {status}: cancel it first (or use `force=true`)");
            refuse(StatusCode::CONFLICT, why)
        }
    }
}
