//! The dashboard: pages for people, rendered here.
//!
//! What it promises: every page works without JavaScript, and a script only renews it; nothing comes
//! from elsewhere; what is shown is escaped by the templates, none of which opts out; the browser is
//! told to run and load nothing but the two files served here. What it never does: decide. A page
//! calls [`Runs`](crate::runs::Runs) as the API does, and a button is a form.
//!
//! A page is a file here with its template in `templates/`, and a line in [`PAGES`].

mod assets;
mod frame;
mod letters;
mod list;
mod pauses;
mod run;
mod waiting;

use std::sync::Arc;

use askama::Template;
use axum::{
    Form, Router,
    extract::{FromRequest, Request},
    http::{HeaderValue, StatusCode, header},
    middleware::map_response,
    response::{Html, IntoResponse, Response},
};
use serde::de::DeserializeOwned;

use self::frame::Frame;
use super::{Api, ApiState, Readiness, answer::Refusal};
use crate::{queue::Queue, runs::Error};

/// The list of them all.
const PAGES: &[fn() -> Router<Pages>] =
    &[list::routes, run::routes, waiting::routes, letters::routes, pauses::routes, assets::routes];

/// What pages are made of.
#[derive(Clone)]
struct Pages {
    api: ApiState,
    queue: Option<Arc<dyn Queue>>,
    readiness: Readiness,
}

/// The pages at `/`.
pub(super) fn router(api: &Api, readiness: Readiness) -> Router {
    let state = Pages { api: api.state.clone(), queue: api.queue.clone(), readiness };
    let all = PAGES.iter().fold(Router::new(), |all, page| all.merge(page()));
    all.layer(map_response(careful)).with_state(state)
}

/// Nothing from elsewhere, nothing written into the page, no frame around it, nothing kept.
async fn careful(mut response: Response) -> Response {
    const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' \
        data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page, or why there is none.
type Shown = Result<Response, Refused>;

fn shown(page: &impl Template) -> Shown {
    match page.render() {
        Ok(text) => Ok(Html(text).into_response()),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            let why = "the page could not be rendered; the log says why";
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why).into())
        }
    }
}

/// A refusal, as a page.
struct Refused(Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage<'a> {
    frame: Frame,
    status: String,
    why: &'a str,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, why) = self.0.parts();
        let page = RefusedPage { frame: Frame::default(), status: status.to_string(), why };
        (status, Html(page.render().unwrap_or_default())).into_response()
    }
}

/// The fields of a form.
struct Fields<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Fields<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let form = Form::from_request(request, state).await;
        form.map(|Form(fields)| Self(fields))
            .map_err(|rejected| Refusal::new(StatusCode::BAD_REQUEST, rejected.body_text()).into())
    }
}

/// The beginning of an id, enough to tell it from others.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

/// A field that was left empty is none.
fn given(field: String) -> Option<String> {
    Some(field.trim().to_owned()).filter(|field| !field.is_empty())
}
