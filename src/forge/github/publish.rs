//! One review on GitHub for one head, however often publishing is tried.
//!
//! A review's identity is the marker at the start of its body: host, repository, number, head. So a
//! crash between the call and its record, an answer lost after GitHub had done the work, and a
//! second worker all find what is there and bring it up to date instead of posting again. Order of
//! a first publication: look for reviews of ours, remove a pending draft left behind, read the head
//! once more, post. After an answer that leaves open whether the review was created: wait, look.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    GitHub,
    auth::Access,
    client::Call,
    compose::{self, Composed},
    lines::CommentableLines,
    model::{ChangedFile, Pull, Review},
    place::PullPlace,
};
use crate::{
    base::{FaultKind, Result},
    forge::{Publication, Published},
};

/// After an answer that was lost: a write may land this much later.
const SETTLE: Duration = Duration::from_secs(3);

/// Publishes a review of a pull request.
pub(super) async fn publish(github: &GitHub, review: &Publication) -> Result<Published> {
    let place = super::place_of(&review.target.repo)?;
    let publishing = Publishing { github, access: github.access(&place), place, review };
    publishing.publish().await
}

/// One publication under way.
struct Publishing<'a> {
    github: &'a GitHub,
    access: Access,
    place: PullPlace,
    review: &'a Publication,
}

impl Publishing<'_> {
    async fn publish(&self) -> Result<Published> {
        let marker = compose::marker(self.github.host(), &self.place, &self.review.target.head);
        let lines = self.commentable().await?;
        let composed = compose::compose(&marker, self.review, &lines);
        if let Some(there) = self.ours(&marker).await? {
            return self.bring_up_to_date(&there, &composed).await;
        }
        if self.head_moved().await? {
            return Ok(Published::HeadMoved);
        }
        match self.post(&composed).await {
            Ok(url) => Ok(Published::At(url)),
            Err(fault) if fault.kind == FaultKind::Permanent => {
                // One comment that GitHub does not take refuses them all, and is not named.
                tracing::warn!(%fault, "the review goes into its summary, without comments on lines");
                let plain = compose::compose(&marker, self.review, &CommentableLines::default());
                self.post(&plain).await.map(Published::At)
            }
            Err(fault) => {
                // It may be there all the same, or land a moment later.
                sleep(SETTLE).await;
                match self.ours(&marker).await? {
                    Some(there) => self.bring_up_to_date(&there, &composed).await,
                    None => Err(fault),
                }
            }
        }
    }

    fn reviews_path(&self) -> String {
        let PullPlace { owner, repo, number } = &self.place;
        format!("/repos/{owner}/{repo}/pulls/{number}/reviews")
    }

    /// The submitted review with this marker. Pending drafts that a crash left behind are removed:
    /// while one exists, no other review can be made.
    async fn ours(&self, marker: &str) -> Result<Option<Review>> {
        let (client, path) = (&self.github.client, self.reviews_path());
        let reviews: Vec<Review> = client.pages(&self.access, &path).await?;
        for draft in reviews.iter().filter(|review| review.state == "PENDING") {
            // Only its author sees a pending review, so it is ours.
            client.call(&self.access, Call::delete(format!("{path}/{}", draft.id))).await?;
        }
        let submitted =
            |review: &Review| review.state != "PENDING" && review.body.starts_with(marker);
        Ok(reviews.into_iter().find(submitted))
    }

    /// A submitted review stays; its body says what is true now.
    async fn bring_up_to_date(&self, there: &Review, composed: &Composed) -> Result<Published> {
        if there.body != composed.body {
            let path = format!("{}/{}", self.reviews_path(), there.id);
            let body = json!({ "body": composed.body });
            self.github.client.call(&self.access, Call::put(path, body)).await?;
        }
        Ok(Published::At(there.html_url.clone()))
    }

    async fn head_moved(&self) -> Result<bool> {
        let pull: Pull = self.github.pull(&self.place).await?;
        Ok(pull.head.sha != self.review.target.head || pull.state != "open")
    }

    async fn post(&self, composed: &Composed) -> Result<String> {
        let body = json!({
            "commit_id": self.review.target.head,
            "event": "COMMENT",
            "body": composed.body,
            "comments": composed.comments,
        });
        let call = Call::post(self.reviews_path(), body);
        let answer: Value = self.github.client.json(&self.access, call).await?;
        Ok(answer["html_url"].as_str().unwrap_or_default().to_owned())
    }

    /// The lines that GitHub shows of this pull request, by its own patches.
    async fn commentable(&self) -> Result<CommentableLines> {
        let PullPlace { owner, repo, number } = &self.place;
        let path = format!("/repos/{owner}/{repo}/pulls/{number}/files");
        let files: Vec<ChangedFile> = self.github.client.pages(&self.access, &path).await?;
        Ok(CommentableLines::of(&files))
    }
}
