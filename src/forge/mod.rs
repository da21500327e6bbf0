//! Where changes come from: the port every code host stands behind.
//!
//! What it promises: a change set is complete (every changed path is in it, whatever its kind),
//! its line numbers are those of the two commits it names, and nothing of the reviewed repository
//! is executed to find out. What it never does: judge, mask or keep anything.
//!
//! | file | is |
//! |---|---|
//! | `diff.rs` | hunks and the lines they touch; the streaming patch parser. Pure |
//! | `error.rs` | what can go wrong, and which of it another try may cure |
//! | `local/` | the repository on this machine, through the `git` program |

pub mod diff;
mod error;
pub mod local;

use std::path::Path;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use diff::{Hunk, LineRange};
pub use error::ForgeError;

/// A result of a forge.
pub type Result<T, E = ForgeError> = std::result::Result<T, E>;

/// A file larger than this on either side is not compared line by line; it counts as binary.
pub const COMPARED_BYTES: u64 = 64 * 1024 * 1024;

/// Two points of one repository, resolved: what is reviewed is what `head` changes over `base`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The repository: a canonical path for local git.
    pub repo: String,
    /// The full object id compared from: a commit, or the empty tree for a first commit.
    pub base: String,
    /// The full commit id compared to.
    pub head: String,
}

/// Which changes to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// What this branch adds.
    Default,
    /// As written by a person.
    Range(String),
    /// Two revisions.
    Ends {
        /// Compared from (its merge base with `head`).
        base: String,
        /// Compared to.
        head: String,
    },
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// New in the head.
    Added,
    /// In both, with other content or mode.
    Modified,
    /// Gone from the head.
    Deleted,
    /// In the base under another path.
    Renamed,
    /// A copy of another path.
    Copied,
    /// In both as different things (a file became a symbolic link).
    TypeChanged,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Nothing.
    Absent,
    /// A file.
    File,
    /// A file that may be executed.
    Executable,
    /// A symbolic link.
    Symlink,
    /// Another repository at a fixed commit.
    Submodule,
}

/// One side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What stands there.
    pub kind: EntryKind,
    /// The content's object id; all zeros when absent.
    pub blob: String,
}

/// One changed path. Holds no content: that is read by object id when it is needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path in the head, or in the base when deleted; a byte that is no UTF-8 as `\xff`.
    pub path: String,
    /// The path in the base, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What happened.
    pub status: Status,
    /// The base side.
    pub base: Entry,
    /// The head side.
    pub head: Entry,
    /// Whether either side is binary, or larger than [`COMPARED_BYTES`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Whether content of either side is not in the repository (a partial clone); then there are
    /// no hunks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unavailable: bool,
    /// Size of the head's content in bytes; `None` when absent or not to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The changed places, in order, without context lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
}

impl FileChange {
    /// Lines of the head that the change added or rewrote, as inclusive ranges in order.
    pub fn added(&self) -> impl Iterator<Item = LineRange> + '_ {
        self.hunks.iter().filter_map(Hunk::added)
    }

    /// Lines of the base that the change removed or rewrote, as inclusive ranges in order.
    pub fn removed(&self) -> impl Iterator<Item = LineRange> + '_ {
        self.hunks.iter().filter_map(Hunk::removed)
    }
}

/// A blob's content as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text, with whether invalid UTF-8 had to be replaced.
    Text {
        /// The text, line ends untouched.
        text: String,
        /// Whether bytes were replaced by U+FFFD.
        lossy: bool,
    },
    /// It holds NUL bytes.
    Binary,
    /// Larger than asked for; its size in bytes.
    TooLarge(u64),
    /// The repository does not hold it (a partial or damaged clone).
    Missing,
}

/// A code host: what changed, and the content of either side.
#[async_trait]
pub trait Forge: Send + Sync + 'static {
    /// The repository around `folder`, and the two ends of `selection` in it.
    async fn resolve(&self, folder: &Path, selection: &Selection) -> Result<Range>;

    /// Every path `range` changes.
    async fn changes(&self, range: &Range) -> Result<Vec<FileChange>>;

    /// The contents of `blobs`, in their order. None above `limit` bytes is read.
    async fn contents(&self, range: &Range, blobs: &[String], limit: u64) -> Result<Vec<Content>>;

    /// The content of `path` on the base side, `None` when it is not there. This is the only way
    /// settings are read: what a change proposes about its own review is not listened to.
    async fn base_file(&self, range: &Range, path: &str, limit: u64) -> Result<Option<Content>>;

    /// The files that stand directly in `folder` on the base side, by path, in order; none when
    /// there is no such folder. Read for the same reason, with the same limit.
    async fn base_folder(
        &self,
        range: &Range,
        folder: &str,
        limit: u64,
    ) -> Result<Vec<(String, Content)>>;
}
