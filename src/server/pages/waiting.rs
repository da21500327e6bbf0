//! `/waiting`: what waits for a person.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use serde::Deserialize;

use super::{
    super::api::params::{Query, after, page},
    Frame, Pages, Shown, short, shown,
};
use crate::{
    graph::store::WaitingFor,
    runs::{RunQuery, views},
};

/// Runs on a page.
const PAGE: usize = 100;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/waiting", get(waiting))
}

#[derive(Deserialize)]
struct From {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "waiting.html")]
struct Page {
    frame: Frame,
    rows: Vec<Row>,
    next: Option<String>,
}

struct Row {
    short: String,
    asked: views::WaitingInterrupt,
}

async fn waiting(State(pages): State<Pages>, Query(From { cursor }): Query<From>) -> Shown {
    let query = RunQuery {
        waiting: vec![WaitingFor::Person],
        limit: Some(PAGE + 1),
        after: after(cursor.as_deref())?,
        ..RunQuery::default()
    };
    let (heads, next) = page(pages.api.runs.list(query).all().await?, PAGE);
    let rows = heads.iter().flat_map(views::interrupts);
    shown(&Page {
        frame: Frame::of(&pages, "waiting").await,
        rows: rows.map(|asked| Row { short: short(asked.run.as_str()), asked }).collect(),
        next: next.map(|cursor| format!("/waiting?cursor={cursor}")),
    })
}
