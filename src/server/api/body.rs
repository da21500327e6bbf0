//! A request's body: JSON that is called JSON, bounded in size and time.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::{super::answer::Refusal, BODY_LIMIT};
use crate::queue::JOB_TYPE;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A body that was read as JSON.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let (_, body) = read(request).await?;
        serde_json::from_slice(&body).map(Self).map_err(|error| {
            let why = format!("the request cannot be read: {}", crate::base::invalid_input(&error));
            Refusal::new(StatusCode::BAD_REQUEST, why)
        })
    }
}

/// The body's type and bytes.
pub(super) async fn read(request: Request) -> Result<(String, Bytes), Refusal> {
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
    Ok((kind, body))
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
