//! `/api`: a list of routes, each a file here. A route turns a request into a call of [`Runs`], and
//! its answer into JSON. What it takes and answers stands beside it, and `/api/openapi.json` is made
//! of that: a route that is not described is not reachable.

mod body;
mod bulk;
mod cancel_run;
mod dead_letters;
mod delete_run;
mod drawings;
mod events;
mod fork_run;
mod history;
mod interrupts;
mod list_runs;
mod openapi;
pub(super) mod params;
mod pauses;
mod resume_run;
mod send_event;
mod settle_dead_letter;
mod show_run;
mod start_run;
mod state;
mod workflows;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, FromRef},
    http::{HeaderValue, StatusCode, header},
    routing::get,
};
use utoipa_axum::router::OpenApiRouter;

use super::answer::Refusal;
use crate::{
    queue::Queue,
    runs::{Error, Runs},
};

/// Some routes below `/api`, with their descriptions.
pub type Routes = fn() -> OpenApiRouter<ApiState>;

/// The list of them all.
pub const ROUTES: &[Routes] = &[
    start_run::routes,
    list_runs::routes,
    show_run::routes,
    state::routes,
    history::routes,
    events::routes,
    drawings::routes,
    resume_run::routes,
    send_event::routes,
    cancel_run::routes,
    fork_run::routes,
    delete_run::routes,
    interrupts::routes,
    dead_letters::routes,
    settle_dead_letter::routes,
    workflows::routes,
    pauses::routes,
    bulk::routes,
];

/// What `/api` answers with.
#[derive(Clone)]
pub struct Api {
    /// What its routes share.
    pub state: ApiState,
    /// Its routes.
    pub routes: Vec<Routes>,
    /// The queue whose depth pages show.
    pub queue: Option<Arc<dyn Queue>>,
}

/// What the routes share.
#[derive(Clone)]
pub struct ApiState {
    /// What they call.
    pub runs: Runs,
    /// Whether the states of runs are shown.
    pub development: bool,
}

impl FromRef<ApiState> for Runs {
    fn from_ref(state: &ApiState) -> Self {
        state.runs.clone()
    }
}

impl Api {
    /// All [`ROUTES`]. States are shown only in `development`.
    pub fn new(runs: Runs, development: bool) -> Self {
        Self { state: ApiState { runs, development }, routes: ROUTES.to_vec(), queue: None }
    }

    /// The same, with pages that show how much is on this queue.
    #[must_use]
    pub fn with_queue(self, queue: Arc<dyn Queue>) -> Self {
        Self { queue: Some(queue), ..self }
    }
}

/// The largest body. Inputs name what to work on and do not carry it; and should the run fail, its
/// message must fit on every queue, the smallest of which takes a few megabytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// When to ask again, unless what failed says otherwise.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The routes below `/api`. A process without an API has none, and says so.
pub(super) fn router(api: Option<Api>) -> Router {
    let Some(Api { state, routes, .. }) = api else {
        return Router::new().fallback(async || {
            let why = "this process has no API: it was started with `--role worker`";
            Refusal::new(StatusCode::NOT_FOUND, why)
        });
    };
    let all = routes.iter().fold(OpenApiRouter::new(), |all, routes| all.merge(routes()));
    let (router, described) = all.split_for_parts();
    let document = openapi::document(described);
    router
        .route("/openapi.json", get(async move || Json(document)))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this takes other methods; see Allow")
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(state)
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let why = error.to_string();
        match error {
            Error::UnknownWorkflow { .. } | Error::NotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, why)
            }
            Error::NoRun(_) | Error::Invalid(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, why),
            Error::Conflict(_) => Self::new(StatusCode::CONFLICT, why),
            Error::Answered { first, .. } => {
                Self::new(StatusCode::CONFLICT, why).detail("first", first)
            }
            Error::Unavailable(fault) => {
                let seconds = fault.retry_after.unwrap_or(RETRY_AFTER).as_secs().max(1);
                Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
                    .with(header::RETRY_AFTER, HeaderValue::from(seconds))
            }
            Error::Broken(_) => {
                tracing::error!(error = why, "the store refused a request");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, why)
            }
        }
    }
}
