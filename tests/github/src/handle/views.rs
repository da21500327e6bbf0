//! What is to be seen on a pull request.

use serde_json::Value;

use crate::world::{
    World,
    checks::CheckRun,
    reviews::{self, ReviewComment},
};

/// A review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// Its id.
    pub id: u64,
    /// The login of whoever wrote it.
    pub author: String,
    /// The text above its comments.
    pub body: String,
    /// `PENDING`, `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED` or `DISMISSED`.
    pub state: &'static str,
    /// Its `commit_id`, which a force-push may have moved.
    pub commit: String,
    /// Its comments, oldest first.
    pub comments: Vec<Comment>,
}

/// A comment on lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: u64,
    /// The login of whoever wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// The file.
    pub path: String,
    /// The line it was written on; none where it is on the whole file.
    pub original_line: Option<u64>,
    /// The line it is on now; none once it is outdated.
    pub line: Option<u64>,
    /// The first of several lines.
    pub start_line: Option<u64>,
    /// `LEFT` or `RIGHT`.
    pub side: &'static str,
    /// The comment it answers.
    pub reply_to: Option<u64>,
    /// Who resolved its thread.
    pub resolved_by: Option<String>,
    /// Why it is hidden.
    pub minimized: Option<String>,
}

/// A comment below a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueComment {
    /// Its id.
    pub id: u64,
    /// The login of whoever wrote it.
    pub author: String,
    /// Its text.
    pub body: String,
    /// Why it is hidden.
    pub minimized: Option<String>,
}

/// A check run.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The commit it is on.
    pub head_sha: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// What it ended with.
    pub conclusion: Option<String>,
    /// The title of its output.
    pub title: Option<String>,
    /// The summary of its output.
    pub summary: Option<String>,
    /// The text of its output.
    pub text: Option<String>,
    /// Its annotations, as they were sent.
    pub annotations: Vec<Value>,
    /// Its buttons, as they were sent.
    pub actions: Vec<Value>,
}

pub(super) fn review(world: &World, review: &reviews::Review) -> Review {
    let comments = world.comments_of_review(review.id);
    let comments = comments.iter().map(|id| comment(world, &world.review_comments[id]));
    Review {
        id: review.id,
        author: review.author.clone(),
        body: review.body.clone(),
        state: review.state.name(),
        commit: review.commit.clone(),
        comments: comments.collect(),
    }
}

pub(super) fn comment(world: &World, comment: &ReviewComment) -> Comment {
    let first = world.review_comments.get(&comment.thread()).unwrap_or(comment);
    Comment {
        id: comment.id,
        author: comment.author.clone(),
        body: comment.body.clone(),
        path: comment.original.path.clone(),
        original_line: comment.original.line,
        line: comment.line,
        start_line: comment.start_line,
        side: comment.original.side.name(),
        reply_to: comment.reply_to,
        resolved_by: first.resolved_by.clone(),
        minimized: comment.minimized.clone(),
    }
}

pub(super) fn issue_comment(comment: &reviews::IssueComment) -> IssueComment {
    IssueComment {
        id: comment.id,
        author: comment.author.clone(),
        body: comment.body.clone(),
        minimized: comment.minimized.clone(),
    }
}

pub(super) fn check(run: &CheckRun) -> Check {
    Check {
        id: run.id,
        name: run.name.clone(),
        head_sha: run.head_sha.clone(),
        status: run.status.clone(),
        conclusion: run.conclusion.clone(),
        title: run.title.clone(),
        summary: run.summary.clone(),
        text: run.text.clone(),
        annotations: run.annotations.clone(),
        actions: run.actions.clone(),
    }
}
