//! Comments on the lines of a pull request, and replies to them.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::required,
    message::{Reply, validation_failed},
    review_rules, reviews,
};
use crate::{
    json as shape,
    world::{
        repositories::{Pull, Role},
        reviews::{Anchor, ReviewComment, ReviewState},
    },
};

pub(super) const ROUTES: &[Route] = &[
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments",
        "pull_requests=read",
        list,
    ),
    Route::creating(
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments",
        "pull_requests=write",
        create,
    ),
    Route::creating(
        "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
        "pull_requests=write",
        reply,
    ),
    Route::new("GET", "/repos/{owner}/{repo}/pulls/comments", "pull_requests=read", list_all),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}",
        "pull_requests=read",
        show,
    ),
    Route::new(
        "PATCH",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}",
        "pull_requests=write",
        update,
    ),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}",
        "pull_requests=write",
        delete,
    ),
];

fn list(call: &mut Call<'_>) -> Answer {
    let ids = call.world.comments_of_pull(call.pull_key()?);
    rows(call, ids)
}

fn list_all(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let of =
        |comment: &&ReviewComment| comment.pull.0 == id && call.world.is_submitted(comment.review);
    let ids = call.world.review_comments.values().filter(of).map(|comment| comment.id).collect();
    rows(call, ids)
}

fn rows(call: &Call<'_>, mut ids: Vec<u64>) -> Answer {
    if call.request.query("direction") == Some("desc") {
        ids.reverse();
    }
    let rows = ids
        .iter()
        .map(|id| shape::review_comment(call.world, &call.world.review_comments[id]))
        .collect();
    call.page(rows)
}

/// The comment that the path names, if whoever asks sees it.
pub(super) fn find(call: &Call<'_>) -> Result<ReviewComment, Reply> {
    let (repository, id) = (call.repository()?, call.number("comment_id")?);
    let found = call.world.review_comments.get(&id).filter(|comment| comment.pull.0 == repository);
    let found = found.ok_or_else(Reply::not_found)?;
    let seen = call.world.is_submitted(found.review) || found.author == call.actor();
    if seen { Ok(found.clone()) } else { Err(Reply::not_found()) }
}

fn show(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::review_comment(call.world, &find(call)?))
}

fn invalid(error: &str) -> Reply {
    let (resource, field) = ("PullRequestReviewComment", "pull_request_review_thread.line");
    match error {
        review_rules::PATH_UNRESOLVED => {
            validation_failed(resource, "pull_request_review_thread.path", "invalid", "")
        }
        review_rules::BODY_BLANK => validation_failed(resource, "body", "missing_field", ""),
        review_rules::BODY_TOO_LONG => validation_failed(resource, "body", "custom", error),
        _ => validation_failed(
            resource,
            field,
            "custom",
            &format!("{field} must be part of the diff: {error}"),
        ),
    }
}

fn create(call: &mut Call<'_>) -> Answer {
    let (pull, body) = (call.pull()?, call.body()?);
    let text = required(&body, "PullRequestReviewComment", "body")?.to_owned();
    review_rules::check_body(&text).map_err(invalid)?;
    if let Some(first) = body["in_reply_to"].as_u64() {
        return answer_to(call, &pull, first, text);
    }
    required(&body, "PullRequestReviewComment", "commit_id")?;
    required(&body, "PullRequestReviewComment", "path")?;
    let commit = reviews::commit_of(call, &pull, &body)?;
    let base = call.world.merge_base(&pull);
    let diff = call.world.diff(pull.repository, &base, &commit);
    let anchor = review_rules::anchor(&diff, &body).map_err(invalid)?;
    write(call, &pull, &commit, text, anchor, None)
}

/// Writes a comment in a review of its own.
fn write(
    call: &mut Call<'_>,
    pull: &Pull,
    commit: &str,
    text: String,
    anchor: Anchor,
    reply_to: Option<u64>,
) -> Answer {
    let actor = call.actor();
    if call.world.pending_review(pull.key(), &actor).is_some() {
        let field = "user_id";
        return Err(validation_failed(
            "PullRequestReview",
            field,
            "custom",
            &format!("{field} can only have one pending review per pull request"),
        ));
    }
    let review =
        call.world.write_review(pull, &actor, String::new(), ReviewState::Commented, commit);
    let id = call.world.write_review_comment(review, &actor, text, anchor, reply_to);
    call.world.emit_submitted(review);
    Reply::created(shape::review_comment(call.world, &call.world.review_comments[&id]))
}

fn reply(call: &mut Call<'_>) -> Answer {
    let (pull, body, first) = (call.pull()?, call.body()?, call.number("comment_id")?);
    let text = required(&body, "PullRequestReviewComment", "body")?.to_owned();
    review_rules::check_body(&text).map_err(invalid)?;
    answer_to(call, &pull, first, text)
}

fn answer_to(call: &mut Call<'_>, pull: &Pull, first: u64, text: String) -> Answer {
    let found = call.world.review_comments.get(&first).filter(|comment| comment.pull == pull.key());
    let found = found.cloned().ok_or_else(Reply::not_found)?;
    if found.reply_to.is_some() {
        return Err(validation_failed(
            "PullRequestReviewComment",
            "in_reply_to",
            "custom",
            "Replies to replies are not supported",
        ));
    }
    write(call, pull, &found.original_commit, text, found.original, Some(first))
}

/// Only whoever wrote a comment, or a person with write access, changes it.
fn may_change(call: &Call<'_>, author: &str, repository: u64) -> Result<(), Reply> {
    let actor = call.actor();
    let person = call.who.installation().is_none();
    let writes = person && call.world.role(repository, &actor) >= Some(Role::Write);
    if author == actor || writes { Ok(()) } else { Err(Reply::forbidden()) }
}

fn update(call: &mut Call<'_>) -> Answer {
    let (comment, body, now) = (find(call)?, call.body()?, call.world.now());
    may_change(call, &comment.author, comment.pull.0)?;
    let text = required(&body, "PullRequestReviewComment", "body")?;
    review_rules::check_body(text).map_err(invalid)?;
    if let Some(found) = call.world.review_comments.get_mut(&comment.id) {
        (found.body, found.updated_at) = (text.to_owned(), now);
    }
    if call.world.is_submitted(comment.review) {
        let changes: Value = json!({"changes": {"body": {"from": comment.body}}});
        call.world.emit_review_comment(comment.id, "edited", changes);
    }
    Reply::ok(shape::review_comment(call.world, &call.world.review_comments[&comment.id]))
}

fn delete(call: &mut Call<'_>) -> Answer {
    let comment = find(call)?;
    may_change(call, &comment.author, comment.pull.0)?;
    if call.world.is_submitted(comment.review) {
        call.world.emit_review_comment(comment.id, "deleted", json!({}));
    }
    call.world.delete_review_comment(comment.id);
    Reply::empty()
}
