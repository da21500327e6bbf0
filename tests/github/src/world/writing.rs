//! Writing on pull requests: reviews, comments, labels, requests; each with its webhook.

use serde_json::{Value, json};

use super::{
    PullKey, World,
    outbox::Event,
    repositories::Pull,
    reviews::{Anchor, IssueComment, Review, ReviewComment, ReviewState},
};
use crate::json as shape;

impl World {
    /// Keeps a review. Nothing is sent yet.
    pub(crate) fn write_review(
        &mut self,
        pull: &Pull,
        author: &str,
        body: String,
        state: ReviewState,
        commit: &str,
    ) -> u64 {
        let (id, now) = (self.id(), self.now());
        self.user(author, "User");
        let submitted_at = (state != ReviewState::Pending).then_some(now);
        let (author, commit) = (author.to_owned(), commit.to_owned());
        self.reviews
            .insert(id, Review { id, pull: pull.key(), author, body, state, commit, submitted_at });
        self.pull_mut(pull.key());
        id
    }

    /// Keeps a comment of a review.
    pub(crate) fn write_review_comment(
        &mut self,
        review: u64,
        author: &str,
        body: String,
        original: Anchor,
        reply_to: Option<u64>,
    ) -> u64 {
        let (id, now) = (self.id(), self.now());
        self.user(author, "User");
        let (pull, commit) = (self.reviews[&review].pull, self.reviews[&review].commit.clone());
        let comment = ReviewComment {
            id,
            review,
            pull,
            author: author.to_owned(),
            body,
            original_commit: commit.clone(),
            line: original.line,
            start_line: original.start.map(|(line, _)| line),
            position: original.position,
            original,
            commit,
            reply_to,
            resolved_by: None,
            minimized: None,
            created_at: now,
            updated_at: now,
        };
        self.review_comments.insert(id, comment);
        id
    }

    /// Sends what GitHub sends for a submitted review: one event for it, one for each comment.
    pub(crate) fn emit_submitted(&mut self, review: u64) {
        self.emit_review(review, "submitted", None);
        for comment in self.comments_of_review(review) {
            self.emit_review_comment(comment, "created", json!({}));
        }
    }

    fn emit_review(&mut self, review: u64, action: &'static str, changes: Option<(Value, &str)>) {
        let review = self.reviews[&review].clone();
        let mut body = json!({
            "review": shape::review_for_webhook(self, &review),
            "pull_request": shape::pull_simple(self, self.pull(review.pull)),
        });
        let sender = changes.as_ref().map_or(review.author.as_str(), |(_, by)| by).to_owned();
        if let Some((changes, _)) = changes {
            shape::add(&mut body, "changes", changes);
        }
        let repository = Some(review.pull.0);
        self.emit(Event {
            name: "pull_request_review",
            action: Some(action),
            repository,
            sender,
            body,
            only_app: None,
        });
    }

    /// Sends a `pull_request_review_comment` webhook.
    pub(crate) fn emit_review_comment(&mut self, comment: u64, action: &'static str, more: Value) {
        let comment = self.review_comments[&comment].clone();
        let mut body = json!({
            "comment": shape::review_comment(self, &comment),
            "pull_request": shape::pull_simple(self, self.pull(comment.pull)),
        });
        merge(&mut body, more);
        let (repository, sender) = (Some(comment.pull.0), comment.author);
        let name = "pull_request_review_comment";
        self.emit(Event { name, action: Some(action), repository, sender, body, only_app: None });
    }

    /// Replaces the body of a review.
    pub(crate) fn edit_review(&mut self, review: u64, body: String, by: &str) {
        let Some(found) = self.reviews.get_mut(&review) else { return };
        let before = std::mem::replace(&mut found.body, body);
        if found.state != ReviewState::Pending {
            self.emit_review(review, "edited", Some((json!({"body": {"from": before}}), by)));
        }
    }

    /// Submits a pending review.
    pub(crate) fn submit_review(&mut self, review: u64, body: String, state: ReviewState) {
        let now = self.now();
        if let Some(review) = self.reviews.get_mut(&review) {
            (review.body, review.state, review.submitted_at) = (body, state, Some(now));
        }
    }

    /// Takes the force of a review.
    pub(crate) fn dismiss_review(&mut self, review: u64, by: &str) {
        if let Some(found) = self.reviews.get_mut(&review) {
            found.state = ReviewState::Dismissed;
        }
        self.emit_review(review, "dismissed", Some((json!({}), by)));
    }

    /// Keeps a comment below a pull request.
    pub(crate) fn write_issue_comment(
        &mut self,
        pull: PullKey,
        author: &str,
        app: Option<u64>,
        body: String,
    ) -> u64 {
        let (id, now) = (self.id(), self.now());
        self.user(author, "User");
        let author = author.to_owned();
        let comment = IssueComment {
            id,
            pull,
            author,
            app,
            body,
            minimized: None,
            created_at: now,
            updated_at: now,
        };
        self.issue_comments.insert(id, comment);
        self.pull_mut(pull);
        self.emit_issue_comment(id, "created", json!({}));
        id
    }

    /// Sends an `issue_comment` webhook.
    pub(crate) fn emit_issue_comment(&mut self, comment: u64, action: &'static str, more: Value) {
        let comment = self.issue_comments[&comment].clone();
        let mut body = json!({
            "issue": shape::issue(self, self.pull(comment.pull)),
            "comment": shape::issue_comment(self, &comment),
        });
        merge(&mut body, more);
        let (repository, sender) = (Some(comment.pull.0), comment.author);
        self.emit(Event {
            name: "issue_comment",
            action: Some(action),
            repository,
            sender,
            body,
            only_app: None,
        });
    }

    /// Puts a label on a pull request.
    pub(crate) fn add_label(&mut self, pull: PullKey, name: &str, by: &str) {
        self.label(pull.0, name);
        if self.pull(pull).labels.iter().any(|known| known == name) {
            return;
        }
        self.pull_mut(pull).labels.push(name.to_owned());
        self.emit_label(pull, name, "labeled", by);
    }

    /// Takes a label off a pull request. Whether it was there.
    pub(crate) fn remove_label(&mut self, pull: PullKey, name: &str, by: &str) -> bool {
        if !self.pull(pull).labels.iter().any(|known| known == name) {
            return false;
        }
        self.pull_mut(pull).labels.retain(|known| known != name);
        self.emit_label(pull, name, "unlabeled", by);
        true
    }

    fn emit_label(&mut self, pull: PullKey, name: &str, action: &'static str, by: &str) {
        let label = shape::label(self, &self.repositories[&pull.0], name);
        self.emit_pull(pull, action, by, json!({"label": label}));
    }

    /// Asks somebody for a review.
    pub(crate) fn request_review(&mut self, pull: PullKey, reviewer: &str, by: &str) {
        if !self.pull(pull).reviewers.iter().any(|known| known == reviewer) {
            self.pull_mut(pull).reviewers.push(reviewer.to_owned());
        }
        let reviewer = shape::user(self, reviewer);
        self.emit_pull(pull, "review_requested", by, json!({"requested_reviewer": reviewer}));
    }

    /// Makes a draft of a pull request, or makes it ready.
    pub(crate) fn set_draft(&mut self, pull: PullKey, draft: bool, by: &str) {
        self.pull_mut(pull).draft = draft;
        let action = if draft { "converted_to_draft" } else { "ready_for_review" };
        self.emit_pull(pull, action, by, json!({}));
    }

    /// Resolves a thread, or opens it again.
    pub(crate) fn resolve_thread(&mut self, first: u64, by: Option<&str>, sender: &str) {
        if let Some(comment) = self.review_comments.get_mut(&first) {
            comment.resolved_by = by.map(ToOwned::to_owned);
        }
        let pull = self.review_comments[&first].pull;
        let ids = self.comments_of_thread(first);
        let comments: Vec<_> =
            ids.iter().map(|id| shape::review_comment(self, &self.review_comments[id])).collect();
        let body = json!({
            "pull_request": shape::pull_simple(self, self.pull(pull)),
            "thread": {"node_id": super::node_id("PRRT", first), "comments": comments},
        });
        let action = Some(if by.is_some() { "resolved" } else { "unresolved" });
        let name = "pull_request_review_thread";
        let sender = sender.to_owned();
        self.emit(Event { name, action, repository: Some(pull.0), sender, body, only_app: None });
    }
}

fn merge(body: &mut Value, more: Value) {
    if let Value::Object(more) = more {
        for (key, value) in more {
            shape::add(body, &key, value);
        }
    }
}
