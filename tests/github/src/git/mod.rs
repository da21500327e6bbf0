//! A bare repository on disk, read and written with the `git` command.
//!
//! Never runs hooks, filters or external diff programs, and reads no settings of the machine or the user.
//!
//! Laid out: this file (commits, refs, merges) · `tree` (files of a commit) · `diff` (what changed between two commits).

mod diff;
mod tree;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

pub(crate) use diff::{Diff, FileDiff, Place, Side};
pub(crate) use tree::Entry;

/// Settings for every git process here, also for those that serve a clone.
pub(crate) const SETTINGS: [(&str, &str); 9] = [
    ("safe.directory", "*"),
    ("core.hooksPath", "/dev/null"),
    ("core.quotePath", "false"),
    ("gc.auto", "0"),
    ("http.receivepack", "true"),
    ("uploadpack.allowFilter", "true"),
    ("uploadpack.allowAnySHA1InWant", "true"),
    ("user.name", "GitHub"),
    ("user.email", "noreply@github.com"),
];

/// A git command that failed.
#[derive(Debug)]
pub(crate) struct GitError(String);

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A commit's data as the API shows it.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: (String, String, String),
    pub(crate) committer: (String, String, String),
    pub(crate) message: String,
}

/// A bare repository.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    path: PathBuf,
}

/// A git command without the machine's settings.
pub(crate) fn command() -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.envs(environment()).stdin(Stdio::null());
    command
}

/// The variables that keep the machine's settings out and [`SETTINGS`] in.
pub(crate) fn environment() -> Vec<(String, String)> {
    let mut variables = vec![
        ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()),
        ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
        ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
    ];
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()));
    }
    variables
}

impl Git {
    /// A bare repository at `to` with the branches and tags of the one at `from`, or an empty one.
    pub(crate) fn create(to: &Path, from: Option<&Path>) -> Result<Self, GitError> {
        let mut init = command();
        init.args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(to);
        succeed(&mut init)?;
        let git = Self { path: to.to_owned() };
        if let Some(from) = from {
            git.borrow_objects(from)?;
            git.fetch_all(from)?;
            git.adopt_head(from);
        }
        Ok(git)
    }

    /// Where the repository is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is there already where it is, instead of copying it: a large repository takes no time.
    fn borrow_objects(&self, from: &Path) -> Result<(), GitError> {
        let objects = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
        let folder = succeed(command().arg("-C").arg(from).args(objects))?;
        let list = self.path.join("objects/info/alternates");
        std::fs::write(&list, folder)
            .map_err(|error| GitError(format!("{}: {error}", list.display())))
    }

    /// The default branch is `main` or `master` where there is one, else the one checked out there.
    fn adopt_head(&self, from: &Path) {
        let branches = self.branches();
        let usual = ["main", "master"].into_iter().find(|name| branches.contains_key(*name));
        let there = Self::open(from).default_branch();
        let name = usual.map_or(there, ToOwned::to_owned);
        let _ = self.run(&["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]);
    }

    /// A repository that is there already.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    fn fetch_all(&self, from: &Path) -> Result<(), GitError> {
        self.fetch(from, &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"])
    }

    /// Takes one branch of another repository.
    pub(crate) fn fetch_branch(&self, from: &Path, name: &str) -> Result<(), GitError> {
        self.fetch(from, &[&format!("+refs/heads/{name}:refs/heads/{name}")])
    }

    /// Takes the objects of one commit of another repository, kept under a ref.
    pub(crate) fn fetch_commit(&self, from: &Path, sha: &str, name: &str) -> Result<(), GitError> {
        self.fetch(from, &[&format!("+{sha}:{name}")])
    }

    fn fetch(&self, from: &Path, what: &[&str]) -> Result<(), GitError> {
        let mut fetch = command();
        fetch.arg("-C").arg(&self.path);
        fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--update-head-ok",
            "--update-shallow",
        ]);
        succeed(fetch.arg(from).args(what)).map(drop)
    }

    /// Runs git here; its standard output.
    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        succeed(command().arg("-C").arg(&self.path).args(arguments))
    }

    fn line(&self, arguments: &[&str]) -> Option<String> {
        let found = self.run(arguments).ok()?;
        let line = text(&found).lines().next()?.to_owned();
        (!line.is_empty()).then_some(line)
    }

    /// The branch that HEAD names.
    pub(crate) fn default_branch(&self) -> String {
        self.line(&["symbolic-ref", "--short", "HEAD"]).unwrap_or_else(|| "main".to_owned())
    }

    /// The commit of a branch, tag, ref or SHA.
    pub(crate) fn resolve(&self, revision: &str) -> Option<String> {
        if revision.is_empty() || revision.contains(['^', '~', ':', '@', ' ', '*', '?']) {
            return None;
        }
        let revision = format!("{revision}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])
    }

    /// Every branch with its commit.
    pub(crate) fn branches(&self) -> BTreeMap<String, String> {
        let format = "--format=%(objectname) %(refname:lstrip=2)";
        let found = self.run(&["for-each-ref", format, "refs/heads"]).unwrap_or_default();
        let pairs = text(&found);
        let pairs = pairs.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(sha, name)| (name.to_owned(), sha.to_owned())).collect()
    }

    /// Points a ref at a commit.
    pub(crate) fn set_ref(&self, name: &str, sha: &str) -> Result<(), GitError> {
        self.run(&["update-ref", name, sha]).map(drop)
    }

    /// Removes a ref.
    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), GitError> {
        self.run(&["update-ref", "-d", name]).map(drop)
    }

    /// The best common ancestor.
    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        self.line(&["merge-base", one, other])
    }

    /// Whether `older` is `newer` or an ancestor of it.
    pub(crate) fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        self.run(&["merge-base", "--is-ancestor", older, newer]).is_ok()
    }

    /// The commits reachable from `to` and not from `from`, oldest first.
    pub(crate) fn commits(&self, from: &str, to: &str) -> Vec<Commit> {
        self.log(&["--reverse", "--topo-order", &format!("{from}..{to}")])
    }

    /// A commit and all before it, newest first.
    pub(crate) fn history(&self, sha: &str) -> Vec<Commit> {
        self.log(&["--max-count=1000", sha])
    }

    /// One commit.
    pub(crate) fn commit(&self, sha: &str) -> Option<Commit> {
        self.log(&["--max-count=1", sha]).pop()
    }

    fn log(&self, selection: &[&str]) -> Vec<Commit> {
        let format =
            "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x00%x01";
        let mut arguments = vec!["log", format];
        arguments.extend(selection);
        let found = self.run(&arguments).unwrap_or_default();
        text(&found).split("\0\u{1}").filter_map(|row| parse_commit(row.trim_start())).collect()
    }

    /// Merges `head` into `base` as GitHub's button does: the merge commit, or nothing on a conflict. Moves no ref.
    pub(crate) fn merge(&self, base: &str, head: &str, message: &str) -> Option<String> {
        let tree = self.line(&["merge-tree", "--write-tree", base, head])?;
        self.line(&["commit-tree", &tree, "-p", base, "-p", head, "-m", message])
    }

    /// Whether `head` merges into `base` without a conflict.
    pub(crate) fn mergeable(&self, base: &str, head: &str) -> bool {
        self.run(&["merge-tree", "--write-tree", base, head]).is_ok()
    }
}

fn parse_commit(row: &str) -> Option<Commit> {
    let fields: Vec<_> = row.split('\0').collect();
    let [sha, tree, parents, an, ae, at, cn, ce, ct, message, ..] = fields[..] else { return None };
    let owned =
        |name: &str, email: &str, at: &str| (name.to_owned(), email.to_owned(), at.to_owned());
    Some(Commit {
        sha: sha.to_owned(),
        tree: tree.to_owned(),
        parents: parents.split_whitespace().map(ToOwned::to_owned).collect(),
        author: owned(an, ae, at),
        committer: owned(cn, ce, ct),
        message: message.trim_end().to_owned(),
    })
}

fn succeed(command: &mut Command) -> Result<Vec<u8>, GitError> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| GitError(format!("git does not start: {error}")))?;
    if status.success() {
        return Ok(stdout);
    }
    let arguments: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    Err(GitError(format!("git {}: {status}: {}", arguments.join(" "), text(&stderr).trim())))
}

/// Bytes of git as text; what is not UTF-8 is replaced, as GitHub does in JSON.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
