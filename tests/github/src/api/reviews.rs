//! Reviews: all or nothing, one draft for each person, never deleted once submitted.

use serde_json::Value;

use super::{
    Answer, Call, Route,
    call::{optional, required},
    message::{Reply, validation_failed},
    review_rules::{self, MAX_BODY_CHARACTERS},
};
use crate::{
    json as shape,
    world::{
        repositories::{Pull, Role},
        reviews::{Anchor, Review, ReviewState},
    },
};

pub(super) const ROUTES: &[Route] = &[
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        "pull_requests=read",
        list,
    ),
    Route::creating(
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
        "pull_requests=write",
        create,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
        "pull_requests=read",
        show,
    ),
    Route::new(
        "PUT",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
        "pull_requests=write",
        update,
    ),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}",
        "pull_requests=write",
        delete,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments",
        "pull_requests=read",
        comments,
    ),
    Route::creating(
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/events",
        "pull_requests=write",
        submit,
    ),
    Route::new(
        "PUT",
        "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals",
        "pull_requests=write",
        dismiss,
    ),
];

pub(super) const ONE_PENDING: &str = "User can only have one pending review per pull request";

fn list(call: &mut Call<'_>) -> Answer {
    let key = call.pull_key()?;
    let seen = call.world.reviews_seen(key, &call.actor());
    let rows = seen.iter().map(|id| shape::review(call.world, &call.world.reviews[id])).collect();
    call.page(rows)
}

/// The review that the path names, if whoever asks sees it.
fn find(call: &Call<'_>) -> Result<Review, Reply> {
    let (key, id) = (call.pull_key()?, call.number("review_id")?);
    let seen = call.world.reviews_seen(key, &call.actor()).contains(&id);
    if seen { Ok(call.world.reviews[&id].clone()) } else { Err(Reply::not_found()) }
}

fn show(call: &mut Call<'_>) -> Answer {
    Reply::ok(shape::review(call.world, &find(call)?))
}

fn comments(call: &mut Call<'_>) -> Answer {
    let review = find(call)?;
    let ids = call.world.comments_of_review(review.id);
    let shape =
        |id: &u64| shape::review_comment_in_review(call.world, &call.world.review_comments[id]);
    let rows = ids.iter().map(shape).collect();
    call.page(rows)
}

fn create(call: &mut Call<'_>) -> Answer {
    let (pull, body, actor) = (call.pull()?, call.body()?, call.actor());
    let state = state_after(&body)?;
    let text = optional(&body, "body").unwrap_or_default();
    check_text(&text)?;
    let drafts = drafts(&body)?;
    check_event(state, &pull, &actor, &text, drafts.is_empty())?;
    if call.world.pending_review(pull.key(), &actor).is_some() {
        return Err(Reply::unprocessable(&[ONE_PENDING]));
    }
    let commit = commit_of(call, &pull, &body)?;
    let anchors = anchors(call, &pull, &commit, &drafts)?;
    let id = call.world.write_review(&pull, &actor, text, state, &commit);
    for (anchor, body) in anchors {
        call.world.write_review_comment(id, &actor, body, anchor, None);
    }
    if state != ReviewState::Pending {
        call.world.emit_submitted(id);
    }
    Reply::ok(shape::review(call.world, &call.world.reviews[&id]))
}

fn check_text(text: &str) -> Result<(), Reply> {
    if text.chars().count() <= MAX_BODY_CHARACTERS {
        return Ok(());
    }
    let message = format!("body is too long (maximum is {MAX_BODY_CHARACTERS} characters)");
    Err(validation_failed("PullRequestReview", "body", "custom", &message))
}

fn state_after(body: &Value) -> Result<ReviewState, Reply> {
    match (&body["event"], body["event"].as_str()) {
        (Value::Null, _) | (_, Some("" | "PENDING")) => Ok(ReviewState::Pending),
        (_, Some("COMMENT")) => Ok(ReviewState::Commented),
        (_, Some("REQUEST_CHANGES")) => Ok(ReviewState::ChangesRequested),
        (_, Some("APPROVE")) => Ok(ReviewState::Approved),
        _ => Err(Reply::unprocessable(&[
            "Variable $event of type PullRequestReviewEvent was provided invalid value",
        ])),
    }
}

/// The comments of a request, each with a path and a body.
fn drafts(body: &Value) -> Result<Vec<Value>, Reply> {
    let refused = |what: &str| Reply::refuse(422, &format!("Invalid request.\n\n{what}"));
    let drafts = match &body["comments"] {
        Value::Null => return Ok(Vec::new()),
        Value::Array(drafts) => drafts.clone(),
        _ => return Err(refused("For 'properties/comments', the value is not an array.")),
    };
    for draft in &drafts {
        if let Some(field) = ["path", "body"].iter().find(|field| draft[**field].as_str().is_none())
        {
            return Err(refused(&format!("For 'items', \"{field}\" wasn't supplied.")));
        }
    }
    Ok(drafts)
}

fn check_event(
    state: ReviewState,
    pull: &Pull,
    actor: &str,
    text: &str,
    bare: bool,
) -> Result<(), Reply> {
    let own = pull.author == actor;
    match state {
        ReviewState::Approved if own => {
            Err(Reply::unprocessable(&["Can not approve your own pull request"]))
        }
        ReviewState::ChangesRequested if own => {
            Err(Reply::unprocessable(&["Can not request changes on your own pull request"]))
        }
        ReviewState::Commented | ReviewState::ChangesRequested
            if bare && text.trim().is_empty() =>
        {
            Err(Reply::unprocessable(&[review_rules::BODY_BLANK]))
        }
        _ => Ok(()),
    }
}

/// The commit that a review is of: one of the pull request, its head unless named.
pub(super) fn commit_of(call: &Call<'_>, pull: &Pull, body: &Value) -> Result<String, Reply> {
    let Some(asked) = body["commit_id"].as_str() else { return Ok(pull.head.sha.clone()) };
    let full = asked.len() == 40 && call.world.git(pull.repository).resolve(asked).is_some();
    if full && call.world.is_commit_of(pull, asked) {
        return Ok(asked.to_owned());
    }
    Err(Reply::unprocessable(&["Commit is not part of the pull request"]))
}

/// Where each comment is. The first that is nowhere refuses all, and the answer does not name it.
fn anchors(
    call: &mut Call<'_>,
    pull: &Pull,
    commit: &str,
    drafts: &[Value],
) -> Result<Vec<(Anchor, String)>, Reply> {
    let base = call.world.merge_base(pull);
    let diff = call.world.diff(pull.repository, &base, commit);
    let place = |draft: &Value| {
        let body = draft["body"].as_str().unwrap_or_default();
        review_rules::check_body(body)?;
        Ok((review_rules::anchor(&diff, draft)?, body.to_owned()))
    };
    drafts
        .iter()
        .map(place)
        .collect::<Result<_, &str>>()
        .map_err(|error| Reply::unprocessable(&[error]))
}

/// Only whoever wrote a review, or has write access, changes it.
fn may_change(call: &Call<'_>, review: &Review) -> Result<(), Reply> {
    let actor = call.actor();
    let person = call.who.installation().is_none();
    let writes = person && call.world.role(review.pull.0, &actor) >= Some(Role::Write);
    if review.author == actor || writes { Ok(()) } else { Err(Reply::forbidden()) }
}

fn update(call: &mut Call<'_>) -> Answer {
    let (review, body) = (find(call)?, call.body()?);
    may_change(call, &review)?;
    let text = required(&body, "PullRequestReview", "body")?.to_owned();
    check_text(&text)?;
    let actor = call.actor();
    call.world.edit_review(review.id, text, &actor);
    Reply::ok(shape::review(call.world, &call.world.reviews[&review.id]))
}

fn delete(call: &mut Call<'_>) -> Answer {
    let review = find(call)?;
    if review.state != ReviewState::Pending {
        return Err(Reply::unprocessable(&["Can not delete a non-pending pull request review"]));
    }
    call.world.reviews.remove(&review.id);
    for comment in call.world.comments_of_review(review.id) {
        call.world.review_comments.remove(&comment);
    }
    Reply::ok(shape::review(call.world, &review))
}

fn submit(call: &mut Call<'_>) -> Answer {
    let (review, pull, body) = (find(call)?, call.pull()?, call.body()?);
    if review.state != ReviewState::Pending {
        return Err(Reply::unprocessable(&["The pull request review has already been submitted"]));
    }
    let state = state_after(&body)?;
    if state == ReviewState::Pending {
        return Err(Reply::unprocessable(&["Event is required"]));
    }
    let text = optional(&body, "body").unwrap_or(review.body.clone());
    check_text(&text)?;
    let bare = call.world.comments_of_review(review.id).is_empty();
    check_event(state, &pull, &review.author, &text, bare)?;
    call.world.submit_review(review.id, text, state);
    call.world.emit_submitted(review.id);
    Reply::ok(shape::review(call.world, &call.world.reviews[&review.id]))
}

fn dismiss(call: &mut Call<'_>) -> Answer {
    let (review, body) = (find(call)?, call.body()?);
    required(&body, "PullRequestReview", "message")?;
    if !matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested) {
        let state = review.state.name().to_lowercase();
        return Err(Reply::unprocessable(&[&format!(
            "Can not dismiss a {state} pull request review"
        )]));
    }
    may_change(call, &review)?;
    let actor = call.actor();
    call.world.dismiss_review(review.id, &actor);
    Reply::ok(shape::review(call.world, &call.world.reviews[&review.id]))
}
