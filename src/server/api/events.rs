//! `GET /api/runs/{id}/events`: a run followed as server-sent events, whichever process works on it.
//!
//! Each record is an event with the record's number as its id, and so is each start of a task, with
//! the number of the record that leads to it: a reader who comes back with `Last-Event-ID` misses
//! nothing and is told nothing twice. A reader is served from the store at its own pace: a slow one
//! holds up neither the run nor other readers.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    super::answer::Refusal,
    ApiState,
    params::{Path, Query, RunPath},
};
use crate::runs::{Error, Position, Runs, Watch, Watched, views};

/// How long nothing may be said, so that nobody in between takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(events))
}

/// From where on.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct From {
    /// Only records behind this number. The header `Last-Event-ID` counts more.
    after: Option<i64>,
}

/// Follow a run. `record` events hold what history lists; `node_started` events hold a task that has
/// started (`path`, `step`, `node`, `index`, `at`); `ended` holds the run, and is the last one;
/// `deleted` is the last one of a run that was deleted; `store_away` says that the store does not
/// answer for now. 204 for a reader who has seen the end.
#[utoipa::path(
    get, path = "/runs/{id}/events", tag = "runs", operation_id = "run_events",
    params(
        RunPath, From,
        (
            "Last-Event-ID" = Option<String>, Header, pattern = "^[0-9]{1,18}([.][0-9]{1,9})?$",
            description = "The id of the last event that was seen",
        ),
    ),
    responses(
        (status = 200, body = String, content_type = "text/event-stream", description = "Events"),
        (status = 204, description = "The end was seen: there is nothing to come"),
    )
)]
async fn events(
    State(runs): State<Runs>,
    Path(RunPath { id }): Path<RunPath>,
    Query(From { after }): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let last = last_event_id(&headers)?;
    let head = runs.find(&id).await?;
    if head.status.is_final() && last.is_some_and(|last| last.record >= head.version) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let after = after.and_then(|after| u64::try_from(after).ok()).map(Position::from);
    let watch = runs.watch(&id, last.or(after).unwrap_or_default()).await?;
    let events = Sse::new(told(runs, watch));
    Ok(events.keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Position>, Refusal> {
    let Some(last) = headers.get("last-event-id") else { return Ok(None) };
    let position = last.to_str().ok().and_then(|last| last.parse().ok());
    position.map(Some).ok_or_else(|| {
        let why = "`Last-Event-ID` is no id of an event";
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })
}

/// What a watcher sees, up to the end.
fn told(runs: Runs, watch: Watch) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    stream::unfold(Some((runs, watch)), async |following| {
        let (runs, mut watch) = following?;
        let (event, last) = match watch.next().await {
            Ok(Watched::Record(row)) => {
                let event = Event::default().event("record").id(watch.position().to_string());
                (data(event, json!(row)), false)
            }
            Ok(Watched::Started(task)) => {
                let event = Event::default().event("node_started").id(watch.position().to_string());
                (data(event, json!(task)), false)
            }
            Ok(Watched::StoreAway(why)) => (named("store_away", json!({ "error": why })), false),
            Ok(Watched::Ended(head)) => {
                (named("ended", json!(views::run(&head, runs.now()))), true)
            }
            Ok(Watched::Deleted) => (named("deleted", json!({ "id": watch.run })), true),
            Err(error) => (named("failed", json!({ "error": reason(&error) })), true),
        };
        Some((Ok(event), (!last).then_some((runs, watch))))
    })
}

fn named(name: &str, value: Value) -> Event {
    data(Event::default().event(name), value)
}

/// JSON has no line ends that would end an event.
fn data(event: Event, value: Value) -> Event {
    event.data(value.to_string())
}

fn reason(error: &Error) -> String {
    tracing::error!(%error, "a run cannot be followed");
    error.to_string()
}
