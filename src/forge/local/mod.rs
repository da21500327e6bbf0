//! The repository on this machine, through the `git` program.
//!
//! Content is read by object id and never through the work tree, so filters, attributes and
//! uncommitted edits have no say. Attributes committed to the repository do not count either: a
//! change cannot declare itself binary to slip through. A review of it is published nowhere: it
//! stays in the run.
//!
//! | file | is |
//! |---|---|
//! | `git.rs` | one hardened way to start the program |
//! | `error.rs` | what can go wrong with it |
//! | `range.rs` | from what people write to two object ids |
//! | `changes.rs` | every changed path with its hunks |
//! | `batch.rs` | contents by object id |

mod batch;
mod changes;
mod error;
mod git;
mod range;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;

pub use self::{
    error::{GitError, Result},
    git::GitOptions,
};

use self::git::Git;
use super::{
    Change, Content, FileChange, Forge, Locator, Publication, PublishContext, Published, Publisher,
    Resolved, Selection, Target,
};
use crate::base::{self, Fault};

/// The kind of its targets.
const KIND: &str = "local";

/// What is read of one folder.
const FOLDER_BYTES: u64 = 16 * 1024 * 1024;

/// Beyond this many paths one command line is not enough.
const MAX_PATHS_PER_COMMAND: usize = 200;

/// Repositories on this machine. The place of a [`Locator`] is a folder in one.
#[derive(Debug, Clone, Default)]
pub struct LocalGit {
    options: GitOptions,
    allowed: Option<Vec<PathBuf>>,
}

impl LocalGit {
    /// Runs git as `options` say.
    pub fn new(options: GitOptions) -> Self {
        Self { options, allowed: None }
    }

    /// The same for repositories in these folders (canonical paths) only; `None` allows any.
    #[must_use]
    pub fn allowing(mut self, folders: Option<Vec<PathBuf>>) -> Self {
        self.allowed = folders;
        self
    }

    /// The repository around `folder`, and the two ends of `selection` in it.
    ///
    /// # Errors
    /// When the folder is in no repository, a revision is unknown, or there is nothing between them.
    pub async fn target(&self, folder: &Path, selection: &Selection) -> Result<Target> {
        range::resolve(&self.options, folder, selection).await
    }

    fn check_allowed(&self, target: &Target) -> base::Result<()> {
        let repo = Path::new(&target.repo);
        match &self.allowed {
            Some(folders) if !folders.iter().any(|f| repo.starts_with(f)) => {
                Err(Fault::permanent(format!(
                    "jobs may not name `{}`; allow its folder in forge.local.allow",
                    target.repo
                )))
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Forge for LocalGit {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn resolve(&self, locator: &Locator) -> base::Result<Resolved> {
        let target = self.target(Path::new(&locator.place), &locator.selection).await?;
        self.check_allowed(&target)?;
        Ok(Resolved { target, subject: None, order: 0 })
    }

    async fn open(&self, target: &Target) -> base::Result<Arc<dyn Change>> {
        let git = Git::new(&self.options, Path::new(&target.repo));
        Ok(Arc::new(LocalChange { git, target: target.clone() }))
    }
}

#[async_trait]
impl Publisher for LocalGit {
    async fn publish(&self, _: &PublishContext, _: &Publication) -> base::Result<Published> {
        Ok(Published::InRun)
    }
}

/// Two commits of one repository.
struct LocalChange {
    git: Git,
    target: Target,
}

impl LocalChange {
    /// What `ls-tree -z` lists of these paths on the base side.
    async fn base_listing(&self, paths: &[&str]) -> Result<Vec<u8>> {
        let args = ["ls-tree", "-z", "--full-tree", &self.target.base, "--"];
        self.git.output(&[&args, paths].concat()).await
    }
}

#[async_trait]
impl Change for LocalChange {
    async fn files(&self) -> base::Result<Vec<FileChange>> {
        Ok(changes::changes(&self.git, &self.target).await?)
    }

    async fn contents(&self, blobs: &[String], limit: u64) -> base::Result<Vec<Content>> {
        Ok(batch::contents(&self.git, blobs, limit).await?)
    }

    async fn exists(&self, paths: &[String]) -> base::Result<Vec<bool>> {
        let mut there = HashSet::new();
        for some in paths.chunks(MAX_PATHS_PER_COMMAND) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let listing = self.base_listing(&some).await?;
            there.extend(changes::listed_files(&listing).into_iter().map(|(path, _)| path));
        }
        Ok(paths.iter().map(|path| there.contains(path)).collect())
    }

    async fn base_file(&self, path: &str, limit: u64) -> base::Result<Option<Content>> {
        let listing = self.base_listing(&[path]).await?;
        let Some(blob) = changes::listed_blob(&listing) else { return Ok(None) };
        let mut found = batch::contents(&self.git, &[blob], limit).await?;
        Ok(found.pop())
    }

    async fn base_folder(&self, folder: &str, limit: u64) -> base::Result<Vec<(String, Content)>> {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let listing = self.base_listing(&[&folder]).await?;
        let (paths, blobs): (Vec<String>, Vec<String>) =
            changes::listed_files(&listing).into_iter().unzip();
        let contents = batch::first_contents(&self.git, &blobs, limit, FOLDER_BYTES).await?;
        Ok(paths.into_iter().zip(contents).collect())
    }
}
