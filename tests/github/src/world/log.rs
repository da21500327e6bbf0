//! Every request that was made, for assertions.

use serde::Serialize;
use serde_json::Value;

/// A request and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedRequest {
    /// Counted from 1.
    pub number: u64,
    /// By the fake's clock, RFC 3339.
    pub at: String,
    /// `GET`, `POST`, …
    pub method: String,
    /// Without the query and without `/api/v3`.
    pub path: String,
    /// What follows the `?`.
    pub query: String,
    /// `app 5`, `installation 7`, `user alice` or `anonymous`.
    pub identity: String,
    /// The body, where it is JSON.
    pub body: Value,
    /// The status answered; none where there was no answer.
    pub status: Option<u16>,
    /// Whether the request was carried out.
    pub applied: bool,
    /// The fault that hit it.
    pub fault: Option<String>,
    /// The template of the route, where there is one.
    pub route: Option<String>,
    /// The body answered, where it is JSON.
    pub answer: Value,
}

/// The requests seen, oldest first.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    pub(crate) list: Vec<LoggedRequest>,
    next: u64,
}

impl RequestLog {
    /// Adds a request and gives it its number.
    pub(crate) fn add(&mut self, mut request: LoggedRequest) -> u64 {
        self.next += 1;
        request.number = self.next;
        self.list.push(request);
        self.next
    }

    /// The request of a number, unless it was cleared away.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut LoggedRequest> {
        self.list.iter_mut().rev().find(|request| request.number == number)
    }
}
