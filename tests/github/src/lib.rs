//! A stateful fake of GitHub over HTTP, on real git repositories: for tests, and for trying verdict without GitHub.
//!
//! What is written through its API is kept and can be read again; what GitHub refuses, it refuses with GitHub's status and
//! words; what GitHub sends webhooks about, it sends webhooks about. Faults can be put in the way of any request. It is no
//! mock: it knows nothing of verdict, and verdict talks to it as to GitHub, by another base URL.
//!
//! ```no_run
//! # async fn example() {
//! use fake_github::{Fault, FakeGitHub};
//! let github = FakeGitHub::start().await;
//! let repository = github.repository("octo/demo", "/path/to/a/git/repository");
//! let pull = repository.open_pull("feature", "main");
//! github.fail(Fault::lost_answer().on("POST", "/repos/*/*/pulls/*/reviews"));
//! // … what is tested …
//! assert_eq!(pull.reviews().len(), 1);
//! # }
//! ```
//!
//! It never reaches out of the machine, but for webhooks to the URLs it is given, and never changes the repositories it is
//! made from: it has refs of its own and only reads their objects.
//!
//! Laid out: `handle` (this API) · `server` (HTTP, faults, git, webhooks) · `api` (the REST API, one file for each kind of
//! thing) · `graphql` (review threads) · `json` (how things look) · `world` (the state) · `git` (repositories on disk) ·
//! `clock`.

#![recursion_limit = "256"]

mod api;
mod clock;
mod git;
mod graphql;
mod handle;
mod json;
mod server;
mod world;

pub use handle::{
    App, Check, Comment, FakeGitHub, IssueComment, MergeGroup, PullRequest, PullRequestBuilder,
    Repository, Review, WebhookDelivery,
};
pub use world::{
    actors::{Level, Permissions},
    faults::Fault,
    limits::Limits,
    log::LoggedRequest,
    repositories::{About, Role},
};

/// A route that is served: its method and its path as GitHub's description writes it.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    api::routes().map(|route| (route.method, route.template)).collect()
}
