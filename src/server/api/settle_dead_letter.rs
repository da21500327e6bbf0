//! `POST /api/dead-letters/{id}/replay` and `/discard`.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{LetterPath, Path},
};
use crate::{
    graph::store::LetterState,
    runs::{Runs, views},
};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(replay)).routes(routes!(discard))
}

/// A letter that was settled.
#[derive(Serialize, ToSchema)]
struct SettledLetter {
    /// Its id.
    id: String,
    /// What became of it.
    #[schema(schema_with = views::letter_state)]
    state: LetterState,
    /// Whether this request did it; false if it was so before.
    changed: bool,
}

/// Send a dead letter's message again; its run goes on at what failed. Doing it twice is harmless.
#[utoipa::path(
    post, path = "/dead-letters/{id}/replay", tag = "dead letters",
    operation_id = "replay_dead_letter", params(LetterPath),
    responses((status = 200, body = SettledLetter, description = "Replayed, now or before"))
)]
async fn replay(
    State(runs): State<Runs>,
    Path(LetterPath { id }): Path<LetterPath>,
) -> Result<Json<SettledLetter>, Refusal> {
    settle(&runs, id, LetterState::Replayed).await
}

/// Put a dead letter away.
#[utoipa::path(
    post, path = "/dead-letters/{id}/discard", tag = "dead letters",
    operation_id = "discard_dead_letter", params(LetterPath),
    responses((status = 200, body = SettledLetter, description = "Discarded, now or before"))
)]
async fn discard(
    State(runs): State<Runs>,
    Path(LetterPath { id }): Path<LetterPath>,
) -> Result<Json<SettledLetter>, Refusal> {
    settle(&runs, id, LetterState::Discarded).await
}

async fn settle(
    runs: &Runs,
    id: String,
    state: LetterState,
) -> Result<Json<SettledLetter>, Refusal> {
    let changed = runs.close_letter(&id, state).await?;
    Ok(Json(SettledLetter { id, state, changed }))
}
