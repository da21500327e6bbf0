//! Reviews, the comments on lines, the comments below a pull request, and reactions.

use jiff::Timestamp;

use super::{PullKey, World};
use crate::git::Side;

/// Where a review is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReviewState {
    Pending,
    Commented,
    ChangesRequested,
    Approved,
    Dismissed,
}

impl ReviewState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Approved => "APPROVED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A review.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) pull: PullKey,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) state: ReviewState,
    pub(crate) commit: String,
    pub(crate) submitted_at: Option<Timestamp>,
}

/// A line in the diff of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) path: String,
    pub(crate) line: Option<u64>,
    pub(crate) side: Side,
    pub(crate) start: Option<(u64, Side)>,
    pub(crate) position: Option<usize>,
    pub(crate) hunk: String,
    /// About the whole file, not a line.
    pub(crate) file: bool,
}

/// A comment on lines of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct ReviewComment {
    pub(crate) id: u64,
    pub(crate) review: u64,
    pub(crate) pull: PullKey,
    pub(crate) author: String,
    pub(crate) body: String,
    /// Where it was written.
    pub(crate) original: Anchor,
    pub(crate) original_commit: String,
    /// Where it is now: no line once it is outdated.
    pub(crate) line: Option<u64>,
    pub(crate) start_line: Option<u64>,
    pub(crate) position: Option<usize>,
    pub(crate) commit: String,
    pub(crate) reply_to: Option<u64>,
    /// Of the thread; held by its first comment.
    pub(crate) resolved_by: Option<String>,
    pub(crate) minimized: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl ReviewComment {
    /// The first comment of its thread.
    pub(crate) fn thread(&self) -> u64 {
        self.reply_to.unwrap_or(self.id)
    }
}

/// A comment below a pull request.
#[derive(Clone, Debug)]
pub(crate) struct IssueComment {
    pub(crate) id: u64,
    pub(crate) pull: PullKey,
    pub(crate) author: String,
    /// The App that wrote it, where one did.
    pub(crate) app: Option<u64>,
    pub(crate) body: String,
    pub(crate) minimized: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// What a reaction is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Issue(PullKey),
    IssueComment(u64),
    ReviewComment(u64),
}

/// A reaction.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub(crate) id: u64,
    pub(crate) subject: Subject,
    pub(crate) author: String,
    pub(crate) content: String,
    pub(crate) created_at: Timestamp,
}

impl World {
    /// The reviews of a pull request that a person sees: all that were submitted, and pending ones of their own.
    pub(crate) fn reviews_seen(&self, pull: PullKey, viewer: &str) -> Vec<u64> {
        let seen = |review: &&Review| {
            review.pull == pull && (review.state != ReviewState::Pending || review.author == viewer)
        };
        self.reviews.values().filter(seen).map(|review| review.id).collect()
    }

    /// A person's review of a pull request that is not submitted.
    pub(crate) fn pending_review(&self, pull: PullKey, author: &str) -> Option<u64> {
        let pending = |review: &&Review| {
            review.pull == pull && review.state == ReviewState::Pending && review.author == author
        };
        self.reviews.values().find(pending).map(|review| review.id)
    }

    /// The comments of a pull request that everybody sees, oldest first.
    pub(crate) fn comments_of_pull(&self, pull: PullKey) -> Vec<u64> {
        let of =
            |comment: &&ReviewComment| comment.pull == pull && self.is_submitted(comment.review);
        self.review_comments.values().filter(of).map(|comment| comment.id).collect()
    }

    /// The comments of a review, oldest first.
    pub(crate) fn comments_of_review(&self, review: u64) -> Vec<u64> {
        let of = |comment: &&ReviewComment| comment.review == review;
        self.review_comments.values().filter(of).map(|comment| comment.id).collect()
    }

    /// Whether a review can be seen by everybody.
    pub(crate) fn is_submitted(&self, review: u64) -> bool {
        self.reviews.get(&review).is_some_and(|review| review.state != ReviewState::Pending)
    }

    /// The comments of a thread, oldest first.
    pub(crate) fn comments_of_thread(&self, first: u64) -> Vec<u64> {
        let of = |comment: &&ReviewComment| comment.thread() == first;
        self.review_comments.values().filter(of).map(|comment| comment.id).collect()
    }

    /// Removes a comment. When a thread's first goes, the next becomes the first.
    pub(crate) fn delete_review_comment(&mut self, id: u64) {
        let Some(gone) = self.review_comments.remove(&id) else { return };
        if gone.reply_to.is_some() {
            return;
        }
        let replies = self.comments_of_thread(id);
        let Some(first) = replies.first().copied() else { return };
        for reply in replies {
            if let Some(comment) = self.review_comments.get_mut(&reply) {
                comment.reply_to = (reply != first).then_some(first);
                comment.resolved_by.clone_from(&gone.resolved_by);
            }
        }
    }

    /// The reactions on something, oldest first.
    pub(crate) fn reactions_on(&self, subject: Subject) -> Vec<&Reaction> {
        self.reactions.values().filter(|reaction| reaction.subject == subject).collect()
    }
}
