//! What a webhook asks for. Bodies are read leniently: only the fields used, any of which may be
//! absent; what came with the event decides only which pull request to ask about.

use serde::{Deserialize, Serialize};

use super::{GitHub, PullPlace};
use crate::{
    base::{Fault, Result},
    forge::{EventRequest, Locator, Selection},
};

/// The fields of a webhook's body that are used. Written again, they are the trimmed body.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Body {
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<PullRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<Repository>,
    #[serde(skip_serializing_if = "Option::is_none")]
    installation: Option<Installation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changes>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct PullRequest {
    number: Option<u64>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Repository {
    full_name: Option<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Installation {
    id: Option<u64>,
}

/// What an `edited` event says has changed.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Changes {
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<serde_json::Value>,
}

/// Actions of a `pull_request` event after which its head is to be reviewed.
const REVIEWED: &[&str] = &["opened", "reopened", "synchronize", "ready_for_review"];

/// The body with nothing but the fields that are used, for the queue.
///
/// # Errors
/// When it is no JSON object of a known shape.
pub fn trimmed(body: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&serde_json::from_slice::<Body>(body)?)
}

/// What an event asks for, as the pull request is now.
pub(super) async fn requested(github: &GitHub, name: &str, body: &[u8]) -> Result<EventRequest> {
    let ignore = |reason: String| Ok(EventRequest::Ignore(reason));
    if name != "pull_request" {
        return ignore(format!("a `{name}` event asks for nothing"));
    }
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| Fault::permanent(format!("the event cannot be read: {error}")))?;
    let action = body.action.as_deref().unwrap_or_default();
    let place = place_of(&body)?;
    if action == "closed" {
        return Ok(EventRequest::Cancel { subject: github.subject(&place) });
    }
    let moved = action == "edited" && body.changes.is_some_and(|changes| changes.base.is_some());
    if !REVIEWED.contains(&action) && !moved {
        return ignore(format!("nothing is reviewed after `{action}`"));
    }
    let pull = github.pull(&place).await?;
    if pull.state != "open" {
        return Ok(EventRequest::Cancel { subject: github.subject(&place) });
    }
    if pull.draft {
        return ignore(format!("{place} is a draft"));
    }
    if let Some(bot) = pull.user.filter(|user| user.kind.as_deref() == Some("Bot")) {
        return ignore(format!("{place} was opened by the bot {}", bot.login));
    }
    let (forge, place) = (super::KIND.to_owned(), place.to_string());
    Ok(EventRequest::Review(Locator { forge, place, selection: Selection::Default }))
}

fn place_of(body: &Body) -> Result<PullPlace> {
    let number = body.number.or(body.pull_request.as_ref().and_then(|pull| pull.number));
    let repository = body.repository.as_ref().and_then(|repository| repository.full_name.as_ref());
    let (Some(number), Some(repository)) = (number, repository) else {
        return Err(Fault::permanent("the event names no pull request of a repository"));
    };
    super::place_of(&format!("{repository}#{number}"))
}
