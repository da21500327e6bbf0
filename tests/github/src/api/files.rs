//! The files of a pull request, and its commits.

use serde_json::Value;

use super::{Answer, Call, Route, message::Reply};
use crate::{git::FileDiff, json as shape, world::World};

/// No more files are listed, however many there are.
const MAX_FILES: usize = 3000;
/// Past so many lines of patches in one answer, rows lack theirs.
const MAX_LINES: usize = 20_000;
/// A file whose patch is longer never has it.
const MAX_PATCH_BYTES: usize = 1024 * 1024;
/// No more commits are listed.
const MAX_COMMITS: usize = 250;

pub(super) const ROUTES: &[Route] = &[
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/files",
        "pull_requests=read",
        list,
    ),
    Route::new(
        "GET",
        "/repos/{owner}/{repo}/pulls/{pull_number}/commits",
        "pull_requests=read",
        commits,
    ),
];

/// Rows of one answer, with patches until there are too many lines of them.
pub(super) fn rows(
    world: &World,
    repository: u64,
    head: &str,
    files: Vec<&FileDiff>,
) -> Vec<Value> {
    let found = &world.repositories[&repository];
    let mut lines = 0;
    let row = |file: &FileDiff| {
        let patch = file.patch.as_deref().filter(|patch| patch.len() <= MAX_PATCH_BYTES);
        lines += patch.map_or(0, |patch| patch.split('\n').count());
        shape::file(world, found, head, file, patch.filter(|_| lines <= MAX_LINES))
    };
    files.into_iter().map(row).collect()
}

fn list(call: &mut Call<'_>) -> Answer {
    let pull = call.pull()?;
    let base = call.world.merge_base(&pull);
    let diff = call.world.diff(pull.repository, &base, &pull.head.sha);
    let (page, per_page) = call.paging();
    let listed = diff.files.len().min(MAX_FILES);
    let shown =
        diff.files.iter().take(MAX_FILES).skip((page - 1) * per_page).take(per_page).collect();
    let mut reply =
        Reply::json(200, Value::Array(rows(call.world, pull.repository, &pull.head.sha, shown)));
    reply.headers.extend(call.links(page, listed.div_ceil(per_page).max(1)));
    Ok(reply)
}

fn commits(call: &mut Call<'_>) -> Answer {
    let pull = call.pull()?;
    let repository = &call.world.repositories[&pull.repository];
    let commits = repository.git.commits(&pull.base.sha, &pull.head.sha);
    let rows = commits
        .iter()
        .take(MAX_COMMITS)
        .map(|commit| shape::commit(call.world, repository, commit))
        .collect();
    call.page(rows)
}
