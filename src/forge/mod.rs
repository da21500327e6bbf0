//! Where changes come from and where reviews go: two ports every code host stands behind.
//!
//! What they promise: a change is complete (every changed path is in it, whatever its kind), its
//! line numbers are those of the two commits its target names, and nothing of the reviewed
//! repository is executed to find out. Every failure is a [`Fault`](crate::base::Fault), classified
//! where it entered: transient with the wait a server asked for, timeout, outage of the whole forge,
//! or permanent. What they never do: judge, mask, or keep anything.
//!
//! A forge is a folder here that implements [`Forge`] and [`Publisher`], and a line where the
//! composition root fills [`Forges`]. No one else knows how a forge names its repositories: a
//! [`Target`] is opened, and from then on a [`Change`] answers.
//!
//! | file | is |
//! |---|---|
//! | `target.rs` | what is asked for, and what it stands for |
//! | `change.rs` | what a change consists of |
//! | `publish.rs` | the port that takes finished reviews |
//! | `registry.rs` | the forges of this process, by kind |
//! | `diff.rs` | hunks and the lines they touch; the streaming patch parser. Pure |
//! | `local/` | the repository on this machine, through the `git` program |

mod change;
pub mod diff;
pub mod local;
mod publish;
mod registry;
mod target;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::{
    change::{Content, Entry, EntryKind, FileChange, Status},
    diff::{Hunk, LineRange},
    publish::{Comment, Publication, PublishContext, Published, Publisher},
    registry::Forges,
    target::{Locator, Resolved, Selection, Target},
};
use crate::base::Result;

/// A file larger than this on either side is not compared line by line; it counts as binary.
pub const COMPARED_BYTES: u64 = 64 * 1024 * 1024;

/// A code host, or git on this machine.
#[async_trait]
pub trait Forge: Send + Sync + 'static {
    /// Its kind: the word that its targets carry.
    fn kind(&self) -> &'static str;

    /// What a locator stands for now.
    ///
    /// # Errors
    /// Permanent when there is no such thing, or it may not be reviewed.
    async fn resolve(&self, locator: &Locator) -> Result<Resolved>;

    /// The change that a target names.
    ///
    /// # Errors
    /// When the forge does not answer, or the target is none of its own.
    async fn open(&self, target: &Target) -> Result<Arc<dyn Change>>;
}

/// One change: which paths it touches, and the content of either side. Its two commits do not move,
/// so every answer stays true.
#[async_trait]
pub trait Change: Send + Sync + 'static {
    /// Every changed path, in the order of paths.
    async fn files(&self) -> Result<Vec<FileChange>>;

    /// The contents of `blobs`, in their order. None above `limit` bytes is read.
    async fn contents(&self, blobs: &[String], limit: u64) -> Result<Vec<Content>>;

    /// Whether a file stands at each of `paths` on the base side, in their order.
    async fn exists(&self, paths: &[String]) -> Result<Vec<bool>>;

    /// The content of `path` on the base side, `None` when no file stands there. This is the only
    /// way settings are read: what a change proposes about its own review does not count.
    async fn base_file(&self, path: &str, limit: u64) -> Result<Option<Content>>;

    /// The files that stand directly in `folder` on the base side, by path, in order; none when
    /// there is no such folder. Read for the same reason, with the same limit.
    async fn base_folder(&self, folder: &str, limit: u64) -> Result<Vec<(String, Content)>>;
}
