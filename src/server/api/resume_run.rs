//! `POST /api/runs/{id}/resume`: an interrupt answered.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    body::Body,
    params::{Path, RunPath},
};
use crate::runs::{Runs, views};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(resume))
}

/// An answer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The interrupt's id; may be left out if only one is open.
    interrupt: Option<String>,
    /// The answer: any JSON.
    #[schema(value_type = Value)]
    answer: Box<RawValue>,
}

/// Answer an interrupt. The second answer is refused with 409 and the `first`.
#[utoipa::path(
    post, path = "/runs/{id}/resume", tag = "runs", operation_id = "resume_run", params(RunPath),
    request_body = Answer,
    responses((status = 200, body = views::Run, description = "Answered: the run as it is now"))
)]
async fn resume(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Body(Answer { interrupt, answer }): Body<Answer>,
) -> Result<Json<views::Run>, Refusal> {
    // What nobody could read again is not kept.
    if let Err(error) = serde_json::from_str::<Value>(answer.get()) {
        let why = format!("the answer cannot be read: {error}");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
    }
    runs.resume(&id, interrupt.as_deref(), &answer).await?;
    Ok(Json(views::run(&runs.find(&id).await?, runs.now())))
}
