//! GitHub's GraphQL, for what its REST API lacks.

use serde_json::{Value, json};

use super::{
    auth::Access,
    client::{Call, Client},
    limits::Limited,
};
use crate::base::{Fault, Result};

/// Where it is asked.
pub(super) const GRAPHQL: &str = "/graphql";

impl Client {
    /// Asks GraphQL, which stands beside the REST API of an Enterprise Server, not below it; answers
    /// the data.
    ///
    /// # Errors
    /// As [`Self::call`]; permanent when the query itself is refused.
    pub(super) async fn graphql(
        &self,
        access: &Access,
        query: &str,
        variables: Value,
        writes: bool,
    ) -> Result<Value> {
        let body = json!({ "query": query, "variables": variables });
        let call = Call { writes, ..Call::post(GRAPHQL, body) };
        let mut answer: Value = self.json(access, call).await?;
        let error = &answer["errors"][0];
        let Some(why) = error["message"].as_str() else { return Ok(answer["data"].take()) };
        // What a limit or a timeout of its own refuses is answered with 200, too.
        if error["type"].as_str().is_some_and(|kind| kind.starts_with("RATE_LIMIT")) {
            return Err(self.pauses.pause(&access.owner, Limited::Unsaid).await?);
        }
        let why = format!("POST {GRAPHQL}: GitHub answered: {why}");
        let passes = why.contains("Something went wrong");
        Err(if passes { Fault::transient(why) } else { Fault::permanent(why) })
    }
}
