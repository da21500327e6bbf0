//! `GET /api/runs/{id}/history`: what happened, record by record.

use axum::{Json, extract::State};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, Query, RunPath},
};
use crate::runs::{Runs, views::HistoryRow};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(history))
}

/// Which records.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Only records behind this number.
    after: Option<i64>,
    /// At most so many.
    limit: Option<usize>,
}

/// List a run's records, the first one first.
#[utoipa::path(
    get, path = "/runs/{id}/history", tag = "runs", operation_id = "run_history",
    params(RunPath, Which),
    responses((status = 200, body = Vec<HistoryRow>, description = "The records"))
)]
async fn history(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Query(Which { after, limit }): Query<Which>,
) -> Result<Json<Vec<HistoryRow>>, Refusal> {
    let mut rows =
        runs.history(&id, u64::try_from(after.unwrap_or_default()).unwrap_or_default()).await?;
    rows.truncate(limit.unwrap_or(usize::MAX));
    Ok(Json(rows))
}
