//! `POST /api/events`: an event from outside, for the runs that wait for its key.

use axum::{Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{super::answer::Refusal, ApiState, body::Body};
use crate::runs::{Runs, views};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(send))
}

/// An event.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EventRequest {
    /// What runs wait for it by.
    #[schema(min_length = 1, max_length = 512)]
    key: String,
    /// What they receive: any JSON, `null` if left out.
    #[schema(value_type = Option<Value>)]
    payload: Option<Box<RawValue>>,
    /// Which of the key's events it is: sent again, it is the same one. A new one if left out.
    #[schema(min_length = 1, max_length = 512)]
    id: Option<String>,
}

/// Send an event to the runs that wait for its key, now or later. It is kept before it is answered.
#[utoipa::path(
    post, path = "/events", tag = "runs", operation_id = "send_event",
    request_body = EventRequest,
    responses((status = 202, body = views::SentEvent, description = "Kept, and given to these runs"))
)]
async fn send(
    State(runs): State<Runs>,
    Body(EventRequest { key, payload, id }): Body<EventRequest>,
) -> Result<(StatusCode, Json<views::SentEvent>), Refusal> {
    let payload = payload.as_deref().unwrap_or(RawValue::NULL);
    let sent = runs.send_event(&key, id.as_deref(), payload).await?;
    Ok((StatusCode::ACCEPTED, Json(sent)))
}
