//! The part of GitHub's GraphQL API that review threads need: read them, resolve them, hide comments.
//!
//! Queries are parsed and answered field by field, so that a field that GitHub does not have is refused here, too.
//!
//! Laid out: `parse` (the query language) · `execute` (fields of selections) · `types` (what each type has) · `window`
//! (pages of lists) · `mutations`.

mod execute;
mod mutations;
mod parse;
mod types;
mod window;

use serde_json::{Map, Value, json};

use crate::{
    api::{
        identity::Identity,
        message::{Answer, Reply, Request},
    },
    world::World,
};

/// An error in the list of an answer.
#[derive(Debug)]
pub(crate) struct Problem {
    /// `NOT_FOUND`, `FORBIDDEN`, …; nothing for a query that is no query.
    kind: Option<&'static str>,
    message: String,
}

impl Problem {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Some(kind), message: message.into() }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self { kind: None, message: message.into() }
    }

    fn shape(&self, path: &[String]) -> Value {
        match self.kind {
            Some(kind) => json!({"type": kind, "path": path, "message": self.message}),
            None => json!({"message": self.message, "locations": [{"line": 1, "column": 1}]}),
        }
    }
}

/// Answers a query or mutation.
pub(crate) fn answer(world: &mut World, request: &Request, who: &Identity) -> Answer {
    if matches!(who, Identity::Anonymous | Identity::App(_)) {
        return Err(Reply::refuse(401, "This endpoint requires you to be authenticated."));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|_| Reply::refuse(400, "Problems parsing JSON"))?;
    let query = body["query"].as_str().unwrap_or_default();
    let variables = body["variables"].as_object().cloned().unwrap_or_default();
    Reply::ok(run(world, who, query, variables))
}

fn run(world: &mut World, who: &Identity, query: &str, variables: Map<String, Value>) -> Value {
    let document = match parse::parse(query) {
        Ok(document) => document,
        Err(message) => return json!({"errors": [Problem::invalid(message).shape(&[])]}),
    };
    let mut execution = execute::Execution::new(world, who, &document, variables);
    match execution.run() {
        Ok(data) if execution.problems.is_empty() => json!({"data": data}),
        Ok(data) => json!({"data": data, "errors": execution.problems}),
        Err(problem) => json!({"errors": [problem.shape(&[])]}),
    }
}
