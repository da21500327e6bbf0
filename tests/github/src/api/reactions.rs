//! Reactions on pull requests and comments. The same one given twice is one.

use serde_json::Value;

use super::{
    Answer, Call, Route,
    call::required,
    comments, issues,
    message::{Reply, validation_failed},
};
use crate::{
    json as shape,
    world::reviews::{Reaction, Subject},
};

const ISSUE_READS: &str = "issues=read; pull_requests=read";
const ISSUE_WRITES: &str = "issues=write; pull_requests=write";

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/repos/{owner}/{repo}/issues/{issue_number}/reactions", ISSUE_READS, list),
    Route::new(
        "POST",
        "/repos/{owner}/{repo}/issues/{issue_number}/reactions",
        ISSUE_WRITES,
        create,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
        ISSUE_READS,
        list,
    ),
    Route::new(
        "POST",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
        ISSUE_WRITES,
        create,
    ),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}",
        ISSUE_WRITES,
        delete,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
        "pull_requests=read",
        list,
    ),
    Route::new(
        "POST",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
        "pull_requests=write",
        create,
    ),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions/{reaction_id}",
        "pull_requests=write",
        delete,
    ),
];

const CONTENTS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

fn subject(call: &Call<'_>) -> Result<Subject, Reply> {
    if !call.param("issue_number").is_empty() {
        return Ok(Subject::Issue(call.pull_key()?));
    }
    if call.request.path.contains("/issues/comments/") {
        return Ok(Subject::IssueComment(issues::find(call)?.id));
    }
    Ok(Subject::ReviewComment(comments::find(call)?.id))
}

fn list(call: &mut Call<'_>) -> Answer {
    let wanted = call.request.query("content");
    let given = call.world.reactions_on(subject(call)?).into_iter();
    let given = given.filter(|reaction| wanted.is_none_or(|content| content == reaction.content));
    let rows: Vec<Value> = given.map(|reaction| shape::reaction(call.world, reaction)).collect();
    call.page(rows)
}

fn create(call: &mut Call<'_>) -> Answer {
    let (subject, body, author) = (subject(call)?, call.body()?, call.actor());
    let content = required(&body, "Reaction", "content")?.to_owned();
    if !CONTENTS.contains(&content.as_str()) {
        return Err(validation_failed("Reaction", "content", "invalid", ""));
    }
    let known = call.world.reactions_on(subject).into_iter();
    if let Some(known) =
        known.into_iter().find(|known| known.author == author && known.content == content)
    {
        return Reply::ok(shape::reaction(call.world, known));
    }
    let (id, created_at) = (call.world.id(), call.world.now());
    let reaction = Reaction { id, subject, author, content, created_at };
    let shape = shape::reaction(call.world, &reaction);
    call.world.reactions.insert(id, reaction);
    Reply::created(shape)
}

fn delete(call: &mut Call<'_>) -> Answer {
    let (subject, id) = (subject(call)?, call.number("reaction_id")?);
    let own = call
        .world
        .reactions
        .get(&id)
        .filter(|known| known.subject == subject && known.author == call.actor());
    if own.is_none() {
        return Err(Reply::not_found());
    }
    call.world.reactions.remove(&id);
    Reply::empty()
}
