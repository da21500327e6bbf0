//! Commits of a pull request on this machine: a bare repository for each repository on GitHub, into
//! which only the two commits and the contents that differ between them are fetched.
//!
//! What it promises: nothing of the repository is executed, history is not fetched, and content is
//! fetched once. What is here is a cache: it may be removed at any time, and any process makes it
//! anew.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use tokio::sync::Mutex;

use super::super::local::{Fetch, LocalGit};
use crate::{
    base::{Fault, Result, hash_hex},
    forge::{Change, Forge, Target},
};

/// The checkouts of one process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Checkouts {
    folder: PathBuf,
    git: LocalGit,
    /// One fetch at a time into each repository.
    busy: Arc<std::sync::Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>>,
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
        Self { folder, git: LocalGit::default(), busy: Arc::default() }
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
        let lock = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            busy.entry(repo.clone()).or_default().clone()
        };
        let _alone = lock.lock().await;
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

/// The file that says that both commits of a target, and what differs, are here.
fn done_mark(repo: &Path, target: &Target) -> PathBuf {
    repo.join(format!("verdict-{}-{}", target.base, target.head))
}
