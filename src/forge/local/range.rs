//! From what people write to two object ids.
//!
//! | written | compared |
//! |---|---|
//! | nothing | the merge base of `HEAD` and its upstream (or the remote's default branch, or `main`/`master`) with `HEAD`; when that is nothing, the last commit |
//! | `A..B` | the merge base of A and B with B; A itself when they share no history |
//! | `A...B` | the merge base of A and B with B; no common history is an error |
//! | `A` | as `A..HEAD`; `A^!` is the one commit A |
//!
//! An end left out is `HEAD`. A commit without a parent is compared with the empty tree.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{
    KIND, batch,
    error::{GitError, Result},
    git::{Git, GitOptions},
    uncommitted,
};
use crate::forge::{Selection, Target};

/// Finds the repository around `folder` and the two ends of `selection` in it.
///
/// # Errors
/// When the folder is in no repository, a revision is unknown, or there is nothing between them.
pub(super) async fn resolve(
    options: &GitOptions,
    folder: &Path,
    selection: &Selection,
) -> Result<Target> {
    let (repo, ends) = match selection {
        // The same from any folder of it.
        Selection::Default | Selection::Range(_) | Selection::Ends { .. } => {
            let finder = Finder { git: Git::new(options, folder) };
            tokio::join!(repository(options, folder), finder.ends(selection))
        }
        Selection::Staged | Selection::WorkTree => {
            let repo = repository(options, folder).await?;
            let ends = Finder { git: Git::new(options, &repo) }.ends(selection).await;
            (Ok(repo), ends)
        }
    };
    let (repo, (base, head)) = (repo?, ends?);
    let repo = repo.to_string_lossy().into_owned();
    Ok(Target { forge: KIND.to_owned(), repo, base, head })
}

/// The canonical top of the work tree around `folder`, or the bare repository itself.
async fn repository(options: &GitOptions, folder: &Path) -> Result<PathBuf> {
    let none = || GitError::NotARepository(folder.to_owned());
    let git = Git::new(options, folder);
    let folder = match tokio::fs::canonicalize(folder).await {
        Ok(folder) => folder,
        Err(error) => {
            return Err(match error.kind() {
                ErrorKind::NotFound if is_unmounted(folder) => GitError::Gone(folder.to_owned()),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => {
                    none()
                }
                _ => git.io(&["rev-parse"], &error),
            });
        }
    };
    let git = Git { repo: folder, ..git };
    let asked = ["rev-parse", "--is-bare-repository", "--show-cdup", "--absolute-git-dir"];
    let at = match git.output(&asked).await {
        Ok(out) => String::from_utf8_lossy(&out).into_owned(),
        Err(GitError::Git { .. }) => return Err(none()),
        Err(error) => return Err(error),
    };
    // Where there is no work tree, nothing is said of the way up to its top.
    let top = match at.trim_end_matches('\n').split_once('\n') {
        Some(("true", git_dir)) => git_dir,
        Some((_, up)) => up.split_once('\n').ok_or_else(none)?.0,
        None => return Err(none()),
    };
    tokio::fs::canonicalize(git.repo.join(top)).await.map_err(|_| none())
}

/// Whether the part of this missing path that is there is an empty folder: a place to mount a volume
/// on, most likely.
fn is_unmounted(path: &Path) -> bool {
    let there = path.ancestors().find(|folder| folder.exists());
    there.and_then(|folder| folder.read_dir().ok()).is_some_and(|mut files| files.next().is_none())
}

/// How many commits lie between the two ends. When the later one is checked out, its branch, too, and
/// whether there are changes that are not committed.
pub(super) async fn description(git: &Git, target: &Target) -> Result<String> {
    let Target { base, head, .. } = target;
    let range = if is_empty_tree(base) { head.clone() } else { format!("{base}..{head}") };
    let count = ["rev-list", "--count", &range];
    let (count, current) = tokio::join!(git.ask(&count), uncommitted::checked_out(git));
    let mut text = match count?.as_deref() {
        Some("1") | None => "1 commit".to_owned(),
        Some(count) => format!("{count} commits"),
    };
    let Some(current) = current?.filter(|current| current.commit == *head) else {
        return Ok(text);
    };
    if let Some(branch) = current.branch {
        text.push_str(&format!(", branch {branch}"));
    }
    if current.changed {
        text.push_str("; what is not committed is left out");
    }
    Ok(text)
}

/// The day of a commit (UTC). None of what is not committed, whose commit has no time.
pub(super) async fn day(git: &Git, commit: &str) -> Result<Option<Date>> {
    let committer = field(git, commit, "committer ").await?;
    // The last words: seconds since 1970, and how far the clock was from UTC.
    let seconds = committer.and_then(|it| it.rsplit(' ').nth(1)?.parse().ok());
    let time =
        seconds.filter(|seconds| *seconds > 0).and_then(|it| Timestamp::from_second(it).ok());
    Ok(time.map(|time| time.to_zoned(TimeZone::UTC).date()))
}

/// The last folder but one of the address that the repository came from; `None` of one that came from this machine.
pub(super) async fn owner(git: &Git) -> Result<Option<String>> {
    let address = git.ask(&["config", "--get", "remote.origin.url"]).await?;
    let remote =
        address.filter(|address| !address.starts_with(['/', '.']) && !address.starts_with("file:"));
    let owner = remote.as_deref().and_then(|address| address.rsplit(['/', ':']).nth(1));
    Ok(owner.filter(|owner| !owner.is_empty()).map(str::to_owned))
}

/// The first line of a commit's head that begins so, without it.
async fn field(git: &Git, commit: &str, name: &str) -> Result<Option<String>> {
    let raw = git.output(&["cat-file", "commit", commit]).await?;
    let text = String::from_utf8_lossy(&raw);
    let mut head = text.lines().take_while(|line| !line.is_empty());
    Ok(head.find_map(|line| line.strip_prefix(name)).map(str::to_owned))
}

struct Finder {
    git: Git,
}

impl Finder {
    async fn ends(&self, selection: &Selection) -> Result<(String, String)> {
        match selection {
            Selection::Default => self.default_range().await,
            Selection::Range(text) => self.written(text).await,
            Selection::Ends { base, head } => self.between(base, head, false).await,
            Selection::Staged => self.uncommitted(uncommitted::index(&self.git).await?).await,
            Selection::WorkTree => self.uncommitted(uncommitted::work_tree(&self.git).await?).await,
        }
    }

    async fn written(&self, text: &str) -> Result<(String, String)> {
        let text = text.trim();
        let end = |rev: &str| if rev.is_empty() { "HEAD".to_owned() } else { rev.to_owned() };
        if text.is_empty() || text == ".." || text == "..." {
            return Err(GitError::BadRange(text.to_owned()));
        }
        if let Some((a, b)) = text.split_once("...") {
            return self.between(&end(a), &end(b), true).await;
        }
        if let Some((a, b)) = text.split_once("..") {
            if b.contains("..") {
                return Err(GitError::BadRange(text.to_owned()));
            }
            return self.between(&end(a), &end(b), false).await;
        }
        if let Some(rev) = text.strip_suffix("^!") {
            let head = self.known(rev, self.commit(rev).await?).await?;
            return Ok((self.parent(&head).await?, head));
        }
        self.between(text, "HEAD", false).await
    }

    async fn between(&self, base: &str, head: &str, strict: bool) -> Result<(String, String)> {
        let (base_id, head_id, start) = match self.at_once(base, head).await? {
            Some((base, head, start)) => (Some(base), Some(head), Ok(Some(start))),
            None => {
                let ids = self.both(base, head);
                let (ids, start) = tokio::join!(ids, self.merge_base(base, head));
                let (base_id, head_id) = ids?;
                (base_id, head_id, start)
            }
        };
        let head_id = self.known(head, head_id).await?;
        let base_id = if is_empty_tree(base) { Some(base.to_owned()) } else { base_id };
        let base_id = self.known(base, base_id).await?;
        let start = match start? {
            Some(id) => id,
            None if self.is_shallow().await? => {
                return Err(GitError::Shallow(format!(
                    "the common history of `{base}` and `{head}` is not here"
                )));
            }
            None if strict => return Err(GitError::Unrelated(base.into(), head.into())),
            None => base_id,
        };
        if start == head_id {
            let why = format!("`{head}` adds no commit to `{base}`");
            return Err(GitError::EmptyRange(why));
        }
        Ok((start, head_id))
    }

    /// The last commit, and a commit of `tree` on top of it.
    async fn uncommitted(&self, tree: String) -> Result<(String, String)> {
        let last = self.commit("HEAD").await?;
        if let Some(last) = &last {
            let its_tree = self.git.output(&["rev-parse", &format!("{last}^{{tree}}")]).await?;
            if String::from_utf8_lossy(&its_tree).trim() == tree {
                return Err(GitError::EmptyRange("nothing differs from the last commit".into()));
            }
        }
        let head = uncommitted::commit(&self.git, &tree, last.as_deref()).await?;
        Ok((last.unwrap_or_else(|| self.empty_tree(&head)), head))
    }

    async fn default_range(&self) -> Result<(String, String)> {
        let Some(head) = self.commit("HEAD").await? else {
            return Err(GitError::EmptyRange("the repository has no commit yet".into()));
        };
        for name in ["@{upstream}", "refs/remotes/origin/HEAD", "main", "master"] {
            let Some(other) = self.commit(name).await? else { continue };
            match self.merge_base(&other, &head).await? {
                Some(base) if base != head => return Ok((base, head)),
                _ => break,
            }
        }
        Ok((self.parent(&head).await?, head))
    }

    /// The first parent of a commit, the empty tree when it has none.
    async fn parent(&self, commit: &str) -> Result<String> {
        if let Some(parent) = self.commit(&format!("{commit}^")).await? {
            return Ok(parent);
        }
        // A shallow clone hides parents that the commit itself still names.
        if field(&self.git, commit, "parent ").await?.is_some() {
            return Err(GitError::Shallow(format!("the parent of {commit} is not here")));
        }
        Ok(self.empty_tree(commit))
    }

    /// Both commits and their merge base, in one turn. `None` when git has no such answer: then it is
    /// asked for each, and says which is lacking.
    async fn at_once(&self, base: &str, head: &str) -> Result<Option<(String, String, String)>> {
        if base.starts_with('-') || is_empty_tree(base) {
            return Ok(None);
        }
        let both = format!("{base}^{{commit}}...{head}^{{commit}}");
        let Some(said) = self.git.ask(&["rev-parse", &both]).await? else { return Ok(None) };
        let ids: Vec<&str> = said.lines().take(3).collect();
        Ok(match ids[..] {
            [head, base, start] => start
                .strip_prefix('^')
                .map(|start| (base.to_owned(), head.to_owned(), start.to_owned())),
            _ => None,
        })
    }

    async fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>> {
        if is_empty_tree(a) {
            return Ok(Some(a.to_owned()));
        }
        let ends = [a, b].map(|rev| format!("{rev}^{{commit}}"));
        let found = self.git.ask(&["merge-base", "--end-of-options", &ends[0], &ends[1]]).await?;
        Ok(found.and_then(|out| out.lines().next().map(str::to_owned)))
    }

    async fn commit(&self, rev: &str) -> Result<Option<String>> {
        // Of some revisions git says that there is none by ending with an error.
        match batch::commits(&self.git, &[rev]).await {
            Ok(mut found) => Ok(found.pop().flatten()),
            Err(GitError::Git { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn both(&self, base: &str, head: &str) -> Result<(Option<String>, Option<String>)> {
        match batch::commits(&self.git, &[base, head]).await.as_deref() {
            Ok([base, head]) => Ok((base.clone(), head.clone())),
            _ => Ok((self.commit(base).await?, self.commit(head).await?)),
        }
    }

    /// The commit that was found for a revision, or why there is none.
    async fn known(&self, rev: &str, found: Option<String>) -> Result<String> {
        match found {
            Some(id) => Ok(id),
            None if self.is_shallow().await? => {
                Err(GitError::Shallow(format!("unknown revision `{rev}`")))
            }
            None => Err(GitError::UnknownRevision(rev.to_owned())),
        }
    }

    async fn is_shallow(&self) -> Result<bool> {
        let said = self.git.ask(&["rev-parse", "--is-shallow-repository"]).await?;
        Ok(said.as_deref() == Some("true"))
    }

    /// The empty tree, in the hash the repository uses.
    fn empty_tree(&self, like: &str) -> String {
        if like.len() > 40 { EMPTY_SHA256 } else { EMPTY_SHA1 }.to_owned()
    }
}

fn is_empty_tree(id: &str) -> bool {
    [EMPTY_SHA1, EMPTY_SHA256].contains(&id)
}

const EMPTY_SHA1: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
