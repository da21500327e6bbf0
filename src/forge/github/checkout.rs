//! Commits of a pull request on this machine: a bare repository for each repository on GitHub, into
//! which only the two commits and the contents that differ between them are fetched.
//!
//! What it promises: nothing of the repository is executed, history is not fetched, and content is
//! fetched once. Processes may share the folder: one of them at a time fetches into a repository.
//! What is here is a cache: it may be removed at any time, and any process makes it anew.

use std::{
    fs::{DirBuilder, File, TryLockError},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::super::local::{Fetch, LocalGit};
use crate::{
    base::{Fault, Result, hash_hex},
    forge::{Change, Forge, Target},
};

/// How often to look whether another fetch into the same repository has ended.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The checkouts of one process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Checkouts {
    folder: PathBuf,
    git: LocalGit,
}

/// What to fetch, and from where.
pub(super) struct Commits<'a> {
    /// The repository's address for git.
    pub(super) url: &'a str,
    /// The Authorization header, if one is needed.
    pub(super) authorization: Option<String>,
    /// The target whose commits are needed.
    pub(super) target: &'a Target,
}

impl Checkouts {
    /// Below `folder`.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, git: LocalGit::default() }
    }

    /// Whether the commits are here, and the change between them if they are.
    pub(super) async fn open(&self, target: &Target) -> Result<Option<Arc<dyn Change>>> {
        let repo = self.place(target);
        if !done_mark(&repo, target).exists() {
            return Ok(None);
        }
        self.change(&repo, target).await.map(Some)
    }

    /// Fetches what the target needs and opens the change.
    ///
    /// # Errors
    /// Transient when the server does not answer, permanent when it has no such commits.
    pub(super) async fn fetch(&self, commits: Commits<'_>) -> Result<Arc<dyn Change>> {
        let target = commits.target;
        let repo = self.place(target);
        let _alone = lock(&repo).await?;
        let mark = done_mark(&repo, target);
        if !mark.exists() {
            let Commits { url, authorization, .. } = commits;
            let fetch = Fetch { url, authorization, base: &target.base, head: &target.head };
            self.git.fetch(&repo, fetch).await?;
            std::fs::write(&mark, b"").map_err(|error| {
                Fault::outage(format!("cannot write `{}`: {error}", mark.display()))
            })?;
        }
        self.change(&repo, target).await
    }

    async fn change(&self, repo: &Path, target: &Target) -> Result<Arc<dyn Change>> {
        let local = Target { repo: repo.to_string_lossy().into_owned(), ..target.clone() };
        self.git.open(&local).await
    }

    /// The bare repository of a target: a folder named by a hash, since names on GitHub ignore case
    /// and folders may not.
    fn place(&self, target: &Target) -> PathBuf {
        let repository = target.repo.split('#').next().unwrap_or_default().to_ascii_lowercase();
        self.folder.join(format!("{}.git", &hash_hex(&[repository.as_bytes()])[..32]))
    }
}

/// Waits until nobody else on this machine fetches into the repository, whose folder is made if it is
/// not there. The lock ends with the file, also when the process is killed.
async fn lock(repo: &Path) -> Result<File> {
    let cannot = |error| Fault::outage(format!("cannot make `{}`: {error}", repo.display()));
    DirBuilder::new().recursive(true).mode(0o700).create(repo).map_err(cannot)?;
    let folder = File::open(repo).map_err(cannot)?;
    // A file system without locks: git refuses what would collide, and that is tried again.
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
    Ok(folder)
}

/// The file that says that both commits of a target, and what differs, are here.
fn done_mark(repo: &Path, target: &Target) -> PathBuf {
    repo.join(format!("verdict-{}-{}", target.base, target.head))
}
