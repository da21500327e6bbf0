//! The check run of a head: green only when everything was reviewed and nothing was found.

use serde_json::{Value, json};

use super::{
    GitHub,
    auth::Access,
    client::Call,
    compose::bounded,
    model::{CheckRun, CheckRuns},
};
use crate::{base::Result, forge::Publication};

/// The check's name, as branch protection asks for it.
const NAME: &str = "verdict";

/// Ends the head's check run, or changes the one that ended. Only an App has check runs; for
/// anybody else there is nothing to do.
pub(super) async fn conclude(github: &GitHub, access: &Access, review: &Publication) -> Result<()> {
    if !github.client.is_app() {
        return Ok(());
    }
    let Access { owner, repo } = access;
    let head = &review.target.head;
    let path = format!("/repos/{owner}/{repo}/commits/{head}/check-runs?check_name={NAME}");
    let found: CheckRuns = github.client.json(access, Call::get(path)).await?;
    let ours = |check: &&CheckRun| check.external_id.as_deref().is_some_and(|id| !id.is_empty());
    let runs = format!("/repos/{owner}/{repo}/check-runs");
    let call = match found.check_runs.iter().find(ours) {
        Some(there) => Call::patch(format!("{runs}/{}", there.id), outcome(review)),
        None => {
            let mut body = outcome(review);
            body["name"] = NAME.into();
            body["head_sha"] = head.as_str().into();
            body["external_id"] = review.run.as_str().into();
            Call::post(runs, body)
        }
    };
    github.client.call(access, call).await.map(drop)
}

fn outcome(review: &Publication) -> Value {
    let (conclusion, title) = match review.verdict {
        "clean" if !review.reviewed => ("neutral", "Nothing of the change was reviewed"),
        "clean" => ("success", "Nothing to say"),
        "changes_requested" => ("failure", "Changes requested"),
        "comments" => ("neutral", "Comments"),
        _ => ("neutral", "Incomplete: part of the change was not reviewed"),
    };
    let summary = bounded(format!("{}{}", review.opening, review.closing));
    json!({
        "status": "completed",
        "conclusion": conclusion,
        "output": { "title": title, "summary": summary },
    })
}
