//! `/runs/{id}`: one run, its timeline, its questions, and what can be done about it.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    super::{
        answer::Refusal,
        api::params::{Path, RunPath},
    },
    Fields, Frame, Pages, Refused, Shown,
    list::quoted,
    short, shown,
};
use crate::runs::views::{self, HistoryRow};

/// Records on a page, the last ones.
const RECORDS: u64 = 500;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/drawing.svg", get(drawing))
        .route("/runs/{id}/resume", post(resume))
        .route("/runs/{id}/cancel", post(cancel))
        .route("/runs/{id}/fork", post(fork))
}

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    frame: Frame,
    id: String,
    short: String,
    ended: bool,
    waits: String,
    subject_href: String,
    run: views::RunDetails,
    asked: Vec<Question>,
    active: String,
    rows: Vec<Row>,
    /// Records before those that are shown.
    earlier: u64,
    /// All records there were when the page was made.
    records: u64,
    state: Option<String>,
}

/// An open interrupt.
struct Question {
    id: String,
    node: String,
    request: String,
    at: String,
}

/// A record.
struct Row {
    record: HistoryRow,
    took: String,
    /// Of a hundred, compared with the longest.
    bar: u32,
}

async fn run(State(pages): State<Pages>, Path(RunPath { id }): Path<RunPath>) -> Shown {
    let (runs, development) = (&pages.api.runs, pages.api.development);
    let seen = runs.show(&id).await?;
    let now = runs.now();
    let head = &seen.head;
    let earlier = head.version.saturating_sub(RECORDS);
    let rows = runs.history(head.id.as_str(), earlier).await?;
    let details = views::run_details(&seen, now);
    let subject = head.subject.as_deref().unwrap_or_default();
    let asked = seen.interrupts.iter().map(|asked| Question {
        id: asked.id.clone(),
        node: asked.node.to_string(),
        request: pretty(&asked.request),
        at: asked.at.clone(),
    });
    shown(&Page {
        frame: Frame::of(&pages, "").await,
        id: head.id.to_string(),
        short: short(head.id.as_str()),
        ended: head.status.is_final(),
        waits: head.waits(now).map(|waits| waits.to_string()).unwrap_or_default(),
        subject_href: format!("/?subject={}", quoted(subject)),
        asked: asked.collect(),
        active: milliseconds(seen.timings.total_ms),
        records: earlier + rows.len() as u64,
        rows: with_bars(rows),
        earlier,
        state: development.then(|| pretty(&seen.state)),
        run: details.without_state(),
    })
}

fn with_bars(rows: Vec<HistoryRow>) -> Vec<Row> {
    let longest = rows.iter().filter_map(|row| row.duration_ms).fold(0.0, f64::max);
    let row = |record: HistoryRow| {
        let part = record.duration_ms.filter(|_| longest > 0.0).map(|took| took / longest);
        let tries = record.attempt.filter(|tries| *tries > 1);
        let tries = tries.map(|tries| format!(" ({tries} tries)")).unwrap_or_default();
        let took = record.duration_ms.map(milliseconds).unwrap_or_default();
        Row { took: took + &tries, bar: part.map_or(0, percent), record }
    };
    rows.into_iter().map(row).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of one, as a number up to a hundred"
)]
fn percent(part: f64) -> u32 {
    (part * 100.0).round().clamp(1.0, 100.0) as u32
}

/// Short times in milliseconds, longer ones in seconds.
fn milliseconds(took: f64) -> String {
    if took < 1000.0 { format!("{took:.1} ms") } else { format!("{:.1} s", took / 1000.0) }
}

fn pretty(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default(), str::to_owned)
}

async fn drawing(
    State(pages): State<Pages>,
    Path(RunPath { id }): Path<RunPath>,
) -> Result<Response, Refused> {
    let svg = pages.api.runs.show(&id).await?.drawing.svg();
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

#[derive(Deserialize)]
struct Answer {
    interrupt: String,
    answer: String,
}

async fn resume(
    State(pages): State<Pages>,
    Path(RunPath { id }): Path<RunPath>,
    Fields(Answer { interrupt, answer }): Fields<Answer>,
) -> Result<Redirect, Refused> {
    let parsed = serde_json::from_str::<Value>(&answer)
        .and_then(|_| serde_json::from_str::<Box<RawValue>>(&answer));
    let answer = parsed.map_err(|error| {
        let why = format!("the answer is no JSON: {error} (a text stands in double quotes)");
        Refusal::new(StatusCode::BAD_REQUEST, why)
    })?;
    pages.api.runs.resume(&id, Some(&interrupt), &answer).await?;
    Ok(back(&id))
}

async fn cancel(
    State(pages): State<Pages>,
    Path(RunPath { id }): Path<RunPath>,
) -> Result<Redirect, Refused> {
    pages.api.runs.cancel(&id).await?;
    Ok(back(&id))
}

#[derive(Deserialize)]
struct ForkFrom {
    from: u32,
}

async fn fork(
    State(pages): State<Pages>,
    Path(RunPath { id }): Path<RunPath>,
    Fields(ForkFrom { from }): Fields<ForkFrom>,
) -> Result<Redirect, Refused> {
    let fork = pages.api.runs.fork(&id, from, false).await?;
    Ok(back(fork.as_str()))
}

/// To the run's page. Its id was found: it is digits.
fn back(id: &str) -> Redirect {
    Redirect::to(&format!("/runs/{id}"))
}
