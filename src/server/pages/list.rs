//! `/`: runs.

use askama::Template;
use axum::{Router, extract::State, routing::get};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::{
    super::api::params::{Query, after, page, words},
    Frame, Pages, Shown, given, short, shown,
};
use crate::{
    base::Timestamp,
    graph::{Head, RunStatus, store::WaitingFor},
    runs::{RunQuery, views},
};

/// Runs on a page.
const PAGE: usize = 50;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/", get(list))
}

/// What is asked for; empty is anything.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Filter {
    status: String,
    waiting: String,
    workflow: String,
    subject: String,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct Page {
    frame: Frame,
    filter: Filter,
    statuses: Vec<&'static str>,
    kinds: Vec<&'static str>,
    workflows: Vec<&'static str>,
    rows: Vec<Row>,
    next: Option<String>,
}

struct Row {
    id: String,
    short: String,
    about: String,
    waits: String,
    run: views::Run,
}

impl Row {
    fn of(head: &Head, now: Timestamp) -> Self {
        let id = head.id.to_string();
        let about = head.subject.as_deref().unwrap_or(&head.key).chars().take(80).collect();
        let waits = head.waits(now).map(|waits| waits.to_string()).unwrap_or_default();
        Self { short: short(&id), id, about, waits, run: views::run(head, now) }
    }
}

async fn list(State(pages): State<Pages>, Query(filter): Query<Filter>) -> Shown {
    let runs = &pages.api.runs;
    let query = RunQuery {
        status: words("status", Some(&filter.status))?,
        waiting: words("waiting", Some(&filter.waiting))?,
        workflow: given(filter.workflow.clone()),
        subject: given(filter.subject.clone()),
        limit: Some(PAGE + 1),
        after: after(filter.cursor.as_deref())?,
        ..RunQuery::default()
    };
    let (heads, next) = page(runs.list(query).all().await?, PAGE);
    let now = runs.now();
    shown(&Page {
        frame: Frame::of(&pages, "runs").await,
        next: next.map(|cursor| filter.href(&cursor)),
        filter,
        statuses: RunStatus::ALL.map(RunStatus::as_str).to_vec(),
        kinds: WaitingFor::ALL.map(WaitingFor::as_str).to_vec(),
        workflows: runs.workflow_names().collect(),
        rows: heads.iter().map(|head| Row::of(head, now)).collect(),
    })
}

impl Filter {
    /// The same from that place on.
    fn href(&self, cursor: &str) -> String {
        let fields = [
            ("status", &*self.status),
            ("waiting", &self.waiting),
            ("workflow", &self.workflow),
            ("subject", &self.subject),
            ("cursor", cursor),
        ];
        let fields = fields.iter().filter(|(_, value)| !value.is_empty());
        let fields = fields.map(|(name, value)| format!("{name}={}", quoted(value)));
        format!("/?{}", fields.collect::<Vec<_>>().join("&"))
    }
}

/// A value as a query holds it.
pub(super) fn quoted(value: &str) -> String {
    utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()
}
