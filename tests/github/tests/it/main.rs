//! Tests of the fake through its HTTP interface, with a client that knows nothing of it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod apps;
mod binary;
mod checks;
mod comments;
mod contents;
mod diffs;
mod faults;
mod git_http;
mod limits;
mod openapi;
mod pulls;
mod reviews;
mod scenario;
mod search;
mod shapes;
mod site;
mod threads;
mod webhooks;
