//! What a change consists of, the same for every forge: paths, what stands at them on either side,
//! the touched lines, and contents.

use serde::{Deserialize, Serialize};

use super::diff::{Hunk, LineRange};

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
    /// Whether either side is binary, or larger than [`COMPARED_BYTES`](super::COMPARED_BYTES).
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
