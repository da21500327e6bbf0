//! Two commits of a remote repository, and the contents that differ between them, fetched into a
//! bare repository: no history, no other contents, no hooks, no submodules.

use std::{path::Path, time::Duration};

use super::{
    GitOptions, LocalGit,
    changes::changed_blobs,
    error::{GitError, Result},
    git::{Git, feed},
};
use crate::base::{self, Fault};

/// What one fetch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(600);

/// Settings of the base side, whose contents are needed beside what changed.
const SETTINGS: &[&str] = &[".verdict.toml", ".verdict"];

/// Files by which git keeps other processes of its own out. Of one that was killed they stay.
const LOCKS: [&str; 4] = ["config.lock", "HEAD.lock", "packed-refs.lock", "shallow.lock"];

/// The file that says that the repository was made whole.
const MADE: &str = "verdict-made";

/// What to fetch.
pub struct Fetch<'a> {
    /// The repository's address.
    pub url: &'a str,
    /// The Authorization header, if the server wants one.
    pub authorization: Option<String>,
    /// The commit compared from.
    pub base: &'a str,
    /// The commit compared to.
    pub head: &'a str,
}

impl LocalGit {
    /// Fetches what a comparison of the two commits needs into the folder `repo`, a bare repository that
    /// is made if the folder is empty. Doing it again fetches what is missing.
    ///
    /// # Errors
    /// Transient when the server does not answer or sends half; permanent when it has no such
    /// commits or refuses.
    pub async fn fetch(&self, repo: &Path, fetch: Fetch<'_>) -> base::Result<()> {
        let options = GitOptions { timeout: FETCH_TIMEOUT, ..self.options.clone() };
        let git = Git::new(&options, repo);
        remove_stale_locks(repo);
        init(&git, repo, fetch.url).await?;
        let network = git.with_network(fetch.authorization.as_deref());
        let commits = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--depth=1",
            "--recurse-submodules=no",
            "--filter=blob:none",
            "origin",
            fetch.base,
            fetch.head,
        ];
        network.output(&commits).await.map_err(|error| of_server(error, fetch.url))?;
        let mut blobs = changed_blobs(&git, fetch.base, fetch.head).await?;
        blobs.extend(settings_blobs(&git, fetch.base).await?);
        if blobs.is_empty() {
            return Ok(());
        }
        blobs.sort();
        blobs.dedup();
        let contents = [
            "-c",
            "fetch.negotiationAlgorithm=noop",
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--filter=blob:none",
            "--stdin",
            "origin",
        ];
        let (running, input, _out) = network.converse(&contents)?;
        let work = async {
            // A server that ends early says why on standard error.
            let _ = feed(input, blobs).await;
            network.end(&contents, running).await
        };
        let fetched = network.bounded(&contents, work).await;
        fetched.and_then(|ended| ended).map_err(|error| of_server(error, fetch.url))
    }
}

/// Removes locks that are older than a fetch may take.
fn remove_stale_locks(repo: &Path) {
    for lock in LOCKS.map(|name| repo.join(name)) {
        let made = lock.metadata().and_then(|about| about.modified()).ok();
        if made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > FETCH_TIMEOUT) {
            tracing::warn!(path = %lock.display(), "removing a lock that a git process left behind");
            // One that stays is told by git.
            let _ = std::fs::remove_file(&lock);
        }
    }
}

/// Makes the bare repository unless it is there. One that was left half made is made whole.
async fn init(git: &Git, repo: &Path, url: &str) -> base::Result<()> {
    let made = repo.join(MADE);
    if made.exists() {
        return Ok(());
    }
    let settings = [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", url),
        ("remote.origin.promisor", "true"),
        ("gc.auto", "0"),
    ];
    let settings = settings.map(|(name, value)| vec!["config", name, value]);
    let init = vec!["init", "--quiet", "--bare", "--template=", "."];
    for args in [init].into_iter().chain(settings) {
        git.output(&args).await.map_err(of_machine)?;
    }
    let cannot = |error| Fault::outage(format!("cannot write in `{}`: {error}", repo.display()));
    std::fs::write(made, b"").map_err(cannot)
}

/// What hindered git in a folder of verdict's own: never what is reviewed.
fn of_machine(error: GitError) -> Fault {
    match error {
        GitError::Git { .. } => Fault::transient(error.to_string()),
        other => other.into(),
    }
}

/// The contents of the settings on the base side.
async fn settings_blobs(git: &Git, base: &str) -> Result<Vec<String>> {
    let args = [&["ls-tree", "-r", "-z", "--full-tree", base, "--"], SETTINGS].concat();
    let listing = git.output(&args).await?;
    Ok(super::changes::listed_files(&listing).map(|(_, file)| file.blob).collect())
}

/// A fetch that failed: whether the server said no, or could not be reached.
fn of_server(error: GitError, url: &str) -> Fault {
    let message = format!("fetching from {url}: {error}");
    let refused = [
        "not our ref",
        "couldn't find remote ref",
        "no such remote ref",
        "authentication failed",
        "repository not found",
        "not found",
        "returned error: 40",
    ];
    let text = message.to_ascii_lowercase();
    match error {
        GitError::Timeout { .. } => Fault::timeout(message),
        GitError::Git { .. } if refused.iter().any(|no| text.contains(no)) => {
            Fault::permanent(message)
        }
        GitError::Git { .. } => Fault::transient(message),
        other => other.into(),
    }
}
