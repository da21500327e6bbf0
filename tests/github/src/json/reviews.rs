//! Reviews, comments and reactions.

use serde_json::{Value, json};

use super::{add, app, association, user};
use crate::{
    clock::written,
    world::{
        PullKey, World, node_id,
        reviews::{IssueComment, Reaction, Review, ReviewComment, ReviewState, Subject},
    },
};

/// The reactions there are.
pub(crate) const REACTIONS: [&str; 8] =
    ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

fn links(world: &World, pull: PullKey) -> (String, String) {
    let full_name = world.repositories[&pull.0].full_name();
    (
        format!("{}/repos/{full_name}/pulls/{}", world.url, pull.1),
        format!("{}/{full_name}/pull/{}", world.url, pull.1),
    )
}

/// A review.
pub(crate) fn review(world: &World, review: &Review) -> Value {
    let (url, page) = links(world, review.pull);
    let html = format!("{page}#pullrequestreview-{}", review.id);
    let mut shape = json!({
        "id": review.id,
        "node_id": node_id("PRR", review.id),
        "user": user(world, &review.author),
        "body": review.body,
        "state": review.state.name(),
        "html_url": html,
        "pull_request_url": url,
        "author_association": association(world, review.pull.0, &review.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": url}},
        "commit_id": review.commit,
    });
    if let (Some(at), false) = (review.submitted_at, review.state == ReviewState::Pending) {
        add(&mut shape, "submitted_at", json!(written(at)));
    }
    shape
}

/// A review in a webhook, whose state is in lower case and whose empty body is null.
pub(crate) fn review_for_webhook(world: &World, of: &Review) -> Value {
    let mut shape = review(world, of);
    add(&mut shape, "state", json!(of.state.name().to_lowercase()));
    if of.body.is_empty() {
        add(&mut shape, "body", Value::Null);
    }
    shape
}

/// A comment on lines.
pub(crate) fn review_comment(world: &World, comment: &ReviewComment) -> Value {
    let mut shape = review_comment_in_review(world, comment);
    let original = &comment.original;
    let lines = json!({
        "line": comment.line,
        "original_line": original.line,
        "side": original.side.name(),
        "start_line": comment.start_line,
        "original_start_line": original.start.map(|(line, _)| line),
        "start_side": original.start.map(|(_, side)| side.name()),
        "subject_type": if original.file { "file" } else { "line" },
    });
    if let Value::Object(lines) = lines {
        for (key, value) in lines {
            add(&mut shape, &key, value);
        }
    }
    shape
}

/// A comment as the list of one review shows it: by position, without lines.
pub(crate) fn review_comment_in_review(world: &World, comment: &ReviewComment) -> Value {
    let (pull, page) = links(world, comment.pull);
    let full_name = world.repositories[&comment.pull.0].full_name();
    let url = format!("{}/repos/{full_name}/pulls/comments/{}", world.url, comment.id);
    let html = format!("{page}#discussion_r{}", comment.id);
    let mut shape = json!({
        "url": url,
        "id": comment.id,
        "node_id": node_id("PRRC", comment.id),
        "pull_request_review_id": comment.review,
        "diff_hunk": comment.original.hunk,
        "path": comment.original.path,
        "position": comment.position,
        "original_position": comment.original.position,
        "commit_id": comment.commit,
        "original_commit_id": comment.original_commit,
        "user": user(world, &comment.author),
        "body": comment.body,
        "created_at": written(comment.created_at),
        "updated_at": written(comment.updated_at),
        "html_url": html,
        "pull_request_url": pull,
        "author_association": association(world, comment.pull.0, &comment.author),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull}},
        "reactions": rollup(world, Subject::ReviewComment(comment.id), &url),
    });
    if let Some(first) = comment.reply_to {
        add(&mut shape, "in_reply_to_id", json!(first));
    }
    shape
}

/// A comment below a pull request.
pub(crate) fn issue_comment(world: &World, comment: &IssueComment) -> Value {
    let full_name = world.repositories[&comment.pull.0].full_name();
    let (_, page) = links(world, comment.pull);
    let url = format!("{}/repos/{full_name}/issues/comments/{}", world.url, comment.id);
    let by = comment.app.and_then(|id| world.apps.get(&id));
    json!({
        "url": url,
        "html_url": format!("{page}#issuecomment-{}", comment.id),
        "issue_url": format!("{}/repos/{full_name}/issues/{}", world.url, comment.pull.1),
        "id": comment.id,
        "node_id": node_id("IC", comment.id),
        "user": user(world, &comment.author),
        "created_at": written(comment.created_at),
        "updated_at": written(comment.updated_at),
        "author_association": association(world, comment.pull.0, &comment.author),
        "body": comment.body,
        "reactions": rollup(world, Subject::IssueComment(comment.id), &url),
        "performed_via_github_app": by.map(|by| app(world, by)),
    })
}

/// How often each reaction was given.
pub(crate) fn rollup(world: &World, subject: Subject, url: &str) -> Value {
    let given = world.reactions_on(subject);
    let mut shape = json!({"url": format!("{url}/reactions"), "total_count": given.len()});
    for content in REACTIONS {
        let count = given.iter().filter(|reaction| reaction.content == content).count();
        add(&mut shape, content, json!(count));
    }
    shape
}

/// A reaction.
pub(crate) fn reaction(world: &World, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id,
        "node_id": node_id("REA", reaction.id),
        "user": user(world, &reaction.author),
        "content": reaction.content,
        "created_at": written(reaction.created_at),
    })
}
