//! The repository on this machine, through the `git` program.
//!
//! Content is read by object id and never through the work tree, so filters, attributes and
//! uncommitted edits have no say. Attributes committed to the repository are not listened to
//! either: a change cannot declare itself binary to slip through.
//!
//! | file | is |
//! |---|---|
//! | `git.rs` | one hardened way to start the program |
//! | `range.rs` | from what people write to two object ids |
//! | `changes.rs` | every changed path with its hunks |
//! | `batch.rs` | contents by object id |

mod batch;
mod changes;
mod git;
mod range;

use std::path::Path;

use async_trait::async_trait;

pub use git::GitOptions;

use self::git::Git;
use super::{Content, FileChange, Forge, Range, Result, Selection};

/// What is read of one folder.
const FOLDER_BYTES: u64 = 16 * 1024 * 1024;

/// Repositories on this machine; [`Range::repo`] is the path of one.
#[derive(Debug, Clone, Default)]
pub struct LocalGit {
    options: GitOptions,
}

impl LocalGit {
    /// Runs git as `options` say.
    pub fn new(options: GitOptions) -> Self {
        Self { options }
    }

    /// The options it was made with.
    pub fn options(&self) -> &GitOptions {
        &self.options
    }

    fn git(&self, range: &Range) -> Git {
        Git::new(&self.options, Path::new(&range.repo))
    }
}

#[async_trait]
impl Forge for LocalGit {
    async fn resolve(&self, folder: &Path, selection: &Selection) -> Result<Range> {
        range::resolve(&self.options, folder, selection).await
    }

    async fn changes(&self, range: &Range) -> Result<Vec<FileChange>> {
        changes::changes(&self.git(range), range).await
    }

    async fn contents(&self, range: &Range, blobs: &[String], limit: u64) -> Result<Vec<Content>> {
        batch::contents(&self.git(range), blobs, limit).await
    }

    async fn base_file(&self, range: &Range, path: &str, limit: u64) -> Result<Option<Content>> {
        let git = self.git(range);
        let args = ["ls-tree", "-z", "--full-tree", &range.base, "--", path];
        let listing = git.output(&args).await?;
        let Some(blob) = changes::listed_blob(&listing) else { return Ok(None) };
        let mut found = batch::contents(&git, &[blob], limit).await?;
        Ok(found.pop())
    }

    async fn base_folder(
        &self,
        range: &Range,
        folder: &str,
        limit: u64,
    ) -> Result<Vec<(String, Content)>> {
        let git = self.git(range);
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let args = ["ls-tree", "-z", "--full-tree", &range.base, "--", &folder];
        let listing = git.output(&args).await?;
        let (paths, blobs): (Vec<String>, Vec<String>) =
            changes::listed_files(&listing).into_iter().unzip();
        let contents = batch::first_contents(&git, &blobs, limit, FOLDER_BYTES).await?;
        Ok(paths.into_iter().zip(contents).collect())
    }
}
