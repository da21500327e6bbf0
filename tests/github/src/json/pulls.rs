//! Pull requests, the issues they are too, and labels.

use serde_json::{Value, json};

use super::{add, association, repository, user};
use crate::{
    clock::written,
    world::{
        World, node_id,
        repositories::{Branch, Pull, Repository},
        reviews::Subject,
    },
};

/// A pull request as lists show it.
pub(crate) fn pull_simple(world: &World, pull: &Pull) -> Value {
    let full_name = world.repositories[&pull.repository].full_name();
    let number = pull.number;
    let url = format!("{}/repos/{full_name}/pulls/{number}", world.url);
    let issue = format!("{}/repos/{full_name}/issues/{number}", world.url);
    let html = format!("{}/{full_name}/pull/{number}", world.url);
    let statuses = format!("{}/repos/{full_name}/statuses/{}", world.url, pull.head.sha);
    let comment = format!("{}/repos/{full_name}/pulls/comments{{/number}}", world.url);
    let reviewers: Vec<_> = pull.reviewers.iter().map(|login| user(world, login)).collect();
    let link = |href: &str| json!({"href": href});
    json!({
        "url": url,
        "id": pull.id,
        "node_id": node_id("PR", pull.id),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "issue_url": issue,
        "number": number,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "active_lock_reason": null,
        "title": pull.title,
        "user": user(world, &pull.author),
        "body": pull.body,
        "created_at": written(pull.created_at),
        "updated_at": written(pull.updated_at),
        "closed_at": pull.closed_at.map(written),
        "merged_at": pull.merged.as_ref().map(|merged| written(merged.at)),
        "merge_commit_sha": pull.merged.as_ref().map(|merged| &merged.sha),
        "assignee": null,
        "assignees": [],
        "requested_reviewers": reviewers,
        "requested_teams": [],
        "labels": labels(world, pull),
        "milestone": null,
        "draft": pull.draft,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": comment,
        "comments_url": format!("{issue}/comments"),
        "statuses_url": statuses,
        "head": branch(world, &pull.head),
        "base": branch(world, &pull.base),
        "_links": {
            "self": link(&url),
            "html": link(&html),
            "issue": link(&issue),
            "comments": link(&format!("{issue}/comments")),
            "review_comments": link(&format!("{url}/comments")),
            "review_comment": link(&comment),
            "commits": link(&format!("{url}/commits")),
            "statuses": link(&statuses),
        },
        "author_association": association(world, pull.repository, &pull.author),
        "auto_merge": null,
    })
}

/// A pull request by itself. Needs git for its counts.
pub(crate) fn pull(world: &mut World, pull: &Pull) -> Value {
    let git = world.git(pull.repository);
    let base = world.merge_base(pull);
    let diff = world.diff(pull.repository, &base, &pull.head.sha);
    let mergeable = (pull.open).then(|| git.mergeable(&pull.base.sha, &pull.head.sha));
    let comments =
        world.issue_comments.values().filter(|comment| comment.pull == pull.key()).count();
    let mut shape = pull_simple(world, pull);
    add(&mut shape, "merged", json!(pull.merged.is_some()));
    add(
        &mut shape,
        "merged_by",
        pull.merged.as_ref().map_or(Value::Null, |merged| user(world, &merged.by)),
    );
    add(&mut shape, "mergeable", json!(mergeable));
    add(&mut shape, "rebaseable", json!(mergeable));
    let state = mergeable.map_or("unknown", |clean| if clean { "clean" } else { "dirty" });
    add(&mut shape, "mergeable_state", json!(state));
    add(&mut shape, "maintainer_can_modify", json!(false));
    add(&mut shape, "comments", json!(comments));
    add(&mut shape, "review_comments", json!(world.comments_of_pull(pull.key()).len()));
    add(&mut shape, "commits", json!(git.commits(&pull.base.sha, &pull.head.sha).len()));
    add(&mut shape, "additions", json!(diff.files.iter().map(|file| file.additions).sum::<u64>()));
    add(&mut shape, "deletions", json!(diff.files.iter().map(|file| file.deletions).sum::<u64>()));
    add(&mut shape, "changed_files", json!(diff.files.len()));
    shape
}

fn branch(world: &World, branch: &Branch) -> Value {
    let found = branch.repository.and_then(|id| world.repositories.get(&id));
    json!({
        "label": format!("{}:{}", branch.owner, branch.name),
        "ref": branch.name,
        "sha": branch.sha,
        "user": user(world, &branch.owner),
        "repo": found.map(|found| repository(world, found)),
    })
}

fn labels(world: &World, pull: &Pull) -> Vec<Value> {
    let repository = &world.repositories[&pull.repository];
    pull.labels.iter().map(|name| label(world, repository, name)).collect()
}

/// A label of a repository.
pub(crate) fn label(world: &World, repository: &Repository, name: &str) -> Value {
    let id = repository.labels.get(name).copied().unwrap_or_default();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    json!({
        "id": id,
        "node_id": node_id("LA", id),
        "url": format!("{}/repos/{}/labels/{encoded}", world.url, repository.full_name()),
        "name": name,
        "description": null,
        "color": "ededed",
        "default": false,
    })
}

/// A pull request as an issue.
pub(crate) fn issue(world: &World, pull: &Pull) -> Value {
    let full_name = world.repositories[&pull.repository].full_name();
    let url = format!("{}/repos/{full_name}/issues/{}", world.url, pull.number);
    let html = format!("{}/{full_name}/pull/{}", world.url, pull.number);
    let comments =
        world.issue_comments.values().filter(|comment| comment.pull == pull.key()).count();
    json!({
        "url": url,
        "repository_url": format!("{}/repos/{full_name}", world.url),
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "html_url": html,
        "id": pull.issue_id,
        "node_id": node_id("PR", pull.id),
        "number": pull.number,
        "title": pull.title,
        "user": user(world, &pull.author),
        "labels": labels(world, pull),
        "state": if pull.open { "open" } else { "closed" },
        "state_reason": null,
        "locked": false,
        "active_lock_reason": null,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": comments,
        "created_at": written(pull.created_at),
        "updated_at": written(pull.updated_at),
        "closed_at": pull.closed_at.map(written),
        "author_association": association(world, pull.repository, &pull.author),
        "draft": pull.draft,
        "pull_request": {
            "url": format!("{}/repos/{full_name}/pulls/{}", world.url, pull.number),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| written(merged.at)),
        },
        "body": pull.body,
        "reactions": super::reviews::rollup(world, Subject::Issue(pull.key()), &url),
        "timeline_url": format!("{url}/timeline"),
        "performed_via_github_app": null,
    })
}
