//! The summary of a pull request: one comment below it, brought up to date in place, apart from the
//! reviews. It says what the current head's review came to, what does not stand on lines, what was
//! left out and why, and what was covered.

use serde_json::json;
use tokio::time::sleep;

use super::{client::Call, compose, history, model::IssueComment, publish::Publishing};
use crate::{
    base::{FaultKind, Result},
    forge::Comment,
};

/// Writes the summary; answers its address. `None` where we may not comment: then the review says
/// everything itself.
pub(super) async fn publish(of: &Publishing<'_>, elsewhere: &[&Comment]) -> Result<Option<String>> {
    let marker = compose::summary_marker(&of.subject);
    let known = history::known_line(of.review);
    let opening = format!("{marker}{known}{}", of.review.opening);
    let body = compose::body(&opening, elsewhere, &of.review.closing);
    match write(of, &body).await {
        Ok(url) => Ok(Some(url)),
        Err(fault) if fault.kind == FaultKind::Permanent => {
            tracing::warn!(error = %fault, "there is no summary: the review says everything itself");
            Ok(None)
        }
        // It may be there all the same, or land a moment later.
        Err(fault) => {
            sleep(of.github.settle).await;
            let there = ours(of).await?.into_iter().next().ok_or(fault)?;
            change(of, &there, &body).await.map(Some)
        }
    }
}

async fn write(of: &Publishing<'_>, body: &str) -> Result<String> {
    let mut ours = ours(of).await?.into_iter();
    let Some(first) = ours.next() else {
        let path = of.path(&format!("/issues/{}/comments", of.place.number));
        let answer = of.write(Call::post(path, json!({ "body": body }))).await?;
        let created = serde_json::from_slice::<IssueComment>(&answer);
        return created.map(|comment| comment.html_url).map_err(|error| {
            let why = format!("GitHub's answer about a new comment cannot be read: {error}");
            crate::base::Fault::transient(why)
        });
    };
    // A write that was given up and landed after all.
    for other in ours {
        of.write(Call::delete(of.path(&format!("/issues/comments/{}", other.id)))).await?;
    }
    change(of, &first, body).await
}

async fn change(of: &Publishing<'_>, there: &IssueComment, body: &str) -> Result<String> {
    if there.body.as_deref() != Some(body) {
        let path = of.path(&format!("/issues/comments/{}", there.id));
        of.write(Call::patch(path, json!({ "body": body }))).await?;
    }
    Ok(there.html_url.clone())
}

/// Our summaries, oldest first.
async fn ours(of: &Publishing<'_>) -> Result<Vec<IssueComment>> {
    let client = &of.github.client;
    let login = client.login().await?;
    let marker = compose::summary_marker(&of.subject);
    let path = of.path(&format!("/issues/{}/comments", of.place.number));
    let mut comments: Vec<IssueComment> = client.pages(&of.access, &path).await?;
    comments.retain(|comment| comment.is_ours(&login, &marker));
    Ok(comments)
}
