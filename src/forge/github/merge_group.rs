//! The merge queue: a required check has to be on the head of a merge group, too, or the queue
//! stalls. The group's head is another commit with the same change, so the verdict on the pull
//! request's head is copied, and nothing is reviewed again.

use std::time::Duration;

use serde_json::json;

use super::{
    GitHub, PullPlace,
    body::Body,
    check::{self, NAME},
    client::Call,
    model::{CheckOutput, CheckRun},
};
use crate::{
    base::{Fault, Result},
    forge::EventRequest,
};

/// How long to wait for the end of a review that is under way.
const REVIEW_WAIT: Duration = Duration::from_secs(15);

/// Answers `merge_group`: copies the check of the pull request's head.
pub(super) async fn copied(github: &GitHub, body: &Body) -> Result<EventRequest> {
    let ignore = |reason: String| Ok(EventRequest::Ignore(reason));
    if body.action() != "checks_requested" {
        return ignore(format!("a merge group that is {} asks for nothing", body.action()));
    }
    if github.client.app().is_none() {
        return ignore("only an App has check runs".to_owned());
    }
    let group = body.merge_group.as_ref();
    let head = group.and_then(|group| group.head_sha.as_deref());
    let number = group.and_then(|group| pull_number(group.head_ref.as_deref()?));
    let Some((head, number)) = head.zip(number) else {
        return ignore("the merge group names no pull request".to_owned());
    };
    let place = body.place(Some(number))?;
    let access = github.access(&place);
    if !github.client.is_installed(&access).await? {
        return ignore(format!("the App is not installed on {}", place.repository()));
    }
    let pull = github.pull(&place).await?;
    let verdict = match check::ours(github, &access, &pull.head.sha).await? {
        Some(found) if found.status == "completed" => found,
        Some(_) => {
            let why = format!("the review of {place} is under way; the merge group waits for it");
            return Err(Fault::transient(why).after(REVIEW_WAIT));
        }
        None => unreviewed(),
    };
    let PullPlace { owner, repo, .. } = &place;
    let runs = format!("/repos/{owner}/{repo}/check-runs");
    let mut says = json!({
        "status": "completed",
        "conclusion": verdict.conclusion,
        "output": verdict.output,
    });
    let call = match check::ours(github, &access, head).await? {
        Some(there) => Call::patch(format!("{runs}/{}", there.id), says),
        None => {
            says["name"] = NAME.into();
            says["head_sha"] = head.into();
            says["external_id"] = format!("{place} in the merge queue").into();
            Call::post(runs, says)
        }
    };
    github.client.call(&access, call).await?;
    ignore(format!("the verdict on {place} stands on its merge group, too"))
}

/// What is said when the pull request's head has no verdict.
fn unreviewed() -> CheckRun {
    CheckRun {
        id: 0,
        status: "completed".to_owned(),
        conclusion: Some("neutral".to_owned()),
        external_id: None,
        output: CheckOutput {
            title: Some("Not reviewed".to_owned()),
            summary: Some("The head of the pull request has no review.".to_owned()),
            annotations_count: 0,
        },
    }
}

/// The pull request of a branch of the merge queue: `refs/heads/gh-readonly-queue/main/pr-7-SHA`.
fn pull_number(branch: &str) -> Option<u64> {
    let (_, last) = branch.split_once("gh-readonly-queue/")?.1.rsplit_once('/')?;
    last.strip_prefix("pr-")?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_of_the_queue_names_its_pull_request() {
        let sha = "0123456789012345678901234567890123456789";
        let queue = "refs/heads/gh-readonly-queue";
        assert_eq!(pull_number(&format!("{queue}/main/pr-7-{sha}")), Some(7));
        assert_eq!(pull_number(&format!("{queue}/release/1.0/pr-123-{sha}")), Some(123));
        assert_eq!(pull_number("refs/heads/main"), None);
        assert_eq!(pull_number(&format!("{queue}/main/x-7-{sha}")), None);
    }
}
