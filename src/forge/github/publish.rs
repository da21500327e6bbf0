//! One review on GitHub for one head and one summary for its pull request, however often publishing
//! is tried.
//!
//! Goals: exactly one review of each head and one summary, whatever crashed or was lost in between;
//! nothing of a head that had moved; nothing said twice.
//!
//! A review's identity is the marker at the start of its body: host, repository, number, head. So a
//! crash between the call and its record, an answer lost after GitHub had done the work, and a
//! second worker all find what is there and bring it up to date instead of posting again. Whoever
//! publishes holds the right to on the pull request, looks at what is there, reads the head once
//! more, and writes what is missing. After an answer that leaves open whether a write was done it
//! waits, and looks again.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    GitHub,
    auth::Access,
    check::Checks,
    client::Call,
    compose::{self, Placement},
    history,
    lines::CommentableLines,
    model::{ChangedFile, Pull, Review, ReviewComment},
    notes::PublishingRight,
    place::PullPlace,
    summary,
};
use crate::{
    base::{Fault, FaultKind, Result},
    forge::{Publication, Published, Standing},
};

/// Publishes a review of a pull request, and ends its check run.
pub(super) async fn publish(github: &GitHub, review: &Publication) -> Result<Published> {
    let place = super::place_of(&review.target.repo)?;
    let subject = github.subject(&place);
    let right = PublishingRight::acquire(&github.store, &subject, github.right_ttl).await?;
    let access = github.access(&place);
    let checks = Checks::of(github, &place, (&review.target.head, &review.run));
    let publishing = Publishing { github, access, place: &place, subject, review, right: &right };
    let published = Box::pin(async {
        let published = publishing.publish().await?;
        if let Some(checks) = &checks {
            let shown = match published {
                // The check of a head that moved decides nothing any more.
                Published::HeadMoved => checks.show(&Standing::Superseded).await,
                _ => match checks.conclude(review).await {
                    // An annotation that GitHub does not take leaves no check run open.
                    Err(fault) if fault.kind == FaultKind::Permanent => {
                        let plain = Publication { comments: Vec::new(), ..review.clone() };
                        checks.conclude(&plain).await
                    }
                    shown => shown,
                },
            };
            match shown {
                // The review stands: an App that may not write check runs has none.
                Err(fault) if fault.kind == FaultKind::Permanent => {
                    tracing::warn!(error = %fault, "the check run does not show the review");
                }
                shown => shown?,
            }
        }
        Ok(published)
    });
    let published = right.during(published).await;
    right.release().await;
    published
}

/// One publication under way.
pub(super) struct Publishing<'a> {
    pub(super) github: &'a GitHub,
    pub(super) access: Access,
    pub(super) place: &'a PullPlace,
    pub(super) subject: String,
    pub(super) review: &'a Publication,
    pub(super) right: &'a PublishingRight,
}

/// What of ours stands on a pull request.
struct Standings {
    /// The review of this head.
    review: Option<Review>,
    /// Our reviews of other heads that do not say so yet.
    earlier: Vec<Review>,
    /// Our comments on lines.
    comments: Vec<ReviewComment>,
}

impl Standings {
    /// The fingerprints of findings that have a comment, and were not fixed since.
    fn posted(&self) -> HashSet<String> {
        let open = self.comments.iter().filter(|comment| !history::says_fixed(&comment.body, None));
        let posted = open.filter_map(|comment| compose::fingerprint_of(&comment.body));
        posted.map(str::to_owned).collect()
    }

    /// Those of them that GitHub folds away, because the lines of their comments changed.
    fn hidden(&self) -> HashSet<&str> {
        let of = |shown: bool| {
            let open = self.comments.iter().filter(|one| !history::says_fixed(&one.body, None));
            let open = open.filter(move |comment| comment.line.is_some() == shown);
            open.filter_map(|comment| compose::fingerprint_of(&comment.body)).collect()
        };
        let (outdated, shown): (HashSet<&str>, HashSet<&str>) = (of(false), of(true));
        &outdated - &shown
    }

    /// What became of what was said about earlier heads, in a sentence.
    fn since(&self, review: &Publication) -> String {
        let head = Some(review.target.head.as_str());
        let earlier = |comment: &&ReviewComment| comment.original_commit_id.as_deref() != head;
        let told: HashSet<&str> = review.comments.iter().map(|c| c.fingerprint.as_str()).collect();
        let stands = |comment: &&ReviewComment| {
            let fingerprint = compose::fingerprint_of(&comment.body).unwrap_or_default();
            told.contains(fingerprint) && !history::says_fixed(&comment.body, None)
        };
        let stand = self.comments.iter().filter(earlier).filter(stands).count();
        let marked =
            self.comments.iter().filter(|one| history::says_fixed(&one.body, head)).count();
        let fixed = marked + history::fixed(review, &self.comments).len();
        let mut parts = Vec::new();
        if stand > 0 {
            parts.push(format!("{stand} commented on before"));
        }
        if fixed > 0 {
            parts.push(format!("{fixed} fixed since"));
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!("Of earlier reviews: {}.\n\n", parts.join(", "))
        }
    }
}

impl Publishing<'_> {
    async fn publish(&self) -> Result<Published> {
        let lines = self.commentable().await?;
        let there = self.standings().await?;
        let placement = compose::place(self.review, &lines, &there.hidden());
        if self.head_moved().await? {
            return Ok(Published::HeadMoved);
        }
        let summary = summary::publish(self, &placement.elsewhere).await?;
        let body = self.body(&placement, &there.since(self.review), summary.as_deref());
        let posted = there.posted();
        let fixed = history::fixed(self.review, &there.comments);
        let published = match &there.review {
            Some(review) => self.bring_up_to_date(review, &body, &placement, &posted).await?,
            None => self.post(&body, &placement, &posted, summary.as_deref()).await?,
        };
        history::mark_fixed(self, &fixed).await?;
        history::mark_outdated(self, &there.earlier, &published).await?;
        Ok(published)
    }

    /// The body of the review: what does not stand on lines is in the summary, if there is one.
    fn body(&self, placement: &Placement<'_>, since: &str, summary: Option<&str>) -> String {
        let marker = compose::review_marker(&self.subject, &self.review.target.head);
        let opening = format!("{marker}{}{since}", self.review.opening);
        match summary {
            Some(url) => compose::body(&opening, &[], &see(url)),
            None => compose::body(&opening, &placement.elsewhere, &self.review.closing),
        }
    }

    /// The first review of a head, with the findings that have no comment yet.
    async fn post(
        &self,
        body: &str,
        placement: &Placement<'_>,
        posted: &HashSet<String>,
        summary: Option<&str>,
    ) -> Result<Published> {
        let comments = new_comments(placement, posted);
        match self.create(body, &comments).await {
            Ok(url) => Ok(Published::At(url)),
            Err(fault) if fault.kind == FaultKind::Permanent && !comments.is_empty() => {
                // One comment that GitHub does not take refuses them all, and is not named.
                tracing::warn!(error = %fault, "the review goes into its body, without comments on lines");
                let marker = compose::review_marker(&self.subject, &self.review.target.head);
                let opening = format!("{marker}{}", self.review.opening);
                let all: Vec<_> = self.review.comments.iter().collect();
                let closing = summary.map_or_else(|| self.review.closing.clone(), see);
                let plain = compose::body(&opening, &all, &closing);
                self.create(&plain, &[]).await.map(Published::At)
            }
            Err(fault) => {
                // It may be there all the same, or land a moment later.
                sleep(self.github.settle).await;
                let there = self.standings().await?;
                let review = there.review.as_ref().ok_or(fault)?;
                self.bring_up_to_date(review, body, placement, &there.posted()).await
            }
        }
    }

    /// A submitted review stays: its body says what is true now, and a further review holds what has
    /// no comment yet.
    async fn bring_up_to_date(
        &self,
        review: &Review,
        body: &str,
        placement: &Placement<'_>,
        posted: &HashSet<String>,
    ) -> Result<Published> {
        // One whose comments were refused holds them in its body.
        let refused = |text: &str| review.body.contains(text);
        let comments: Vec<Value> = placement
            .inline
            .iter()
            .filter(|one| !refused(&one.finding.in_summary))
            .filter(|one| !posted.contains(&one.finding.fingerprint))
            .map(|one| one.value.clone())
            .collect();
        let holds_them = placement.inline.iter().any(|one| refused(&one.finding.in_summary));
        if review.body != body && !holds_them {
            let path = format!("{}/{}", self.reviews_path(), review.id);
            self.write(Call::put(path, json!({ "body": body }))).await?;
        }
        if !comments.is_empty() {
            let marker = compose::addition_marker(&self.subject, &self.review.target.head);
            let addition = format!("{marker}More of the [review]({}).", review.html_url);
            match self.create(&addition, &comments).await {
                // The findings are in the check run, and the review says how many there are.
                Err(fault) if fault.kind == FaultKind::Permanent => {
                    tracing::warn!(error = %fault, "findings that came later have no comments on lines");
                }
                created => created.map(drop)?,
            }
        }
        Ok(Published::At(review.html_url.clone()))
    }

    async fn create(&self, body: &str, comments: &[Value]) -> Result<String> {
        let body = json!({
            "commit_id": self.review.target.head,
            "event": "COMMENT",
            "body": body,
            "comments": comments,
        });
        let answer = self.write(Call::post(self.reviews_path(), body)).await?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        match answer["html_url"].as_str() {
            Some(url) => Ok(url.to_owned()),
            None => Err(Fault::transient("GitHub's answer about a new review cannot be read")),
        }
    }

    /// Sends a write, as long as no other process has the right to.
    pub(super) async fn write(&self, call: Call) -> Result<bytes::Bytes> {
        self.right.keep().await?;
        Ok(self.github.client.call(&self.access, call).await?.body)
    }

    pub(super) fn path(&self, rest: &str) -> String {
        let PullPlace { owner, repo, .. } = self.place;
        format!("/repos/{owner}/{repo}{rest}")
    }

    fn reviews_path(&self) -> String {
        self.path(&format!("/pulls/{}/reviews", self.place.number))
    }

    /// What of ours is there. Pending drafts that a crash left behind are removed: while one exists,
    /// no other review can be made.
    async fn standings(&self) -> Result<Standings> {
        let (client, path) = (&self.github.client, self.reviews_path());
        let login = client.login().await?;
        let reviews: Vec<Review> = client.pages(&self.access, &path).await?;
        // Only its author sees a pending review; of a user's token that is also the user.
        let left = |review: &&Review| {
            let ours = client.app().is_some() || compose::is_marked(&review.body);
            review.state == "PENDING" && ours
        };
        for draft in reviews.iter().filter(left) {
            self.write(Call::delete(format!("{path}/{}", draft.id))).await?;
        }
        let marker = compose::review_marker(&self.subject, &self.review.target.head);
        let ours = |review: &Review| {
            let by_us = review.user.as_ref().is_some_and(|user| user.login == login);
            by_us && review.state != "PENDING"
        };
        let (of_head, others): (Vec<Review>, Vec<Review>) =
            reviews.into_iter().filter(ours).partition(|review| review.body.starts_with(&marker));
        let earlier = others.into_iter().filter(|other| {
            compose::head_of(&other.body, &self.subject).is_some()
                && !history::says_outdated(&other.body)
        });
        let path = self.path(&format!("/pulls/{}/comments", self.place.number));
        let comments: Vec<ReviewComment> = client.pages(&self.access, &path).await?;
        let comments = comments.into_iter().filter(|comment| comment.is_by(&login)).collect();
        let review = of_head.into_iter().next();
        Ok(Standings { review, earlier: earlier.collect(), comments })
    }

    async fn head_moved(&self) -> Result<bool> {
        let pull: Pull = self.github.pull(self.place).await?;
        Ok(pull.head.sha != self.review.target.head || pull.state != "open")
    }

    /// The lines that GitHub shows of this pull request, by its own patches.
    async fn commentable(&self) -> Result<CommentableLines> {
        let path = self.path(&format!("/pulls/{}/files", self.place.number));
        let files: Vec<ChangedFile> = self.github.client.pages(&self.access, &path).await?;
        Ok(CommentableLines::of(&files))
    }
}

fn new_comments(placement: &Placement<'_>, posted: &HashSet<String>) -> Vec<Value> {
    let new = placement.inline.iter().filter(|one| !posted.contains(&one.finding.fingerprint));
    new.map(|one| one.value.clone()).collect()
}

/// Where the rest stands.
fn see(url: &str) -> String {
    format!("Coverage, and what is not on lines: [summary]({url}).\n")
}
