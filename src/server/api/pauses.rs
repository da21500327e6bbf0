//! `/api/pauses`: workflows and repositories that are put off.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{super::answer::Refusal, ApiState, body::Body, params::Query};
use crate::runs::{Pause, Paused, Runs};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, pause, unpause))
}

/// What to pause, and why.
#[derive(Deserialize, ToSchema)]
struct PauseRequest {
    /// What.
    #[serde(flatten)]
    paused: Paused,
    /// Why, for people.
    reason: Option<String>,
}

/// What is paused; one of them.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// This workflow.
    workflow: Option<String>,
    /// This repository.
    repository: Option<String>,
}

/// List what is paused, the oldest first.
#[utoipa::path(
    get, path = "/pauses", tag = "pauses", operation_id = "list_pauses",
    responses((status = 200, body = Vec<Pause>, description = "The pauses"))
)]
async fn list(State(runs): State<Runs>) -> Result<Json<Vec<Pause>>, Refusal> {
    Ok(Json(runs.pauses().await?))
}

/// Pause a workflow or a repository: runs in hand go on, all others are accepted and put off.
#[utoipa::path(
    post, path = "/pauses", tag = "pauses", operation_id = "pause", request_body = PauseRequest,
    responses((status = 200, body = Pause, description = "Paused"))
)]
async fn pause(
    State(runs): State<Runs>,
    Body(PauseRequest { paused, reason }): Body<PauseRequest>,
) -> Result<Json<Pause>, Refusal> {
    Ok(Json(runs.pause(paused, reason).await?))
}

/// End a pause: what was put off goes on within half a minute.
#[utoipa::path(
    delete, path = "/pauses", tag = "pauses", operation_id = "unpause", params(Which),
    responses((status = 204, description = "No longer paused"))
)]
async fn unpause(
    State(runs): State<Runs>,
    Query(which): Query<Which>,
) -> Result<StatusCode, Refusal> {
    let paused = match which {
        Which { workflow: Some(name), repository: None } => Paused::Workflow(name),
        Which { workflow: None, repository: Some(name) } => Paused::Repository(name),
        _ => {
            let why = "name one `workflow` or one `repository`";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
        }
    };
    runs.unpause(&paused).await?;
    Ok(StatusCode::NO_CONTENT)
}
