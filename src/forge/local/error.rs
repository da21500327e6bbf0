//! What can go wrong with git, and which of it another try may cure.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::base::Fault;

/// A result of git.
pub type Result<T, E = GitError> = std::result::Result<T, E>;

/// Why git could not answer. Each message says what was attempted on what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The folder is missing or no git repository.
    #[error("`{0}` is not a git repository")]
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
    /// The machine has no process, memory or file descriptor left to start the program with.
    #[error("git could not be started ({0}); the machine has run short: raise its limits")]
    NotStarted(String),
    /// The repository was here when the review began, or its volume is not mounted.
    #[error("`{0}` is not there; is its volume mounted?")]
    Gone(PathBuf),
    /// The machine ended or hindered git: a signal, a disk that cannot be read or is full.
    #[error("git {command} was cut short in `{repo}`: {message}")]
    CutShort {
        /// The subcommand.
        command: String,
        /// The repository.
        repo: PathBuf,
        /// What ended it.
        message: String,
    },
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
        !matches!(
            self,
            Self::Git { .. }
                | Self::Timeout { .. }
                | Self::Garbled(..)
                | Self::NotStarted(_)
                | Self::CutShort { .. }
        )
    }
}

/// What git passes on of the system when the machine is at fault, in the C locale.
const MACHINE_AT_FAULT: &[&str] = &[
    "Cannot allocate memory",
    "Device or resource busy",
    "Disk quota exceeded",
    "Input/output error",
    "No space left on device",
    "Out of memory",
    "Read-only file system",
    "Resource temporarily unavailable",
    "Stale file handle",
    "Too many open files",
    "Transport endpoint is not connected",
    "died of signal",
    "out of memory",
    "unable to create thread",
];

/// Whether what git wrote says that the machine is at fault.
pub(super) fn names_the_machine(text: &str) -> bool {
    MACHINE_AT_FAULT.iter().any(|trouble| text.contains(trouble))
}

/// What an error of the system says about starting the program.
pub(super) fn not_started(program: &Path, error: &io::Error) -> GitError {
    let text = format!("{}: {error}", program.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => GitError::GitMissing(text),
        _ => GitError::NotStarted(text),
    }
}

impl From<GitError> for Fault {
    fn from(error: GitError) -> Self {
        let message = error.to_string();
        match error {
            GitError::Timeout { .. } => Self::timeout(message),
            // This process can do no job now.
            GitError::GitMissing(_) | GitError::NotStarted(_) => Self::outage(message),
            // It hit this job, and may hit it again: counted.
            GitError::CutShort { .. } | GitError::Gone(_) => Self::transient(message),
            GitError::NotARepository(_)
            | GitError::Untrusted(_)
            | GitError::UnknownRevision(_)
            | GitError::EmptyRange(_)
            | GitError::BadRange(_)
            | GitError::Shallow(_)
            | GitError::Unrelated(..)
            | GitError::Git { .. }
            | GitError::Garbled(..) => Self::permanent(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::FaultKind;

    /// R4: only what names the job's own input is permanent.
    #[test]
    fn no_job_is_at_fault_for_what_the_machine_does() {
        let repo = || PathBuf::from("/repo");
        let started = |code| not_started(Path::new("git"), &io::Error::from_raw_os_error(code));
        // ENOENT, EACCES; EAGAIN, ENOMEM, ENFILE, EMFILE, EIO.
        for code in [2, 13, 11, 12, 23, 24, 5] {
            assert_eq!(Fault::from(started(code)).kind, FaultKind::Outage, "{code}");
        }
        let cut_short = |message: &str| GitError::CutShort {
            command: "diff".into(),
            repo: repo(),
            message: message.into(),
        };
        let late = GitError::Timeout { command: "diff".into(), repo: repo(), seconds: 120 };
        let git = GitError::Git { command: "diff".into(), repo: repo(), message: "bad".into() };
        let revision = || "nope".to_owned();
        for (error, kind) in [
            (cut_short("ended by signal 9"), FaultKind::Transient),
            (GitError::Gone(repo()), FaultKind::Transient),
            (late, FaultKind::Timeout),
            (GitError::NotARepository(repo()), FaultKind::Permanent),
            (GitError::Untrusted(repo()), FaultKind::Permanent),
            (GitError::UnknownRevision(revision()), FaultKind::Permanent),
            (GitError::EmptyRange(revision()), FaultKind::Permanent),
            (GitError::BadRange(revision()), FaultKind::Permanent),
            (GitError::Shallow(revision()), FaultKind::Permanent),
            (GitError::Unrelated(revision(), revision()), FaultKind::Permanent),
            (git, FaultKind::Permanent),
            (GitError::Garbled("diff", revision()), FaultKind::Permanent),
        ] {
            let shown = error.to_string();
            assert_eq!(Fault::from(error).kind, kind, "{shown}");
        }
    }

    #[test]
    fn git_passes_on_that_the_machine_is_at_fault() {
        for said in [
            "fatal: cannot open '.git/HEAD': Too many open files",
            "fatal: Out of memory, malloc failed (tried to allocate 10 bytes)",
            "error: unable to create thread: Resource temporarily unavailable",
            "fatal: failed to read object abc: Input/output error",
            "error: index-pack died of signal 9",
            "fatal: write error: No space left on device",
        ] {
            assert!(names_the_machine(said), "{said}");
        }
        assert!(!names_the_machine("fatal: bad revision 'nope'"));
    }
}
