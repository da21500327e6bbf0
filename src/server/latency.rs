//! How long requests take, by method, route and status. A route is its template (`/api/runs/{id}`),
//! so that callers cannot make new series; what is on no route counts as `none`.

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use metrics::{SharedString, Unit, describe_histogram, histogram};
use tokio::time::Instant;

const DURATION: &str = "verdict_http_request_duration_seconds";

/// Describes what is recorded. Call it once the recorder is installed.
pub fn describe() {
    describe_histogram!(DURATION, Unit::Seconds, "From a request's head to its answer's");
}

/// Answers as without it, and records how long that took.
pub(super) async fn measured(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let method = word(request.method());
    let began = Instant::now();
    let response = next.run(request).await;
    let labels = [
        ("method", SharedString::const_str(method)),
        ("route", route.map_or(SharedString::const_str("none"), SharedString::from)),
        ("status", response.status().as_u16().to_string().into()),
    ];
    histogram!(DURATION, &labels).record(began.elapsed());
    response
}

fn word(method: &Method) -> &'static str {
    const KNOWN: [Method; 6] =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];
    const WORDS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];
    KNOWN.iter().zip(WORDS).find(|(known, _)| *known == method).map_or("other", |(_, word)| word)
}
