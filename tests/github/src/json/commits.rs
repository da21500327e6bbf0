//! Commits and the files that differ.

use serde_json::{Value, json};

use super::{add, user};
use crate::{
    git::{Commit, FileDiff},
    world::{World, node_id, repositories::Repository},
};

/// A commit as the REST API shows it.
pub(crate) fn commit(world: &World, repository: &Repository, commit: &Commit) -> Value {
    let url = format!("{}/repos/{}", world.url, repository.full_name());
    let html = format!("{}/{}/commit/{}", world.url, repository.full_name(), commit.sha);
    let person = |(name, email, date): &(String, String, String)| json!({"name": name, "email": email, "date": date});
    let account = |(name, _, _): &(String, String, String)| {
        world.users.get(&name.to_lowercase()).map(|found| user(world, &found.login))
    };
    let parents: Vec<_> = commit
        .parents
        .iter()
        .map(|sha| {
            json!({"sha": sha, "url": format!("{url}/commits/{sha}"),
            "html_url": format!("{}/{}/commit/{sha}", world.url, repository.full_name())})
        })
        .collect();
    json!({
        "sha": commit.sha,
        "node_id": node_id("C", repository.id),
        "commit": {
            "author": person(&commit.author),
            "committer": person(&commit.committer),
            "message": commit.message,
            "tree": {"sha": commit.tree, "url": format!("{url}/git/trees/{}", commit.tree)},
            "url": format!("{url}/git/commits/{}", commit.sha),
            "comment_count": 0,
            "verification": {"verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null},
        },
        "url": format!("{url}/commits/{}", commit.sha),
        "html_url": html,
        "comments_url": format!("{url}/commits/{}/comments", commit.sha),
        "author": account(&commit.author),
        "committer": account(&commit.committer),
        "parents": parents,
    })
}

/// A commit as merge groups show it.
pub(crate) fn simple_commit(commit: &Commit) -> Value {
    let person =
        |(name, email, _): &(String, String, String)| json!({"name": name, "email": email});
    json!({
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": commit.committer.2,
        "author": person(&commit.author),
        "committer": person(&commit.committer),
    })
}

/// A commit as a push shows it.
pub(crate) fn push_commit(commit: &Commit) -> Value {
    let mut shape = simple_commit(commit);
    add(&mut shape, "distinct", json!(true));
    add(&mut shape, "url", json!(format!("https://github.invalid/commit/{}", commit.sha)));
    for key in ["added", "removed", "modified"] {
        add(&mut shape, key, json!([]));
    }
    shape
}

/// A file that differs; with its patch where one is given.
pub(crate) fn file(
    world: &World,
    repository: &Repository,
    head: &str,
    file: &FileDiff,
    patch: Option<&str>,
) -> Value {
    let path =
        percent_encoding::utf8_percent_encode(&file.path, percent_encoding::NON_ALPHANUMERIC);
    let (html, full_name) =
        (format!("{}/{}", world.url, repository.full_name()), repository.full_name());
    let mut shape = json!({
        "sha": file.sha,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.changes(),
        "blob_url": format!("{html}/blob/{head}/{path}"),
        "raw_url": format!("{html}/raw/{head}/{path}"),
        "contents_url": format!("{}/repos/{full_name}/contents/{path}?ref={head}", world.url),
    });
    if let Some(previous) = &file.previous {
        add(&mut shape, "previous_filename", json!(previous));
    }
    if let Some(patch) = patch {
        add(&mut shape, "patch", json!(patch));
    }
    shape
}
