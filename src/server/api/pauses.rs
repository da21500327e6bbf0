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

/// What to pause, one of them, and why.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    /// This workflow.
    workflow: Option<String>,
    /// This repository.
    repository: Option<String>,
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

impl Which {
    fn one(self) -> Result<Paused, Refusal> {
        match self {
            Self { workflow: Some(name), repository: None } => Ok(Paused::Workflow(name)),
            Self { workflow: None, repository: Some(name) } => Ok(Paused::Repository(name)),
            _ => {
                let why = "name one `workflow` or one `repository`";
                Err(Refusal::new(StatusCode::BAD_REQUEST, why))
            }
        }
    }
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
    Body(PauseRequest { workflow, repository, reason }): Body<PauseRequest>,
) -> Result<Json<Pause>, Refusal> {
    let paused = Which { workflow, repository }.one()?;
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
    runs.unpause(&which.one()?).await?;
    Ok(StatusCode::NO_CONTENT)
}
