//! What a refused request is answered with: a status, `{"error": "…"}`, and a header or two.

use std::any::Any;

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// A request that was not done.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    why: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// With this status, and why and what to do.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), headers: Vec::new() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.why }))).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

/// What a panic is answered with. It was logged where it happened; its text stays here.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    let why = "something went wrong here; the log says what";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
}
