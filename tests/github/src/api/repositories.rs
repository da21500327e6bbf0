//! Repositories, branches, commits, comparisons and collaborators.

use serde_json::{Value, json};

use super::{Answer, Call, Route, files, message::Reply};
use crate::json as shape;

pub(super) const ROUTES: &[Route] = &[
    Route::new("GET", "/repos/{owner}/{repo}", "metadata=read", show),
    Route::new("GET", "/repos/{owner}/{repo}/branches", "contents=read", list_branches),
    Route::new("GET", "/repos/{owner}/{repo}/git/ref/{ref}", "contents=read", show_ref),
    Route::new("GET", "/repos/{owner}/{repo}/commits", "contents=read", list_commits),
    Route::new("GET", "/repos/{owner}/{repo}/commits/{ref}", "contents=read", show_commit),
    Route::new("GET", "/repos/{owner}/{repo}/compare/{basehead}", "contents=read", compare),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/collaborators/{username}/permission",
        "metadata=read",
        permission,
    ),
];

fn show(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    Reply::ok(shape::full_repository(call.world, &call.world.repositories[&id]))
}

fn list_branches(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let url = format!("{}/repos/{}", call.world.url, call.world.repositories[&id].full_name());
    let row = |(name, sha): (String, String)| json!({"name": name, "commit": {"sha": sha, "url": format!("{url}/commits/{sha}")}, "protected": false});
    let rows = call.world.git(id).branches().into_iter().map(row).collect();
    call.page(rows)
}

fn show_ref(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let name = format!("refs/{}", call.param("ref"));
    let sha = call.world.git(id).resolve(&name).ok_or_else(Reply::not_found)?;
    let url = format!("{}/repos/{}/git", call.world.url, call.world.repositories[&id].full_name());
    let node = crate::world::node_id("REF", id);
    Reply::ok(json!({
        "ref": name, "node_id": node, "url": format!("{url}/{name}"),
        "object": {"type": "commit", "sha": sha, "url": format!("{url}/commits/{sha}")},
    }))
}

fn list_commits(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let git = call.world.git(id);
    let from = call.request.query("sha").map_or_else(|| git.default_branch(), ToOwned::to_owned);
    let tip = git.resolve(&from).ok_or_else(Reply::not_found)?;
    let commits = git.history(&tip);
    let repository = &call.world.repositories[&id];
    let rows = commits.iter().map(|commit| shape::commit(call.world, repository, commit)).collect();
    call.page(rows)
}

fn show_commit(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let git = call.world.git(id);
    let unknown = || Reply::refuse(422, &format!("No commit found for SHA: {}", call.param("ref")));
    let sha = git.resolve(call.param("ref")).ok_or_else(unknown)?;
    if call.request.header("accept").is_some_and(|accept| accept.contains(".sha")) {
        return Reply::raw("application/vnd.github.sha; charset=utf-8", sha.into_bytes());
    }
    let commit = git.commit(&sha).ok_or_else(Reply::not_found)?;
    let mut body = shape::commit(call.world, &call.world.repositories[&id], &commit);
    let Some(parent) = commit.parents.first() else { return Reply::ok(body) };
    let diff = call.world.diff(id, parent, &sha);
    let rows = files::rows(call.world, id, &sha, diff.files.iter().take(300).collect());
    let (additions, deletions): (u64, u64) = (
        diff.files.iter().map(|file| file.additions).sum(),
        diff.files.iter().map(|file| file.deletions).sum(),
    );
    shape::add(
        &mut body,
        "stats",
        json!({"additions": additions, "deletions": deletions, "total": additions + deletions}),
    );
    shape::add(&mut body, "files", Value::Array(rows));
    Reply::ok(body)
}

/// `base...head`, each a revision or `owner:revision`.
fn compare(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let git = call.world.git(id);
    let (base, head) = call.param("basehead").split_once("...").ok_or_else(Reply::not_found)?;
    let revision = |name: &str| match name.split_once(':') {
        Some((owner, name)) => foreign(call, id, owner, name),
        None => git.resolve(name),
    };
    let (base, head) = (
        revision(base).ok_or_else(Reply::not_found)?,
        revision(head).ok_or_else(Reply::not_found)?,
    );
    let merge_base = git
        .merge_base(&base, &head)
        .ok_or_else(|| Reply::refuse(404, "No common ancestor between the two commits."))?;
    let (ahead, behind) = (git.commits(&base, &head), git.commits(&head, &base).len());
    let status = match (ahead.len(), behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let diff = call.world.diff(id, &merge_base, &head);
    let (page, per_page) = call.paging();
    // Files are on the first page only, and no more than 300.
    let shown = if page == 1 { diff.files.iter().take(300).collect() } else { Vec::new() };
    let rows = files::rows(call.world, id, &head, shown);
    let repository = &call.world.repositories[&id];
    let per_page = if call.request.query("per_page").is_some() { per_page } else { 250 };
    let commit =
        |sha: &str| git.commit(sha).map(|commit| shape::commit(call.world, repository, &commit));
    let commits: Vec<_> = ahead
        .iter()
        .skip((page - 1) * per_page)
        .take(per_page)
        .map(|commit| shape::commit(call.world, repository, commit))
        .collect();
    let url =
        format!("{}/repos/{}/compare/{base}...{head}", call.world.url, repository.full_name());
    let html = format!("{}/{}/compare/{base}...{head}", call.world.url, repository.full_name());
    let body = json!({
        "url": url, "html_url": html, "permalink_url": html, "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"), "base_commit": commit(&base), "merge_base_commit": commit(&merge_base),
        "status": status, "ahead_by": ahead.len(), "behind_by": behind, "total_commits": ahead.len(),
        "commits": commits, "files": rows,
    });
    let mut reply = Reply::json(200, body);
    reply.headers.extend(call.links(page, ahead.len().div_ceil(per_page).max(1)));
    Ok(reply)
}

/// A revision of the fork that an account has, whose commits are taken in.
fn foreign(call: &Call<'_>, id: u64, owner: &str, name: &str) -> Option<String> {
    let own = &call.world.repositories[&id];
    if own.owner.eq_ignore_ascii_case(owner) {
        return own.git.resolve(name);
    }
    let fork = call
        .world
        .repositories
        .values()
        .find(|fork| fork.fork_of == Some(id) && fork.owner.eq_ignore_ascii_case(owner))?;
    let sha = fork.git.resolve(name)?;
    own.git.fetch_commit(fork.git.path(), &sha, "refs/verdict/incoming").ok()?;
    Some(sha)
}

fn permission(call: &mut Call<'_>) -> Answer {
    let id = call.repository()?;
    let login = call.param("username").to_owned();
    if !call.world.users.contains_key(&login.to_lowercase()) {
        return Err(Reply::refuse(404, &format!("{login} is not a user")));
    }
    let role = call.world.role(id, &login);
    let mut user = shape::user(call.world, &login);
    shape::add(&mut user, "role_name", json!(role.map_or("none", crate::Role::name)));
    Reply::ok(json!({
        "permission": role.map_or("none", crate::Role::permission),
        "role_name": role.map_or("none", crate::Role::name),
        "user": user,
    }))
}
