//! Tests of the fake through its HTTP interface, with a client that knows nothing of it.

mod apps;
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
mod search;
mod site;
mod threads;
mod webhooks;
