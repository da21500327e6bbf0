//! `/dead-letters`: dead letters, and what becomes of them.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::State,
    response::Redirect,
    routing::{get, post},
};
use serde::Deserialize;

use super::{
    super::api::params::{LetterPath, Path, Query, words},
    Frame, Pages, Refused, Shown, short, shown,
};
use crate::{
    graph::store::{Letter, LetterReason, LetterState},
    runs::{LetterQuery, views},
};

/// Letters on a page.
const PAGE: usize = 200;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/dead-letters", get(list))
        .route("/dead-letters/{id}", get(show))
        .route("/dead-letters/{id}/replay", post(replay))
        .route("/dead-letters/{id}/discard", post(discard))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Filter {
    reason: String,
    settled: bool,
}

#[derive(Template)]
#[template(path = "letters.html")]
struct Page {
    frame: Frame,
    filter: Filter,
    reasons: Vec<&'static str>,
    total: usize,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "letter.html")]
struct LetterPage {
    frame: Frame,
    row: Row,
    headers: BTreeMap<String, String>,
    payload: String,
}

struct Row {
    short: String,
    run_short: String,
    letter: views::DeadLetter,
}

impl Row {
    fn of(letter: &Letter) -> Self {
        let run_short = letter.run.as_ref().map(|run| short(run.as_str())).unwrap_or_default();
        Self { short: short(&letter.id), run_short, letter: views::dead_letter(letter) }
    }
}

async fn list(State(pages): State<Pages>, Query(filter): Query<Filter>) -> Shown {
    let query = LetterQuery {
        settled: filter.settled,
        reason: words("reason", Some(&filter.reason))?.pop(),
        ..LetterQuery::default()
    };
    let letters = pages.api.runs.dead_letters(&query).await?;
    shown(&Page {
        frame: Frame::of(&pages, "letters").await,
        filter,
        reasons: LetterReason::ALL.map(LetterReason::as_str).to_vec(),
        total: letters.len(),
        rows: letters.iter().take(PAGE).map(Row::of).collect(),
    })
}

async fn show(State(pages): State<Pages>, Path(LetterPath { id }): Path<LetterPath>) -> Shown {
    let (letter, payload) = pages.api.runs.dead_letter(&id).await?;
    let row = Row::of(&letter);
    let frame = Frame::of(&pages, "letters").await;
    shown(&LetterPage { frame, row, headers: letter.headers, payload })
}

async fn replay(
    State(pages): State<Pages>,
    Path(LetterPath { id }): Path<LetterPath>,
) -> Result<Redirect, Refused> {
    pages.api.runs.close_letter(&id, LetterState::Replayed).await?;
    Ok(Redirect::to("/dead-letters"))
}

async fn discard(
    State(pages): State<Pages>,
    Path(LetterPath { id }): Path<LetterPath>,
) -> Result<Redirect, Refused> {
    pages.api.runs.close_letter(&id, LetterState::Discarded).await?;
    Ok(Redirect::to("/dead-letters"))
}
