//! `/api`: a list of routes, each a file here. A route turns a request into a call of [`Runs`], and
//! its answer into JSON.

use std::time::Duration;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{HeaderValue, StatusCode, header},
};

use super::{answer::Refusal, start_run};
use crate::runs::{Error, Runs};

/// Some routes below `/api`.
pub type Routes = fn() -> Router<Runs>;

/// The list of them all.
pub const ROUTES: &[Routes] = &[start_run::routes];

/// What `/api` answers with.
#[derive(Clone)]
pub struct Api {
    /// What its routes call.
    pub runs: Runs,
    /// Its routes.
    pub routes: Vec<Routes>,
}

impl Api {
    /// All [`ROUTES`].
    pub fn new(runs: Runs) -> Self {
        Self { runs, routes: ROUTES.to_vec() }
    }
}

/// The largest body. Inputs name what to work on and do not carry it; and should the run fail, its
/// message must fit on every queue, the smallest of which takes a few megabytes.
pub(super) const BODY_LIMIT: usize = 1024 * 1024;

/// When to ask again, unless what failed says otherwise.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The routes below `/api`. A process without an API has none, and says so.
pub(super) fn router(api: Option<Api>) -> Router {
    let Some(Api { runs, routes }) = api else {
        return Router::new().fallback(async || {
            let why = "this process has no API: it was started with `--role worker`";
            Refusal::new(StatusCode::NOT_FOUND, why)
        });
    };
    let all = routes.iter().fold(Router::new(), |all, routes| all.merge(routes()));
    all.fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this takes other methods; see Allow")
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(runs)
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
            Error::Unavailable(fault) => {
                let seconds = fault.retry_after.unwrap_or(RETRY_AFTER).as_secs().max(1);
                Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
                    .with(header::RETRY_AFTER, HeaderValue::from(seconds))
            }
            Error::Broken(_) => {
                tracing::error!(why, "the store refused a request");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, why)
            }
        }
    }
}
