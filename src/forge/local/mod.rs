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
//! | `places.rs` | the folders git reads of a repository |
//! | `range.rs` | from what people write to two object ids |
//! | `uncommitted.rs` | the index and the work tree as commits |
//! | `changes.rs` | every changed path with its hunks |
//! | `batch.rs` | contents by object id |
//! | `fetch.rs` | two commits of a remote repository, and what differs between them |

mod batch;
mod changes;
mod error;
mod fetch;
mod git;
mod places;
mod range;
mod uncommitted;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use jiff::civil::Date;
use tokio::sync::OnceCell;

pub use self::{
    error::{GitError, Result},
    fetch::Fetch,
    git::GitOptions,
};

use self::git::Git;
use super::{
    Change, Content, Entry, FileChange, Forge, Locator, Publication, PublishContext, Published,
    Publisher, Resolved, Selection, Target,
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
    /// What a person's range was resolved to, until its run is admitted in this process.
    asked: Arc<Mutex<Option<Target>>>,
}

impl LocalGit {
    /// Runs git as `options` say.
    pub fn new(options: GitOptions) -> Self {
        Self { options, ..Self::default() }
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

    /// The target that was resolved last, if it is what `locator` names.
    fn just_resolved(&self, locator: &Locator) -> Option<Target> {
        let Selection::Ends { base, head } = &locator.selection else { return None };
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let same = |it: &Target| (&it.repo, &it.base, &it.head) == (&locator.place, base, head);
        asked.filter(same)
    }

    /// Whether the allowed folder around this place is missing, or empty.
    fn is_away(&self, place: &Path) -> bool {
        let empty =
            |folder: &PathBuf| folder.read_dir().map_or(true, |mut all| all.next().is_none());
        self.allowed.iter().flatten().any(|folder| place.starts_with(folder) && empty(folder))
    }

    /// Refuses a repository of which anything lies outside of the allowed folders: its work tree, or
    /// any folder that git reads objects, references or settings from. Links are followed.
    async fn check_allowed(&self, target: &Target) -> base::Result<()> {
        let Some(folders) = &self.allowed else { return Ok(()) };
        let refused = |place: &Path| {
            Fault::permanent(format!(
                "jobs may not name `{}`, which is, or reads from, `{}`; allow its folder in \
                 forge.local.allow",
                target.repo,
                place.display()
            ))
        };
        let repo = Path::new(&target.repo);
        let is_allowed = |place: &Path| folders.iter().any(|folder| place.starts_with(folder));
        if !is_allowed(repo) {
            return Err(refused(repo));
        }
        let git = Git::new(&self.options, repo);
        for place in places::of(&git).await? {
            if !is_allowed(&place) {
                return Err(refused(&place));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Forge for LocalGit {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn resolve(&self, locator: &Locator) -> base::Result<Resolved> {
        let place = Path::new(&locator.place);
        let target = match self.just_resolved(locator) {
            Some(target) => Ok(target),
            None => self.target(place, &locator.selection).await,
        };
        let target = match target {
            // Which of both is at fault is told by the folder that holds it.
            Err(GitError::NotARepository(_) | GitError::Gone(_)) if self.is_away(place) => {
                self.check().await?;
                return Err(GitError::Gone(place.to_owned()).into());
            }
            found => found?,
        };
        self.check_allowed(&target).await?;
        let by_id = Selection::Ends { base: target.base.clone(), head: target.head.clone() };
        if locator.selection != by_id {
            *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(target.clone());
        }
        Ok(Resolved { target, subject: None, order: 0, introduction: None })
    }

    /// Whether git starts, and the folders that jobs may name are there.
    async fn check(&self) -> base::Result<()> {
        for folder in self.allowed.iter().flatten() {
            if let Err(error) = tokio::fs::metadata(folder).await {
                let folder = folder.display();
                let why = format!("forge.local.allow: `{folder}`: {error}; is its volume mounted?");
                return Err(Fault::outage(why));
            }
        }
        Git::new(&self.options, Path::new("/")).output(&["version"]).await?;
        Ok(())
    }

    async fn open(&self, target: &Target) -> base::Result<Arc<dyn Change>> {
        // Files may have changed since it was resolved.
        self.check_allowed(target).await?;
        let git = Git::new(&self.options, Path::new(&target.repo));
        let (target, top) = (target.clone(), OnceCell::new());
        Ok(Arc::new(LocalChange { git, target, top, sides: Mutex::default() }))
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
    /// What lies at the top of the base side.
    top: OnceCell<HashSet<String>>,
    sides: Mutex<Sides>,
}

/// The sides of a small change: a start of git takes longer than reading all of them.
#[derive(Default)]
enum Sides {
    #[default]
    Apart,
    /// To be read once one of them is asked for.
    Together(Vec<String>),
    /// By object id, read with this limit.
    Read(u64, HashMap<String, Content>),
}

impl LocalChange {
    /// Whether the base side has what `path` begins with. Most repositories have no settings, and
    /// none of them is asked for twice.
    async fn may_have(&self, path: &str) -> Result<bool> {
        let names = async {
            let args = ["ls-tree", "-z", "--name-only", "--full-tree", &self.target.base];
            Ok(changes::names(&self.git.output(&args).await?))
        };
        let top = self.top.get_or_try_init(|| names).await?;
        Ok(path.split('/').next().is_some_and(|first| top.contains(first)))
    }

    fn sides(&self) -> MutexGuard<'_, Sides> {
        self.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contents of a small change, all of whose sides are read the first time. One that cannot be read keeps nobody from
    /// asking for another.
    async fn read_sides(&self, blobs: &[String], limit: u64) -> Option<Vec<Content>> {
        let together = match &*self.sides() {
            Sides::Together(all) if blobs.iter().all(|blob| all.contains(blob)) => all.clone(),
            _ => Vec::new(),
        };
        if !together.is_empty() {
            let read = batch::contents(&self.git, &together, limit).await;
            let read = read.map(|read| together.into_iter().zip(read).collect());
            *self.sides() = read.map_or(Sides::Apart, |read| Sides::Read(limit, read));
        }
        match &*self.sides() {
            Sides::Read(with, read) if *with == limit => {
                blobs.iter().map(|blob| read.get(blob).cloned()).collect()
            }
            _ => None,
        }
    }

    /// What `ls-tree -z` lists of these paths on the base side.
    async fn base_listing(&self, paths: &[&str]) -> Result<Vec<u8>> {
        let args = ["ls-tree", "-z", "--full-tree", &self.target.base, "--"];
        self.git.output(&[&args, paths].concat()).await
    }
}

#[async_trait]
impl Change for LocalChange {
    async fn description(&self) -> base::Result<Option<String>> {
        Ok(Some(range::description(&self.git, &self.target).await?))
    }

    async fn day(&self) -> base::Result<Option<Date>> {
        Ok(range::day(&self.git, &self.target.head).await?)
    }

    async fn owner(&self) -> base::Result<Option<String>> {
        Ok(range::owner(&self.git).await?)
    }

    async fn files(&self) -> base::Result<Vec<FileChange>> {
        let files = changes::changes(&self.git, &self.target).await?;
        let sides = changes::small_sides(&self.git, &files);
        *self.sides() = sides.map_or(Sides::Apart, Sides::Together);
        Ok(files)
    }

    async fn contents(&self, blobs: &[String], limit: u64) -> base::Result<Vec<Content>> {
        if let Some(contents) = self.read_sides(blobs, limit).await {
            return Ok(contents);
        }
        Ok(batch::contents(&self.git, blobs, limit).await?)
    }

    async fn exists(&self, paths: &[String]) -> base::Result<Vec<bool>> {
        let mut there = HashSet::new();
        for some in paths.chunks(MAX_PATHS_PER_COMMAND) {
            let some: Vec<&str> = some.iter().map(String::as_str).collect();
            let listing = self.base_listing(&some).await?;
            there.extend(changes::listed_files(&listing).map(|(path, _)| path));
        }
        Ok(paths.iter().map(|path| there.contains(path)).collect())
    }

    async fn base_files(&self) -> base::Result<Vec<(String, Entry)>> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", &self.target.base];
        Ok(changes::listed_files(&self.git.output(&args).await?).collect())
    }

    async fn base_file(&self, path: &str, limit: u64) -> base::Result<Option<Content>> {
        if !self.may_have(path).await? {
            return Ok(None);
        }
        let listing = self.base_listing(&[path]).await?;
        let Some((_, file)) = changes::listed_files(&listing).next() else { return Ok(None) };
        let mut found = batch::contents(&self.git, &[file.blob], limit).await?;
        Ok(found.pop())
    }

    async fn base_folder(&self, folder: &str, limit: u64) -> base::Result<Vec<(String, Content)>> {
        if !self.may_have(folder).await? {
            return Ok(Vec::new());
        }
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let listing = self.base_listing(&[&folder]).await?;
        let (paths, blobs): (Vec<String>, Vec<String>) =
            changes::listed_files(&listing).map(|(path, file)| (path, file.blob)).unzip();
        let contents = batch::first_contents(&self.git, &blobs, limit, FOLDER_BYTES).await?;
        Ok(paths.into_iter().zip(contents).collect())
    }
}
