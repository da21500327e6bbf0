//! `/pauses`: what is put off.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::StatusCode,
    response::Redirect,
    routing::{get, post},
};
use serde::Deserialize;

use super::{super::answer::Refusal, Fields, Frame, Pages, Refused, Shown, given, shown};
use crate::runs::{Pause, Paused};

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/pauses", get(list).post(pause)).route("/pauses/end", post(unpause))
}

#[derive(Template)]
#[template(path = "pauses.html")]
struct Page {
    frame: Frame,
    rows: Vec<Row>,
    workflows: Vec<&'static str>,
}

struct Row {
    kind: &'static str,
    name: String,
    since: String,
    reason: String,
}

impl From<Pause> for Row {
    fn from(Pause { paused, reason, since, .. }: Pause) -> Self {
        let (kind, name) = match paused {
            Paused::Workflow(name) => ("workflow", name),
            Paused::Repository(name) => ("repository", name),
        };
        Self { kind, name, since, reason: reason.unwrap_or_default() }
    }
}

async fn list(State(pages): State<Pages>) -> Shown {
    let runs = &pages.api.runs;
    let rows = runs.pauses().await?.into_iter().map(Row::from).collect();
    let workflows = runs.workflow_names().collect();
    shown(&Page { frame: Frame::of(&pages, "pauses").await, rows, workflows })
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct What {
    workflow: String,
    repository: String,
    reason: String,
}

impl What {
    fn paused(&self) -> Result<Paused, Refusal> {
        match (given(self.workflow.clone()), given(self.repository.clone())) {
            (Some(name), None) => Ok(Paused::Workflow(name)),
            (None, Some(name)) => Ok(Paused::Repository(name)),
            _ => {
                let why = "name a workflow or a repository, and not both";
                Err(Refusal::new(StatusCode::BAD_REQUEST, why))
            }
        }
    }
}

async fn pause(
    State(pages): State<Pages>,
    Fields(what): Fields<What>,
) -> Result<Redirect, Refused> {
    pages.api.runs.pause(what.paused()?, given(what.reason)).await?;
    Ok(Redirect::to("/pauses"))
}

async fn unpause(
    State(pages): State<Pages>,
    Fields(what): Fields<What>,
) -> Result<Redirect, Refused> {
    pages.api.runs.unpause(&what.paused()?).await?;
    Ok(Redirect::to("/pauses"))
}
