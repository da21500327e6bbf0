//! `GET /api/runs/{id}/state`: a run's state, now or after a step. In development mode only.

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, Query, RunPath},
};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(state))
}

/// As of when.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct AsOf {
    /// After this step (0: at the start); without it, now.
    step: Option<u32>,
}

/// A state.
#[derive(Serialize, ToSchema)]
struct StateView {
    /// The step after which it was so; null for now.
    step: Option<u32>,
    /// The state, sensitive fields redacted.
    state: Value,
}

/// Show a run's state. 403 unless `server.development` is set.
#[utoipa::path(
    get, path = "/runs/{id}/state", tag = "runs", operation_id = "show_state", params(RunPath, AsOf),
    responses((status = 200, body = StateView, description = "The state"))
)]
async fn state(
    State(api): State<ApiState>,
    Path(RunPath { id }): Path<RunPath>,
    Query(AsOf { step }): Query<AsOf>,
) -> Result<Json<StateView>, Refusal> {
    if !api.development {
        let why = "states are shown in development mode only: set `server.development`";
        return Err(Refusal::new(StatusCode::FORBIDDEN, why));
    }
    let state = match step {
        Some(step) => api.runs.state_after(&id, step).await?,
        None => api.runs.show(&id).await?.state,
    };
    Ok(Json(StateView { step, state }))
}
