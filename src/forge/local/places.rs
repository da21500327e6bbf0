//! Which folders git reads of a repository. A work tree may lead to git's folders elsewhere (a `.git`
//! file, a link), those to common ones (`commondir`), and these to the objects of other repositories
//! (`objects/info/alternates`).

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    error::{GitError, Result},
    git::Git,
};

/// What git names as its own, with links in the places that matter.
const NAMED: &[&str] = &[
    "rev-parse",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--git-path",
    "objects",
    "--git-path",
    "objects/pack",
    "--git-path",
    "refs",
    "--git-path",
    "packed-refs",
    "--git-path",
    "config",
];

/// How many of them there are: a line each.
const NAMED_COUNT: usize = 7;

/// All of them that are there, links followed.
pub(super) async fn of(git: &Git) -> Result<Vec<PathBuf>> {
    let named = git.output(NAMED).await?;
    let counted = git.output(&["count-objects", "--verbose"]).await?;
    let (named, counted) = (String::from_utf8_lossy(&named), String::from_utf8_lossy(&counted));
    let alternates = counted.lines().filter_map(|line| line.strip_prefix("alternate: "));
    let lines_of_one = |path: &str| path.starts_with('"');
    if named.lines().count() != NAMED_COUNT || alternates.clone().any(lines_of_one) {
        return Err(GitError::Garbled("rev-parse", "a path has a line end in it".to_owned()));
    }
    let mut places = Vec::new();
    for place in named.lines().chain(alternates) {
        let place = git.repo.join(Path::new(place));
        match tokio::fs::canonicalize(&place).await {
            Ok(place) => places.push(place),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(git.io(NAMED, &error)),
        }
    }
    Ok(places)
}
