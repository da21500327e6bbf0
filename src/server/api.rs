//! `/api`: runs asked for over HTTP.

use std::{collections::BTreeMap, time::Duration};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;
use tokio::time::timeout;

use super::answer::Refusal;
use crate::{
    base::TraceContext,
    graph::RunId,
    queue::{Decoded, JOB_TYPE, Job, decode, header::CONTENT_TYPE},
    worker::{Refused, Submit},
};

/// The largest body. Inputs name what to work on and do not carry it; and should the run fail, its
/// message must fit on every queue, the smallest of which takes a few megabytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// How long a body may take to arrive.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// When to ask again, unless what failed says otherwise.
const AGAIN: Duration = Duration::from_secs(5);

/// The routes below `/api`. Without anything to submit to there are none, and it says so.
pub(super) fn routes(submit: Option<Submit>) -> Router {
    let Some(submit) = submit else {
        return Router::new().fallback(async || {
            let why = "this process has no API: it was started with `--role worker`";
            Refusal::new(StatusCode::NOT_FOUND, why)
        });
    };
    Router::new()
        .route("/runs", post(start))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing here"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this takes other methods; see Allow")
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(submit)
}

/// `POST /api/runs`
async fn start(State(submit): State<Submit>, request: Request) -> Result<Response, Refusal> {
    let trace = trace_of(request.headers());
    let job = job(request).await?;
    let submitted = submit.submit(job, &trace).await.map_err(refusal)?;
    let body = json!({ "id": submitted.run, "status": submitted.status });
    let headers = [(header::LOCATION, location(&submitted.run))];
    Ok((StatusCode::ACCEPTED, headers, Json(body)).into_response())
}

fn location(run: &RunId) -> String {
    format!("/api/runs/{run}")
}

/// The caller's trace, or one that begins here.
fn trace_of(headers: &HeaderMap) -> TraceContext {
    let given = headers.get(TraceContext::HEADER).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.parse().ok()).unwrap_or_else(TraceContext::generate)
}

/// The request as what a queue would have brought, so that both read the same.
async fn job(request: Request) -> Result<Job, Refusal> {
    let headers = content_headers(request.headers())?;
    let body = timeout(BODY_PATIENCE, Bytes::from_request(request, &())).await.map_err(|_| {
        Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")
    })?;
    let body = body.map_err(|rejected| match rejected.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let why = format!("the body is larger than {BODY_LIMIT} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
        }
        status => Refusal::new(status, rejected.body_text()),
    })?;
    let unreadable = |why: String| Refusal::new(StatusCode::BAD_REQUEST, why);
    match decode(&headers, &body) {
        Ok(Decoded::Job(job)) => Ok(job),
        Ok(_) => Err(unreadable("the request has no `workflow`".to_owned())),
        Err(why) => Err(unreadable(format!("the request cannot be read: {why}"))),
    }
}

/// The headers that say what the body is. JSON must be called JSON: what a page of another origin
/// can send unasked is not.
fn content_headers(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Refusal> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if ![JOB_TYPE, "application/json"].iter().any(|json| essence.eq_ignore_ascii_case(json)) {
        let why = format!("send `content-type: application/json`, or {JOB_TYPE}");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    if let Some(encoding) =
        text(header::CONTENT_ENCODING).filter(|encoding| *encoding != "identity")
    {
        let why = format!("send the body plain, not with content-encoding `{encoding}`");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    Ok([(CONTENT_TYPE.to_owned(), kind.to_owned())].into())
}

fn refusal(refused: Refused) -> Refusal {
    let why = refused.to_string();
    match refused {
        Refused::UnknownWorkflow(_) => Refusal::new(StatusCode::NOT_FOUND, why),
        Refused::InvalidInput(_) => Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why),
        Refused::Unavailable(fault) => {
            let again = fault.retry_after.unwrap_or(AGAIN).as_secs().max(1);
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
                .with(header::RETRY_AFTER, HeaderValue::from(again))
        }
        Refused::Broken(_) => {
            tracing::error!(why, "a run could not be stored");
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why)
        }
    }
}
