//! A route of the tests' own that lists runs: this file, and a line in the server's list.

use axum::{Json, Router, extract::State, routing::get};
use serde_json::Value;
use verdict::{
    runs::{RunQuery, Runs, views},
    server::Refusal,
};

pub fn routes() -> Router<Runs> {
    Router::new().route("/listing", get(list))
}

async fn list(State(runs): State<Runs>) -> Result<Json<Vec<Value>>, Refusal> {
    let heads = runs.list(RunQuery::default()).all().await?;
    Ok(Json(heads.iter().map(|head| views::run(head, runs.now())).collect()))
}
