//! What is not committed yet, as a commit: reviews know commits only. The commit belongs to no branch,
//! the same content always makes the same one, and git removes it in time. Neither the index nor the
//! work tree of the repository changes.
//!
//! Files of the work tree pass the filters that the user's git configuration names, as for
//! `git status`: only a person at a terminal asks for this, no job can.

use std::{io::ErrorKind, path::Path};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    error::{GitError, Result},
    git::Git,
};

/// The tree of what is staged.
///
/// # Errors
/// While a merge has conflicts.
pub(super) async fn index(git: &Git) -> Result<String> {
    one_line(git, &["write-tree"]).await
}

/// The tree of the work tree: staged or not, known to git or not, but nothing it ignores.
///
/// # Errors
/// When a file cannot be read.
pub(super) async fn work_tree(git: &Git) -> Result<String> {
    let index =
        one_line(git, &["rev-parse", "--path-format=absolute", "--git-path", "index"]).await?;
    let failed = |error| git.io(&["add"], &error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("index");
    match copy_of_same_age(Path::new(&index), &copy).await {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let git = git.with_index(copy);
    git.output(&["add", "--all", "--", "."]).await?;
    one_line(&git, &["write-tree"]).await
}

/// Copies the index. Of files that are not older than the index git does not trust the times: a copy that is younger would hide
/// what was edited in the second of the last commit.
async fn copy_of_same_age(index: &Path, copy: &Path) -> std::io::Result<()> {
    tokio::fs::copy(index, copy).await?;
    let age = tokio::fs::metadata(index).await?.modified()?;
    let copy = tokio::fs::OpenOptions::new().write(true).open(copy).await?;
    copy.into_std().await.set_modified(age)
}

/// A commit of `tree`. Its author and time are fixed, so that the same content is the same commit.
pub(super) async fn commit(git: &Git, tree: &str, parent: Option<&str>) -> Result<String> {
    let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
    let by = "verdict <verdict@localhost> 0 +0000";
    let object = format!(
        "tree {tree}\n{parent}author {by}\ncommitter {by}\n\nChanges that are not committed\n"
    );
    let args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    let (running, mut input, mut out) = git.converse(&args)?;
    let work = async {
        input.write_all(object.as_bytes()).await?;
        drop(input);
        let mut id = String::new();
        out.read_to_string(&mut id).await.map(|_| id)
    };
    let id = git.bounded(&args, work).await?.map_err(|error| git.io(&args, &error))?;
    git.end(&args, running).await?;
    Ok(id.trim().to_owned())
}

/// What is checked out.
pub(super) struct CheckedOut {
    pub(super) commit: String,
    pub(super) branch: Option<String>,
    /// Whether files that git knows differ from the commit.
    pub(super) changed: bool,
}

/// `None` where nothing can be, or there is no commit yet.
pub(super) async fn checked_out(git: &Git) -> Result<Option<CheckedOut>> {
    let args = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--no-ahead-behind",
        "--untracked-files=no",
        "--ignore-submodules",
    ];
    let Some(said) = git.ask(&args).await? else { return Ok(None) };
    let of = |head: &str| said.lines().find_map(|line| line.strip_prefix(head));
    let commit = of("# branch.oid ").filter(|id| *id != "(initial)").map(str::to_owned);
    let branch = of("# branch.head ").filter(|name| *name != "(detached)").map(str::to_owned);
    let changed = said.lines().any(|line| !line.starts_with('#'));
    Ok(commit.map(|commit| CheckedOut { commit, branch, changed }))
}

async fn one_line(git: &Git, args: &[&str]) -> Result<String> {
    let out = git.output(args).await?;
    match String::from_utf8_lossy(&out).trim() {
        "" => Err(GitError::Garbled("an id", "it is empty".into())),
        line => Ok(line.to_owned()),
    }
}
