//! `POST /api/runs`: a run asked for over HTTP.

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{super::answer::Refusal, ApiState, body};
use crate::{
    base::TraceContext,
    graph::{Envelope, RunId, RunStatus},
    queue::{Decoded, Job, Message},
    runs::{Runs, views},
};

pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(start))
}

/// What to run.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what the queue's decoder reads")]
struct JobRequest {
    /// The workflow's name.
    #[schema(min_length = 1, max_length = 200)]
    workflow: String,
    /// Its input.
    input: Value,
    /// One key, one run: sent again, it answers with the run there is.
    #[schema(min_length = 1, max_length = 1024)]
    key: Option<String>,
}

/// A run that workers were told of.
#[derive(Serialize, ToSchema)]
pub(super) struct Accepted {
    /// Its id.
    #[schema(value_type = String)]
    id: RunId,
    /// Where it stands.
    #[schema(schema_with = views::run_status)]
    status: RunStatus,
}

/// Where the run is found, and what it is.
pub(super) type AcceptedAt = (StatusCode, [(HeaderName, String); 1], Json<Accepted>);

pub(super) fn accepted(id: RunId, status: RunStatus) -> AcceptedAt {
    let headers = [(header::LOCATION, format!("/api/runs/{id}"))];
    (StatusCode::ACCEPTED, headers, Json(Accepted { id, status }))
}

/// Start a run. It is stored before a worker is told of it.
#[utoipa::path(
    post, path = "/runs", tag = "runs", operation_id = "start_run",
    request_body(content = JobRequest, content_type = "application/json"),
    responses((
        status = 202, body = Accepted, description = "The run, new or known by its key",
        headers(("Location" = String, description = "Where to see it"))
    ))
)]
async fn start(State(runs): State<Runs>, request: Request) -> Result<AcceptedAt, Refusal> {
    let trace = trace_of(request.headers());
    let job = job(request).await?;
    // The message that would have brought it: what its dead letter sends again, should it come to
    // that and the run be deleted by then.
    let message = job.to_message().with(TraceContext::HEADER, trace.to_string());
    let envelope = Envelope::of(message.headers, &message.body);
    let run = runs.submit(&job.workflow, (job.input.into(), job.key), envelope).await?;
    Ok(accepted(run.id, run.status))
}

/// The caller's trace, or one that begins here.
fn trace_of(headers: &HeaderMap) -> TraceContext {
    let given = headers.get(TraceContext::HEADER).and_then(|value| value.to_str().ok());
    given.and_then(|value| value.parse().ok()).unwrap_or_else(TraceContext::generate)
}

/// The request as what a queue would have brought, so that both read the same.
async fn job(request: Request) -> Result<Job, Refusal> {
    let (kind, body) = body::read(request).await?;
    let unreadable = |why: String| Refusal::new(StatusCode::BAD_REQUEST, why);
    match Decoded::of(&Message::new(body).with(header::CONTENT_TYPE.as_str(), kind)) {
        Ok(Decoded::Job(job)) => Ok(job),
        Ok(_) => Err(unreadable("the request has no `workflow`".to_owned())),
        Err(why) => Err(unreadable(format!("the request cannot be read: {why}"))),
    }
}
