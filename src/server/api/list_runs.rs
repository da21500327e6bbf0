//! `GET /api/runs`: runs, a page at a time.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Query, after, age, limit, page, words},
};
use crate::runs::{RunQuery, Runs, views};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Runs that fit every one of these.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Filter {
    /// Only with one of these statuses, separated by commas.
    #[param(schema_with = views::run_statuses, style = Form, explode = false)]
    status: Option<String>,
    /// Only if it waits for one of these, separated by commas.
    #[param(schema_with = views::waiting_kinds, style = Form, explode = false)]
    waiting: Option<String>,
    /// Only of this workflow.
    workflow: Option<String>,
    /// Only about this subject.
    subject: Option<String>,
    /// Only if nothing has happened to it for longer than this: `90m`, `30d`.
    #[param(example = "90m")]
    older_than: Option<String>,
    /// Only if something has happened to it since: `90m`, `2d`.
    #[param(example = "90m")]
    newer_than: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// Where the page begins: `next` of the page before.
    #[param(pattern = "^[0-9]{1,15}-[0-9a-f]{32}$")]
    cursor: Option<String>,
}

/// Runs, the newest first.
#[derive(Serialize, ToSchema)]
struct RunPage {
    /// The runs.
    runs: Vec<views::Run>,
    /// The `cursor` of the next page; null on the last one.
    next: Option<String>,
}

impl Filter {
    /// The runs it selects; one more than a page shows, to see whether there are more.
    fn query(&self, limit: usize) -> Result<RunQuery, Refusal> {
        Ok(RunQuery {
            status: words("status", self.status.as_deref())?,
            waiting: words("waiting", self.waiting.as_deref())?,
            workflow: self.workflow.clone(),
            subject: self.subject.clone(),
            older_than: age("older_than", self.older_than.as_deref())?,
            newer_than: age("newer_than", self.newer_than.as_deref())?,
            limit: Some(limit + 1),
            after: after(self.cursor.as_deref())?,
        })
    }
}

/// List runs, the newest first.
#[utoipa::path(
    get, path = "/runs", tag = "runs", operation_id = "list_runs", params(Filter),
    responses((status = 200, body = RunPage, description = "A page of runs"))
)]
async fn list(
    State(runs): State<Runs>,
    Query(filter): Query<Filter>,
) -> Result<Json<RunPage>, Refusal> {
    let limit = limit(filter.limit)?;
    let query = filter.query(limit)?;
    let (heads, next) = page(runs.list(query).all().await?, limit);
    let now = runs.now();
    Ok(Json(RunPage { runs: heads.iter().map(|head| views::run(head, now)).collect(), next }))
}
