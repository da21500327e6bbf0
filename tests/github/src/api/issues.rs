//! What pull requests have as issues: the comments below them, and labels.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::{required, texts},
    message::{Reply, validation_failed},
    review_rules::MAX_BODY_CHARACTERS,
};
use crate::{
    json as shape,
    world::{PullKey, repositories::Role, reviews::IssueComment},
};

const READS: &str = "issues=read; pull_requests=read";
const WRITES: &str = "issues=write; pull_requests=write";

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/repos/{owner}/{repo}/issues/{issue_number}", READS, show),
    Route::new("GET", "/repos/{owner}/{repo}/issues/{issue_number}/comments", READS, list),
    Route::creating("/repos/{owner}/{repo}/issues/{issue_number}/comments", WRITES, create),
    Route::new("GET", "/repos/{owner}/{repo}/issues/comments/{comment_id}", READS, show_comment),
    Route::new("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id}", WRITES, update),
    Route::new("DELETE", "/repos/{owner}/{repo}/issues/comments/{comment_id}", WRITES, delete),
    Route::new("GET", "/repos/{owner}/{repo}/issues/{issue_number}/labels", READS, labels),
    Route::new("POST", "/repos/{owner}/{repo}/issues/{issue_number}/labels", WRITES, add_labels),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
        WRITES,
        remove_label,
    ),
];

fn show(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::issue(call.world, &call.pull()?))
}

fn list(call: &mut Call<'_>) -> Answer {
    let key = call.pull_key()?;
    let of = call.world.issue_comments.values().filter(|comment| comment.pull == key);
    let rows = of.map(|comment| shape::issue_comment(call.world, comment)).collect();
    call.page(rows)
}

fn text(body: &Value) -> Result<String, Reply> {
    let text = required(body, "IssueComment", "body")?;
    if text.trim().is_empty() {
        return Err(validation_failed("IssueComment", "body", "custom", "body can't be blank"));
    }
    if text.chars().count() > MAX_BODY_CHARACTERS {
        let message = format!("body is too long (maximum is {MAX_BODY_CHARACTERS} characters)");
        return Err(validation_failed("IssueComment", "body", "custom", &message));
    }
    Ok(text.to_owned())
}

fn create(call: &mut Call<'_>) -> Answer {
    let (key, text, actor) = (call.pull_key()?, text(&call.body()?)?, call.actor());
    let id = call.world.write_issue_comment(key, &actor, call.who.app(), text);
    Reply::created(shape::issue_comment(call.world, &call.world.issue_comments[&id]))
}

/// The comment that the path names.
pub(super) fn find(call: &Call<'_>) -> Result<IssueComment, Reply> {
    let (repository, id) = (call.repository()?, call.number("comment_id")?);
    let found = call.world.issue_comments.get(&id).filter(|comment| comment.pull.0 == repository);
    found.cloned().ok_or_else(Reply::not_found)
}

fn show_comment(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::issue_comment(call.world, &find(call)?))
}

fn may_change(call: &Call<'_>, author: &str, key: PullKey) -> Result<(), Reply> {
    let actor = call.actor();
    let person = call.who.installation().is_none();
    let writes = person && call.world.role(key.0, &actor) >= Some(Role::Write);
    if author == actor || writes { Ok(()) } else { Err(Reply::forbidden()) }
}

fn update(call: &mut Call<'_>) -> Answer {
    let (comment, text, now) = (find(call)?, text(&call.body()?)?, call.world.now());
    may_change(call, &comment.author, comment.pull)?;
    if let Some(found) = call.world.issue_comments.get_mut(&comment.id) {
        (found.body, found.updated_at) = (text, now);
    }
    call.world.emit_issue_comment(
        comment.id,
        "edited",
        json!({"changes": {"body": {"from": comment.body}}}),
    );
    Reply::ok(shape::issue_comment(call.world, &call.world.issue_comments[&comment.id]))
}

fn delete(call: &mut Call<'_>) -> Answer {
    let comment = find(call)?;
    may_change(call, &comment.author, comment.pull)?;
    call.world.emit_issue_comment(comment.id, "deleted", json!({}));
    call.world.issue_comments.remove(&comment.id);
    Reply::empty()
}

fn label_rows(call: &Call<'_>, key: PullKey) -> Vec<Value> {
    let repository = &call.world.repositories[&key.0];
    call.world
        .pull(key)
        .labels
        .iter()
        .map(|name| shape::label(call.world, repository, name))
        .collect()
}

fn labels(call: &mut Call<'_>) -> Answer {
    let key = call.pull_key()?;
    call.page(label_rows(call, key))
}

/// Labelling asks for the role of triage.
fn may_label(call: &Call<'_>, key: PullKey) -> Result<(), Reply> {
    let triages = call.world.role(key.0, &call.actor()) >= Some(Role::Triage);
    if triages || call.who.installation().is_some() { Ok(()) } else { Err(Reply::forbidden()) }
}

fn add_labels(call: &mut Call<'_>) -> Answer {
    let (key, body, actor) = (call.pull_key()?, call.body()?, call.actor());
    may_label(call, key)?;
    let bare = json!({"labels": body});
    let names = if body.is_array() { texts(&bare, "labels") } else { texts(&body, "labels") };
    for name in names {
        call.world.add_label(key, &name, &actor);
    }
    Reply::ok(Value::Array(label_rows(call, key)))
}

fn remove_label(call: &mut Call<'_>) -> Answer {
    let (key, name, actor) = (call.pull_key()?, call.param("name").to_owned(), call.actor());
    may_label(call, key)?;
    if !call.world.remove_label(key, &name, &actor) {
        return Err(Reply::refuse(404, "Label does not exist"));
    }
    Reply::ok(Value::Array(label_rows(call, key)))
}
