//! `POST /api/runs`: a run asked for over HTTP.

use std::time::Duration;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{FromRequest, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;
use tokio::time::timeout;

use super::{answer::Refusal, api::BODY_LIMIT};
use crate::{
    base::TraceContext,
    graph::{Envelope, RunId},
    queue::{Decoded, JOB_TYPE, Job, Message},
    runs::Runs,
};

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn routes() -> Router<Runs> {
    Router::new().route("/runs", post(start))
}

async fn start(State(runs): State<Runs>, request: Request) -> Result<Response, Refusal> {
    let trace = trace_of(request.headers());
    let mut job = job(request).await?;
    let key = job.key.get_or_insert_with(|| RunId::random().to_string()).clone();
    // The message that would have brought it: what its dead letter sends again, should it come to
    // that and the run be deleted by then.
    let message = job.to_message().with(TraceContext::HEADER, trace.to_string());
    let envelope = Envelope::of(message.headers, &message.body);
    let run = runs.submit(&job.workflow, (job.input.into(), key), envelope).await?;
    let body = json!({ "id": run.id, "status": run.status });
    let headers = [(header::LOCATION, format!("/api/runs/{}", run.id))];
    Ok((StatusCode::ACCEPTED, headers, Json(body)).into_response())
}

/// The caller's trace, or one that begins here.
fn trace_of(headers: &HeaderMap) -> TraceContext {
    let given = headers.get(TraceContext::HEADER).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.parse().ok()).unwrap_or_else(TraceContext::generate)
}

/// The request as what a queue would have brought, so that both read the same.
async fn job(request: Request) -> Result<Job, Refusal> {
    let kind = content_type(request.headers())?;
    let body = timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await.map_err(|_| {
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
    match Decoded::of(&Message::new(body).with(header::CONTENT_TYPE.as_str(), kind)) {
        Ok(Decoded::Job(job)) => Ok(job),
        Ok(_) => Err(unreadable("the request has no `workflow`".to_owned())),
        Err(why) => Err(unreadable(format!("the request cannot be read: {why}"))),
    }
}

/// What the body is. JSON must be called JSON: what a page of another origin can send unasked is
/// not.
fn content_type(headers: &HeaderMap) -> Result<String, Refusal> {
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
    Ok(kind.to_owned())
}
