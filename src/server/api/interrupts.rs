//! `GET /api/interrupts`: what waits for a person.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Query, after, limit, page},
};
use crate::{
    graph::store::WaitingFor,
    runs::{RunQuery, Runs, views},
};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Interrupts of runs that fit every one of these.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Only of this workflow.
    workflow: Option<String>,
    /// Only of runs about this subject.
    subject: Option<String>,
    /// Of at most so many runs.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// Where the page begins: `next` of the page before.
    #[param(pattern = "^[0-9]{1,15}-[0-9a-f]{32}$")]
    cursor: Option<String>,
}

/// Open interrupts, those of the newest run first.
#[derive(Serialize, ToSchema)]
struct InterruptPage {
    /// The interrupts; of a run at most the eight oldest.
    interrupts: Vec<views::WaitingInterrupt>,
    /// The `cursor` of the next page; null on the last one.
    next: Option<String>,
}

/// List what waits for a person.
#[utoipa::path(
    get, path = "/interrupts", tag = "runs", operation_id = "list_interrupts", params(Filter),
    responses((status = 200, body = InterruptPage, description = "A page of open interrupts"))
)]
async fn list(
    State(runs): State<Runs>,
    Query(filter): Query<Filter>,
) -> Result<Json<InterruptPage>, Refusal> {
    let limit = limit(filter.limit)?;
    let query = RunQuery {
        waiting: vec![WaitingFor::Person],
        workflow: filter.workflow,
        subject: filter.subject,
        limit: Some(limit + 1),
        after: after(filter.cursor.as_deref())?,
        ..RunQuery::default()
    };
    let (heads, next) = page(runs.list(query).all().await?, limit);
    Ok(Json(InterruptPage { interrupts: heads.iter().flat_map(views::interrupts).collect(), next }))
}
