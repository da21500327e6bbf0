//! What a refused request is answered with: a status, `{"error": "…"}`, and a header or two.

use std::any::Any;

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A request that was not done.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    body: Box<Body>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why a request was not done.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(super) struct Body {
    /// Why, and what to do.
    error: String,
    /// More, for programs: the `first` answer to an interrupt, say.
    #[serde(flatten)]
    details: Map<String, Value>,
}

impl Refusal {
    /// With this status, and why and what to do.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let body = Box::new(Body { error: why.into(), details: Map::new() });
        Self { status, body, headers: Vec::new() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The same with one more field beside the reason.
    #[must_use]
    pub fn detail(mut self, name: &str, value: Value) -> Self {
        self.body.details.insert(name.to_owned(), value);
        self
    }

    /// The status, and why.
    pub(super) fn parts(&self) -> (StatusCode, &str) {
        (self.status, &self.body.error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(*self.body)).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

/// What a panic is answered with. It was logged where it happened; its text stays here.
pub(super) fn panicked(_: Box<dyn Any + Send>) -> Response {
    let why = "something went wrong here; the log says what";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why).into_response()
}
