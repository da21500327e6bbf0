//! Pull requests: list, show (as JSON or as a diff), open, change, merge, and whom a review is requested of.

use serde_json::{Value, json};

use super::{
    Answer, Call, Route,
    call::{optional, required, texts},
    message::{Reply, validation_failed},
};
use crate::{
    json as shape,
    world::{
        PullKey,
        repositories::{NewPull, Pull, Role},
    },
};

/// Above either the diff as text is refused.
const DIFF_MAX_FILES: usize = 300;
const DIFF_MAX_LINES: usize = 20_000;

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/repos/{owner}/{repo}/pulls", "pull_requests=read", list),
    Route::creating("/repos/{owner}/{repo}/pulls", "pull_requests=write", open),
    Route::new("GET", "/repos/{owner}/{repo}/pulls/{pull_number}", "pull_requests=read", show),
    Route::new("PATCH", "/repos/{owner}/{repo}/pulls/{pull_number}", "pull_requests=write", update),
    Route::new("PUT", "/repos/{owner}/{repo}/pulls/{pull_number}/merge", "contents=write", merge),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        "pull_requests=read",
        reviewers,
    ),
    Route::new(
        "POST",
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        "pull_requests=write",
        request,
    ),
    Route::new(
        "DELETE",
        "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        "pull_requests=write",
        unrequest,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/commits/{commit_sha}/pulls",
        "pull_requests=read",
        of_commit,
    ),
];

fn list(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let query = |name: &str| call.request.query(name);
    let fits = |pull: &&Pull| {
        let state = match query("state").unwrap_or("open") {
            "all" => true,
            "closed" => !pull.open,
            _ => pull.open,
        };
        let head = format!("{}:{}", pull.head.owner, pull.head.name);
        pull.repository == id
            && state
            && query("base").is_none_or(|base| base == pull.base.name)
            && query("head").is_none_or(|wanted| wanted == head)
    };
    let mut pulls: Vec<_> = call.world.pulls.values().filter(fits).collect();
    if query("sort") == Some("updated") {
        pulls.sort_by_key(|pull| pull.updated_at);
    }
    let ascending = query("direction")
        .map_or(query("sort").is_some_and(|sort| sort != "created"), |way| way == "asc");
    if !ascending {
        pulls.reverse();
    }
    let rows = pulls.into_iter().map(|pull| shape::pull_simple(call.world, pull)).collect();
    call.page(rows)
}

fn show(call: &mut Call<'_>) -> Answer {
    let pull = call.pull()?;
    let accept = call.request.header("accept").unwrap_or_default().to_owned();
    if accept.contains(".diff") || accept.contains(".patch") {
        return diff(call, &pull);
    }
    Reply::ok(shape::pull(call.world, &pull))
}

fn diff(call: &mut Call<'_>, pull: &Pull) -> Answer {
    let base = call.world.merge_base(pull);
    let too_large = |message: String| {
        let error = json!([{"resource": "PullRequest", "field": "diff", "code": "too_large"}]);
        Reply::json(
            406,
            json!({"message": message, "errors": error, "documentation_url": "https://docs.github.com/rest", "status": "406"}),
        )
    };
    let changed = call.world.diff(pull.repository, &base, &pull.head.sha);
    if changed.files.len() > DIFF_MAX_FILES {
        return Err(too_large(format!(
            "Sorry, the diff exceeded the maximum number of files ({DIFF_MAX_FILES}). Consider using 'List pull requests files' API or locally cloning the repository instead."
        )));
    }
    let bytes = call
        .world
        .git(pull.repository)
        .patch(&base, &pull.head.sha)
        .map_err(|error| Reply::refuse(500, &error.to_string()))?;
    if bytes.iter().filter(|byte| **byte == b'\n').count() > DIFF_MAX_LINES {
        return Err(too_large(format!(
            "Sorry, the diff exceeded the maximum number of lines ({DIFF_MAX_LINES})"
        )));
    }
    Reply::raw("application/vnd.github.diff; charset=utf-8", bytes)
}

fn open(call: &mut Call<'_>) -> Answer {
    let (id, body) = (call.repository()?, call.body()?);
    let head = required(&body, "PullRequest", "head")?;
    let base = required(&body, "PullRequest", "base")?.to_owned();
    let title = required(&body, "PullRequest", "title")?.to_owned();
    let (head_repository, head) = match head.split_once(':') {
        Some((owner, name)) => (fork(call, id, owner)?, name),
        None => (id, head),
    };
    let new = NewPull {
        head: (head_repository, head.to_owned()),
        base,
        title,
        body: optional(&body, "body"),
        draft: body["draft"].as_bool().unwrap_or(false),
        author: call.actor(),
    };
    let failed = |message: String| validation_failed("PullRequest", "head", "custom", &message);
    let key = call.world.open_pull(id, new).map_err(failed)?;
    let pull = call.world.pull(key).clone();
    Reply::created(shape::pull(call.world, &pull))
}

/// The repository of an account: the one asked about, or its fork.
fn fork(call: &Call<'_>, id: u64, owner: &str) -> Result<u64, Reply> {
    let of = |found: &&crate::world::repositories::Repository| {
        (found.id == id || found.fork_of == Some(id)) && found.owner.eq_ignore_ascii_case(owner)
    };
    let found = call.world.repositories.values().find(of).map(|found| found.id);
    found.ok_or_else(|| validation_failed("PullRequest", "head", "invalid", ""))
}

/// Whoever writes on a pull request has to be its author or to have write access.
fn may_change(call: &Call<'_>, pull: &Pull) -> Result<(), Reply> {
    let actor = call.actor();
    let writes = call.world.role(pull.repository, &actor) >= Some(Role::Write);
    if call.who.installation().is_some() || writes || pull.author == actor {
        Ok(())
    } else {
        Err(Reply::forbidden())
    }
}

fn update(call: &mut Call<'_>) -> Answer {
    let (pull, body, actor) = (call.pull()?, call.body()?, call.actor());
    may_change(call, &pull)?;
    let key = pull.key();
    match (body["state"].as_str(), pull.open) {
        (Some("closed"), true) => call.world.close_pull(key, &actor),
        (Some("open"), false) if pull.merged.is_some() => {
            return Err(validation_failed(
                "PullRequest",
                "state",
                "invalid",
                "state cannot be changed. The pull request has been merged.",
            ));
        }
        (Some("open"), false) => call.world.reopen_pull(key, &actor),
        (Some("open" | "closed") | None, _) => {}
        _ => return Err(validation_failed("PullRequest", "state", "invalid", "")),
    }
    let (title, text) = (optional(&body, "title"), optional(&body, "body"));
    if title.is_some() || text.is_some() {
        edit(call, key, title, text, &actor);
    }
    let pull = call.world.pull(key).clone();
    Reply::ok(shape::pull(call.world, &pull))
}

fn edit(
    call: &mut Call<'_>,
    key: PullKey,
    title: Option<String>,
    text: Option<String>,
    actor: &str,
) {
    let pull = call.world.pull_mut(key);
    let mut changes = json!({});
    if let Some(title) = title {
        shape::add(
            &mut changes,
            "title",
            json!({"from": std::mem::replace(&mut pull.title, title)}),
        );
    }
    if let Some(text) = text {
        shape::add(&mut changes, "body", json!({"from": pull.body.replace(text)}));
    }
    call.world.emit_pull(key, "edited", actor, json!({"changes": changes}));
}

fn merge(call: &mut Call<'_>) -> Answer {
    let (pull, body, actor) = (call.pull()?, call.body()?, call.actor());
    let refused = |status| Reply::refuse(status, "Pull Request is not mergeable");
    if !pull.open || pull.draft {
        return Err(refused(405));
    }
    if body["sha"].as_str().is_some_and(|sha| sha != pull.head.sha) {
        return Err(Reply::refuse(
            409,
            "Head branch was modified. Review and try the merge again.",
        ));
    }
    let sha = call.world.merge_pull(pull.key(), &actor).ok_or_else(|| refused(405))?;
    Reply::ok(json!({"sha": sha, "merged": true, "message": "Pull Request successfully merged"}))
}

fn reviewers(call: &mut Call<'_>) -> Answer {
    let pull = call.pull()?;
    let users: Vec<_> = pull.reviewers.iter().map(|login| shape::user(call.world, login)).collect();
    Reply::ok(json!({"users": users, "teams": []}))
}

fn request(call: &mut Call<'_>) -> Answer {
    let (pull, body, actor) = (call.pull()?, call.body()?, call.actor());
    let asked = texts(&body, "reviewers");
    if asked.contains(&pull.author) {
        return Err(validation_failed(
            "PullRequest",
            "reviewers",
            "invalid",
            "Review cannot be requested from pull request author.",
        ));
    }
    if let Some(login) =
        asked.iter().find(|login| call.world.role(pull.repository, login).is_none())
    {
        let message = format!(
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the repository: {login}"
        );
        return Err(validation_failed("PullRequest", "reviewers", "invalid", &message));
    }
    for login in asked {
        call.world.request_review(pull.key(), &login, &actor);
    }
    let pull = call.world.pull(pull.key()).clone();
    Reply::created(shape::pull_simple(call.world, &pull))
}

fn unrequest(call: &mut Call<'_>) -> Answer {
    let (pull, body, actor) = (call.pull()?, call.body()?, call.actor());
    for login in texts(&body, "reviewers") {
        call.world.pull_mut(pull.key()).reviewers.retain(|known| *known != login);
        let reviewer = shape::user(call.world, &login);
        call.world.emit_pull(
            pull.key(),
            "review_request_removed",
            &actor,
            json!({"requested_reviewer": reviewer}),
        );
    }
    let pull = call.world.pull(pull.key()).clone();
    Reply::ok(shape::pull_simple(call.world, &pull))
}

fn of_commit(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let sha = call.param("commit_sha").to_owned();
    let of: Vec<_> = call.world.pulls.values().filter(|pull| pull.repository == id).collect();
    let of = of.into_iter().filter(|pull| call.world.is_commit_of(pull, &sha));
    let rows: Vec<Value> = of.map(|pull| shape::pull_simple(call.world, pull)).collect();
    call.page(rows)
}
