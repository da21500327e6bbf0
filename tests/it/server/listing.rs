//! A route of the tests' own that lists runs: this file, and a line in the server's list.

use axum::{Json, extract::State};
use utoipa_axum::{router::OpenApiRouter, routes};
use verdict::{
    runs::{RunQuery, Runs, views},
    server::{ApiState, Refusal},
};

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Lists runs.
#[utoipa::path(
    get, path = "/listing", operation_id = "listing",
    responses((status = 200, body = Vec<views::Run>))
)]
async fn list(State(runs): State<Runs>) -> Result<Json<Vec<views::Run>>, Refusal> {
    let heads = runs.list(RunQuery::default()).all().await?;
    Ok(Json(heads.iter().map(|head| views::run(head, runs.now())).collect()))
}
