//! `POST /api/runs/actions` and `POST /api/dead-letters/actions`: many acted on at once.
//!
//! The answer is a line of JSON for each, as it is done (letters a hundred at a time), behind a line that
//! counts them. It is done for as long as it is read.

use std::convert::Infallible;

use axum::{
    body::{Body as Stream, Bytes},
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{super::answer::Refusal, ApiState, body::Body, params::age};
use crate::{
    base,
    graph::store::{LetterReason, LetterState, RunStatus, WaitingFor},
    runs::{Error, LetterQuery, Replayed, RunAction, RunQuery, Runs, views},
};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(runs)).routes(routes!(letters))
}

/// What to do with which runs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RunsRequest {
    /// What to do.
    action: RunAction,
    /// With which: runs that fit every one of these. An empty filter is refused unless `all`.
    #[serde(default)]
    filter: RunsFilter,
    /// With every run that this can be done with.
    #[serde(default)]
    all: bool,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// Runs that fit every one of these.
#[derive(Default, PartialEq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct RunsFilter {
    /// With one of these statuses.
    #[schema(schema_with = views::run_statuses)]
    status: Vec<RunStatus>,
    /// That wait for one of these.
    #[schema(schema_with = views::waiting_kinds)]
    waiting: Vec<WaitingFor>,
    /// Of this workflow.
    workflow: Option<String>,
    /// About this subject.
    subject: Option<String>,
    /// To which nothing has happened for longer than this.
    #[schema(example = "90m")]
    older_than: Option<String>,
    /// To which something has happened since.
    #[schema(example = "90m")]
    newer_than: Option<String>,
}

/// What to do with which dead letters.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LettersRequest {
    /// What to do.
    action: LetterAction,
    /// With which: open letters that fit every one of these. An empty filter is refused unless `all`.
    #[serde(default)]
    filter: LettersFilter,
    /// With every open letter.
    #[serde(default)]
    all: bool,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// What to do with dead letters.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LetterAction {
    /// Send their messages again.
    Replay,
    /// Put them away.
    Discard,
}

/// Dead letters that fit every one of these.
#[derive(Default, PartialEq, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct LettersFilter {
    /// Given up for this reason.
    #[schema(schema_with = views::any_letter_reason)]
    reason: Option<LetterReason>,
    /// Of this workflow.
    workflow: Option<String>,
    /// Last given up longer ago than this.
    #[schema(example = "90m")]
    older_than: Option<String>,
    /// Last given up no longer ago than this.
    #[schema(example = "90m")]
    newer_than: Option<String>,
}

/// A line of the answer: how many there are, then one for each.
#[derive(Serialize)]
#[serde(untagged)]
enum Line {
    Count { selected: usize },
    Done { id: String, done: bool },
    Refused { id: String, done: bool, error: String },
}

type Lines = ([(HeaderName, &'static str); 1], Stream);

/// Cancel or retry all runs that a filter selects. Lines of JSON: `{"selected":N}`, then
/// `{"id","done","error"?}` for each, as it is done.
#[utoipa::path(
    post, path = "/runs/actions", tag = "runs", operation_id = "act_on_runs",
    request_body = RunsRequest,
    responses((status = 200, body = String, content_type = "application/x-ndjson", description = "Progress"))
)]
async fn runs(
    State(runs): State<Runs>,
    Body(request): Body<RunsRequest>,
) -> Result<Lines, Refusal> {
    let RunsRequest { action, filter, all, dry_run } = request;
    meant(all, filter == RunsFilter::default())?;
    let query = RunQuery {
        status: filter.status,
        waiting: filter.waiting,
        workflow: filter.workflow,
        subject: filter.subject,
        older_than: age("older_than", filter.older_than.as_deref())?,
        newer_than: age("newer_than", filter.newer_than.as_deref())?,
        limit: None,
        after: None,
    };
    let selected = runs.select(action, query).await?;
    let count = selected.len();
    let todo = if dry_run { Vec::new() } else { selected };
    let each = stream::iter(todo).then(move |head| {
        let runs = runs.clone();
        async move {
            let refused = runs.act(action, &head).await.err().map(|error| error.to_string());
            line(head.id.to_string(), refused)
        }
    });
    Ok(lines(count, each))
}

/// Replay or discard all open dead letters that a filter selects. Lines of JSON: `{"selected":N}`,
/// then `{"id","done","error"?}` for each, as it is done.
#[utoipa::path(
    post, path = "/dead-letters/actions", tag = "dead letters",
    operation_id = "act_on_dead_letters", request_body = LettersRequest,
    responses((status = 200, body = String, content_type = "application/x-ndjson", description = "Progress"))
)]
async fn letters(
    State(runs): State<Runs>,
    Body(request): Body<LettersRequest>,
) -> Result<Lines, Refusal> {
    let LettersRequest { action, filter, all, dry_run } = request;
    meant(all, filter == LettersFilter::default())?;
    let query = LetterQuery {
        reason: filter.reason,
        workflow: filter.workflow,
        older_than: age("older_than", filter.older_than.as_deref())?,
        newer_than: age("newer_than", filter.newer_than.as_deref())?,
        ..LetterQuery::default()
    };
    let selected = runs.dead_letters(&query).await?;
    let count = selected.len();
    let ids: Vec<String> = selected.into_iter().map(|letter| letter.id).collect();
    let todo: Vec<Vec<String>> = if dry_run {
        Vec::new()
    } else {
        ids.chunks(LETTERS_AT_ONCE).map(<[String]>::to_vec).collect()
    };
    let each = stream::iter(todo).then(move |ids| {
        let runs = runs.clone();
        async move { stream::iter(settle(&runs, action, &ids).await) }
    });
    Ok(lines(count, each.flatten()))
}

/// Letters between two goes through the queue's copies: one costs as much for all as for one.
const LETTERS_AT_ONCE: usize = 100;

/// Settles letters; after an outage none of the rest.
async fn settle(runs: &Runs, action: LetterAction, ids: &[String]) -> Vec<Line> {
    let to = match action {
        LetterAction::Replay => LetterState::Replayed,
        LetterAction::Discard => LetterState::Discarded,
    };
    let (mut done, mut last) = (Vec::with_capacity(ids.len()), None);
    let settled = |id: &str, answer: base::Result<Replayed>| {
        let changed = answer.map_err(Error::from).and_then(|settled| settled.changed(id, to));
        last = changed.err().map(|error| error.to_string());
        done.push(line(id.to_owned(), last.clone()));
    };
    runs.close_each(ids, to, settled).await;
    for id in &ids[done.len()..] {
        done.push(line(id.clone(), last.clone()));
    }
    done
}

/// Nobody acts on everything by leaving something out.
fn meant(all: bool, empty: bool) -> Result<(), Refusal> {
    if all != empty {
        let why = "say which: a `filter` with at least one field, or `\"all\": true` without one";
        return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why));
    }
    Ok(())
}

fn line(id: String, refused: Option<String>) -> Line {
    match refused {
        None => Line::Done { id, done: true },
        Some(error) => Line::Refused { id, done: false, error },
    }
}

fn lines(selected: usize, each: impl futures_util::Stream<Item = Line> + Send + 'static) -> Lines {
    let count = stream::iter([Line::Count { selected }]);
    let text = count.chain(each).map(|line| {
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        Ok::<_, Infallible>(Bytes::from(text))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Stream::from_stream(text))
}
