//! Where changes come from and where reviews go: two ports every code host stands behind.
//!
//! What they promise: a change is complete (every changed path is in it, whatever its kind), its
//! line numbers are those of the two commits its target names, and nothing of the reviewed
//! repository is executed to find out. Every failure is a [`Fault`], classified
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
//! | `request.rs` | what a webhook asks for |
//! | `publish.rs` | the port that takes finished reviews |
//! | `search.rs` | the port that finds repositories |
//! | `registry.rs` | the forges of this process, by kind |
//! | `diff.rs` | hunks and the lines they touch; the streaming patch parser. Pure |
//! | `github/` | pull requests on GitHub |
//! | `local/` | the repository on this machine, through the `git` program |

mod change;
pub mod diff;
pub mod github;
pub mod local;
mod publish;
mod registry;
mod request;
mod search;
mod target;

use std::sync::Arc;

use async_trait::async_trait;
use jiff::civil::Date;

pub use self::{
    change::{Content, Entry, EntryKind, FileChange, Status},
    diff::{Hunk, LineRange},
    publish::{Comment, History, Publication, PublishContext, Published, Publisher, Standing},
    registry::Forges,
    request::{EventRequest, Occasion, Proposal, Question, ReviewRequest},
    search::{FoundRepository, RepositoryQuery, RepositorySearch, SortBy},
    target::{Introduction, Locator, Resolved, Selection, Target},
};
use crate::base::{Fault, Result};

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

    /// Whether this machine has what the forge needs of it: programs, folders.
    ///
    /// # Errors
    /// When it lacks something just now: no job is at fault.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// What a webhook of this forge asks for, as things are now.
    ///
    /// # Errors
    /// Permanent when the body cannot be read; otherwise when the forge does not answer.
    async fn event(&self, name: &str, _body: &[u8]) -> Result<EventRequest> {
        Ok(EventRequest::Ignore(format!("the forge `{}` sends no `{name}` events", self.kind())))
    }

    /// The text of a file on the branch that a locator's change goes into, read before the change is
    /// opened; `None` where there is none. Only for what decides whether to open it.
    ///
    /// # Errors
    /// When the forge does not answer.
    async fn base_text(&self, _locator: &Locator, _path: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// The text of a file that the owner of a change's repository keeps for all their repositories;
    /// `None` where there is none.
    ///
    /// # Errors
    /// When the forge does not answer.
    async fn owner_text(&self, _place: &str, _path: &str) -> Result<Option<String>> {
        Ok(None)
    }

    /// Answers a question where it was asked. Answering twice leaves one answer.
    ///
    /// # Errors
    /// When the forge does not take it.
    async fn answer(&self, question: &Question, _text: &str) -> Result<()> {
        let kind = &question.locator.forge;
        Err(Fault::permanent(format!("the forge `{kind}` takes no answers")))
    }
}

/// One change: which paths it touches, and the content of either side. Its two commits do not move,
/// so every answer stays true.
#[async_trait]
pub trait Change: Send + Sync + 'static {
    /// What a person calls it, in one line: `3 commits, branch main`. `None` when there is no more
    /// to say than its two commits.
    async fn description(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The day on which its head was committed (UTC); `None` when that is not known, or nothing is committed.
    ///
    /// # Errors
    /// When the forge does not answer.
    async fn day(&self) -> Result<Option<Date>> {
        Ok(None)
    }

    /// Who owns its repository, as addresses and names of images say it: `acme` of `github.com/acme/tool`. `None` when
    /// that is not known.
    ///
    /// # Errors
    /// When the forge does not answer.
    async fn owner(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Every changed path, in the order of paths.
    async fn files(&self) -> Result<Vec<FileChange>>;

    /// The contents of `blobs`, in their order. None above `limit` bytes is read.
    async fn contents(&self, blobs: &[String], limit: u64) -> Result<Vec<Content>>;

    /// Whether a file stands at each of `paths` on the base side, in their order.
    async fn exists(&self, paths: &[String]) -> Result<Vec<bool>>;

    /// Every file on the base side: its path, and what stands there. None from a forge that cannot list them.
    async fn base_files(&self) -> Result<Vec<(String, Entry)>> {
        Ok(Vec::new())
    }

    /// The content of `path` on the base side, `None` when no file stands there. This is the only
    /// way settings are read: what a change proposes about its own review does not count.
    async fn base_file(&self, path: &str, limit: u64) -> Result<Option<Content>>;

    /// The files that stand directly in `folder` on the base side, by path, in order; none when
    /// there is no such folder. Read for the same reason, with the same limit.
    async fn base_folder(&self, folder: &str, limit: u64) -> Result<Vec<(String, Content)>>;
}
