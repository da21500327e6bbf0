//! `GET /api/dead-letters` and one of them.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{LetterPath, Path, Query, after, age, cursor, limit, words},
};
use crate::runs::{LetterQuery, Runs, views};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show))
}

/// Dead letters that fit every one of these.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// Also those that were replayed or discarded.
    #[serde(default)]
    settled: bool,
    /// Given up for this reason.
    #[param(schema_with = views::letter_reason)]
    reason: Option<String>,
    /// Of this workflow.
    workflow: Option<String>,
    /// Last given up longer ago than this: `90m`, `2d`.
    #[param(example = "90m")]
    older_than: Option<String>,
    /// Last given up no longer ago than this.
    #[param(example = "90m")]
    newer_than: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
    /// Where the page begins: `next` of the page before.
    #[param(pattern = "^[0-9]{1,15}-[0-9a-f]{1,64}$")]
    cursor: Option<String>,
}

/// Dead letters, the one that failed last first.
#[derive(Serialize, ToSchema)]
struct LetterPage {
    /// The letters.
    dead_letters: Vec<views::DeadLetter>,
    /// The `cursor` of the next page; null on the last one.
    next: Option<String>,
}

/// List dead letters, the newest first.
#[utoipa::path(
    get, path = "/dead-letters", tag = "dead letters", operation_id = "list_dead_letters",
    params(Filter),
    responses((status = 200, body = LetterPage, description = "A page of dead letters"))
)]
async fn list(
    State(runs): State<Runs>,
    Query(filter): Query<Filter>,
) -> Result<Json<LetterPage>, Refusal> {
    let limit = limit(filter.limit)?;
    let query = LetterQuery {
        settled: filter.settled,
        reason: words("reason", filter.reason.as_deref())?.pop(),
        workflow: filter.workflow,
        older_than: age("older_than", filter.older_than.as_deref())?,
        newer_than: age("newer_than", filter.newer_than.as_deref())?,
        after: after(filter.cursor.as_deref())?,
    };
    let mut letters = runs.dead_letters(&query).await?;
    let more = letters.len() > limit;
    letters.truncate(limit);
    let last = letters.last().filter(|_| more);
    let next = last.map(|last| cursor(last.last_at, &last.id));
    Ok(Json(LetterPage { dead_letters: letters.iter().map(views::dead_letter).collect(), next }))
}

/// Show a dead letter with its payload and headers.
#[utoipa::path(
    get, path = "/dead-letters/{id}", tag = "dead letters", operation_id = "show_dead_letter",
    params(LetterPath),
    responses((status = 200, body = views::DeadLetterDetails, description = "The letter"))
)]
async fn show(
    State(runs): State<Runs>,
    Path(LetterPath { id }): Path<LetterPath>,
) -> Result<Json<views::DeadLetterDetails>, Refusal> {
    let (letter, payload) = runs.dead_letter(&id).await?;
    Ok(Json(views::dead_letter_details(&letter, &payload)))
}
