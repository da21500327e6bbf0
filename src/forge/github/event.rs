//! What a webhook asks for. What came with it decides only which pull request to ask about; the
//! answer is about the pull request as it is now.

use super::{
    GitHub, PullPlace,
    body::{Body, Check},
    check,
    client::Call,
    command, merge_group,
    model::Pull,
};
use crate::{
    base::Result,
    forge::{EventRequest, Occasion, Proposal, ReviewRequest},
};

/// The button of a check run that asks for a review.
pub(super) const REVIEW_BUTTON: &str = "review";

/// What an event asks for, as the pull request is now.
pub(super) async fn requested(github: &GitHub, name: &str, body: &[u8]) -> Result<EventRequest> {
    let body = Body::read(body)?;
    let ignore = |reason: String| Ok(EventRequest::Ignore(reason));
    let (number, occasion) = match name {
        "pull_request" => {
            let place = body.place(body.pull_number())?;
            if body.action() == "closed" {
                return Ok(EventRequest::Cancel { subject: github.subject(&place) });
            }
            match occasion(github, &body).await? {
                Ok(occasion) => (Some(place.number), Some(occasion)),
                Err(reason) => return ignore(reason),
            }
        }
        "issue_comment"
            if body.issue.as_ref().is_some_and(|issue| issue.pull_request.is_none()) =>
        {
            return ignore("the comment is on an issue".to_owned());
        }
        "issue_comment" | "pull_request_review_comment" => (body.pull_number(), None),
        "check_run" | "check_suite" => match again(&body, name) {
            Ok(check) => match pull_of(github, &body, check).await? {
                Some(number) => (Some(number), Some(Occasion::Asked)),
                None => return ignore("the check is of no open pull request".to_owned()),
            },
            Err(reason) => return ignore(reason),
        },
        "merge_group" => return merge_group::copied(github, &body).await,
        _ => return ignore(format!("a `{name}` event asks for nothing")),
    };
    let place = body.place(number)?;
    if !github.client.is_installed(&github.access(&place)).await? {
        return ignore(format!("the App is not installed on {}", place.repository()));
    }
    let locator = GitHub::locator(&place.to_string());
    let occasion = match occasion {
        Some(occasion) => occasion,
        None => match command::requested(github, &body, &locator).await? {
            Some(other) => return Ok(other),
            None => Occasion::Asked,
        },
    };
    let pull = github.pull(&place).await?;
    if pull.state != "open" {
        return Ok(EventRequest::Cancel { subject: github.subject(&place) });
    }
    let proposal = proposal(github, pull).await?;
    Ok(EventRequest::Review(ReviewRequest { locator, occasion, proposal }))
}

/// Why a `pull_request` event asks for a review, or why it does not.
async fn occasion(github: &GitHub, body: &Body) -> Result<Result<Occasion, String>> {
    let moved = || body.changes.as_ref().is_some_and(|changes| changes.base.is_some());
    Ok(Ok(match body.action() {
        "opened" | "reopened" | "ready_for_review" => Occasion::Opened,
        "edited" if moved() => Occasion::Opened,
        "synchronize" => Occasion::Pushed,
        "labeled" => {
            let name = body.label.as_ref().and_then(|label| label.name.clone());
            Occasion::Labelled(name.unwrap_or_default())
        }
        "review_requested" => {
            let asked = body.requested_reviewer.as_ref().and_then(|user| user.login.as_deref());
            match asked {
                Some(login) if login.eq_ignore_ascii_case(&github.client.login().await?) => {
                    Occasion::Asked
                }
                _ => return Ok(Err("the review of somebody else is asked for".to_owned())),
            }
        }
        action => return Ok(Err(format!("nothing is reviewed after `{action}`"))),
    }))
}

/// The check that is to be made again, or why it is not.
fn again<'a>(body: &'a Body, name: &str) -> Result<&'a Check, String> {
    let wanted = match body.action() {
        "rerequested" => true,
        "requested_action" => {
            let button = body.requested_action.as_ref().and_then(|one| one.identifier.as_deref());
            button == Some(REVIEW_BUTTON)
        }
        _ => false,
    };
    if !wanted {
        return Err(format!("nothing is reviewed after a `{name}` is {}", body.action()));
    }
    match if name == "check_run" { &body.check_run } else { &body.check_suite } {
        Some(run) if run.name.as_deref().is_none_or(|name| name == check::NAME) => Ok(run),
        _ => Err("the check is another's".to_owned()),
    }
}

/// The open pull request whose check it is: GitHub does not name those from forks.
async fn pull_of(github: &GitHub, body: &Body, check: &Check) -> Result<Option<u64>> {
    if let Some(number) = check.pull_requests.iter().find_map(|pull| pull.number) {
        return Ok(Some(number));
    }
    let Some(head) = &check.head_sha else { return Ok(None) };
    let place = body.place(Some(1))?;
    let access = github.access(&place);
    if !github.client.is_installed(&access).await? {
        return Ok(None);
    }
    let PullPlace { owner, repo, .. } = &place;
    let path = format!("/repos/{owner}/{repo}/commits/{head}/pulls");
    let found: Option<Vec<Pull>> = github.client.find(&access, Call::get(path)).await?;
    let mut found = found.into_iter().flatten();
    Ok(found.find(|pull| pull.state == "open" && pull.head.sha == *head).map(|pull| pull.number))
}

async fn proposal(github: &GitHub, pull: Pull) -> Result<Proposal> {
    let author = pull.user.as_ref().map(|user| user.login.clone()).unwrap_or_default();
    let by_bot = pull.user.as_ref().is_some_and(|user| user.kind.as_deref() == Some("Bot"));
    let login = github.client.login().await?;
    Ok(Proposal {
        own: !author.is_empty() && author.eq_ignore_ascii_case(&login),
        author,
        by_bot,
        draft: pull.draft,
        labels: pull.labels.into_iter().map(|label| label.name).collect(),
        base_branch: pull.base.branch,
    })
}
