//! What can go wrong with git, and which of it another try may cure.

use std::path::PathBuf;

use crate::base::Fault;

/// A result of git.
pub type Result<T, E = GitError> = std::result::Result<T, E>;

/// Why git could not answer. Each message says what was attempted on what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The folder is missing or no git repository.
    #[error("`{0}` is not a git repository; name one with --repo")]
    NotARepository(PathBuf),
    /// git refuses to work in a repository that belongs to somebody else.
    #[error(
        "git does not trust `{0}`, which belongs to another user; \
         add it to git's safe.directory setting to review it"
    )]
    Untrusted(PathBuf),
    /// The name stands for no commit.
    #[error("unknown revision `{0}`; name a branch, tag or commit of this repository")]
    UnknownRevision(String),
    /// There is nothing to review.
    #[error("nothing to review: {0}")]
    EmptyRange(String),
    /// The range is not written as one.
    #[error("`{0}` is not a range; write A..B, A...B or a single revision")]
    BadRange(String),
    /// The history needed was never fetched.
    #[error("{0}; this is a shallow clone: run `git fetch --unshallow` first")]
    Shallow(String),
    /// The two ends have no common ancestor.
    #[error("`{0}` and `{1}` have no common history; compare them with A..B")]
    Unrelated(String, String),
    /// The program is not there.
    #[error("git could not be started ({0}); install it or put it on the PATH")]
    GitMissing(String),
    /// git failed for a reason of its own.
    #[error("git {command} failed in `{repo}`: {message}")]
    Git {
        /// The subcommand.
        command: String,
        /// The repository.
        repo: PathBuf,
        /// The first line git wrote.
        message: String,
    },
    /// git took too long.
    #[error("git {command} took longer than {seconds} s in `{repo}`")]
    Timeout {
        /// The subcommand.
        command: String,
        /// The repository.
        repo: PathBuf,
        /// What it was given.
        seconds: u64,
    },
    /// git answered something this program cannot read.
    #[error("git's answer to {0} could not be read: {1}")]
    Garbled(&'static str, String),
}

impl GitError {
    /// Whether what was asked for is at fault: the caller should say it differently.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Git { .. } | Self::Timeout { .. } | Self::Garbled(..))
    }
}

impl From<GitError> for Fault {
    fn from(error: GitError) -> Self {
        let message = error.to_string();
        match error {
            GitError::Timeout { .. } => Self::timeout(message),
            _ => Self::permanent(message),
        }
    }
}
