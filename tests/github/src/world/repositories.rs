//! Repositories and pull requests.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use super::{PullKey, World};
use crate::git::{Git, GitError};

/// What a person may do in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees it.
    Read,
    /// Labels and closes.
    Triage,
    /// Pushes.
    Write,
    /// Pushes and changes some settings.
    Maintain,
    /// Everything.
    Admin,
}

impl Role {
    /// The role's own name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The older name with three values.
    pub(crate) fn permission(self) -> &'static str {
        match self {
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// What people search repositories by.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct About {
    /// One sentence.
    pub description: Option<String>,
    /// The main language.
    pub language: Option<String>,
    /// How many people starred it.
    pub stars: u64,
    /// How many forks it has.
    pub forks: u64,
    /// Its topics.
    pub topics: Vec<String>,
    /// Whether it is read-only.
    pub archived: bool,
}

/// A repository.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) private: bool,
    pub(crate) git: Git,
    /// The repository it was made from, whose commits `update` takes over.
    pub(crate) source: Option<PathBuf>,
    /// Each branch of the source when its commits were last taken over.
    pub(crate) source_branches: BTreeMap<String, String>,
    pub(crate) fork_of: Option<u64>,
    pub(crate) about: About,
    pub(crate) collaborators: BTreeMap<String, Role>,
    pub(crate) labels: BTreeMap<String, u64>,
    /// Each branch with its commit when the repository was last looked through for pushes.
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) last_number: u64,
    pub(crate) created_at: Timestamp,
    pub(crate) pushed_at: Timestamp,
}

impl Repository {
    /// `owner/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// One end of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// Nothing once the repository is gone.
    pub(crate) repository: Option<u64>,
    /// The owner, which stays known.
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) sha: String,
}

/// A pull request.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) issue_id: u64,
    pub(crate) repository: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) open: bool,
    pub(crate) draft: bool,
    pub(crate) author: String,
    pub(crate) base: Branch,
    pub(crate) head: Branch,
    pub(crate) labels: Vec<String>,
    pub(crate) reviewers: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) merged: Option<Merged>,
}

impl Pull {
    pub(crate) fn key(&self) -> PullKey {
        (self.repository, self.number)
    }
}

/// How a pull request ended.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) sha: String,
    pub(crate) by: String,
    pub(crate) at: Timestamp,
}

/// What a new pull request is made of.
pub(crate) struct NewPull {
    pub(crate) head: (u64, String),
    pub(crate) base: String,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) draft: bool,
    pub(crate) author: String,
}

/// A new repository: its full name, where its commits come from, and whether it is private.
pub(crate) struct NewRepository<'a> {
    pub(crate) full_name: &'a str,
    pub(crate) source: Option<PathBuf>,
    pub(crate) private: bool,
    pub(crate) about: About,
    pub(crate) fork_of: Option<u64>,
}

impl World {
    /// Makes a repository with the commits of its source.
    pub(crate) fn create_repository(&mut self, new: NewRepository<'_>) -> Result<u64, GitError> {
        let (owner, name) = new.full_name.split_once('/').unwrap_or(("octo", new.full_name));
        self.user(owner, "Organization");
        let (id, now) = (self.id(), self.now());
        let git = Git::create(&self.folder.join(format!("{id}.git")), new.source.as_deref())?;
        let branches = git.branches();
        let repository = Repository {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            private: new.private,
            git,
            source: new.source,
            source_branches: branches.clone(),
            fork_of: new.fork_of,
            about: new.about,
            collaborators: BTreeMap::new(),
            labels: BTreeMap::new(),
            branches,
            last_number: 0,
            created_at: now,
            pushed_at: now,
        };
        self.repositories.insert(id, repository);
        Ok(id)
    }

    /// The repository of an owner and a name, upper or lower case.
    pub(crate) fn find_repository(&self, owner: &str, name: &str) -> Option<u64> {
        let same = |repository: &&Repository| {
            repository.owner.eq_ignore_ascii_case(owner)
                && repository.name.eq_ignore_ascii_case(name)
        };
        self.repositories.values().find(same).map(|repository| repository.id)
    }

    pub(crate) fn repository_mut(&mut self, id: u64) -> &mut Repository {
        self.repositories.get_mut(&id).unwrap_or_else(|| panic!("repository {id} is gone"))
    }

    pub(crate) fn pull(&self, key: PullKey) -> &Pull {
        &self.pulls[&key]
    }

    /// A pull request to be changed: its `updated_at` becomes now.
    pub(crate) fn pull_mut(&mut self, key: PullKey) -> &mut Pull {
        let now = self.now();
        let pull =
            self.pulls.get_mut(&key).unwrap_or_else(|| panic!("pull request {key:?} is gone"));
        pull.updated_at = now;
        pull
    }

    /// The commit that a pull request's diff starts from.
    pub(crate) fn merge_base(&self, pull: &Pull) -> String {
        let git = self.git(pull.repository);
        git.merge_base(&pull.base.sha, &pull.head.sha).unwrap_or_else(|| pull.base.sha.clone())
    }

    /// Whether a commit is one of a pull request's.
    pub(crate) fn is_commit_of(&self, pull: &Pull, sha: &str) -> bool {
        let git = self.git(pull.repository);
        git.is_ancestor(sha, &pull.head.sha) && !git.is_ancestor(sha, &pull.base.sha)
    }

    /// A repository's id of a label, which is made where there is none.
    pub(crate) fn label(&mut self, repository: u64, name: &str) -> u64 {
        if let Some(id) = self.repositories[&repository].labels.get(name) {
            return *id;
        }
        let id = self.id();
        self.repository_mut(repository).labels.insert(name.to_owned(), id);
        id
    }

    /// What a person may do in a repository; nothing for a stranger to a private one.
    pub(crate) fn role(&self, repository: u64, login: &str) -> Option<Role> {
        let repository = self.repositories.get(&repository)?;
        if repository.owner.eq_ignore_ascii_case(login) {
            return Some(Role::Admin);
        }
        let known = repository.collaborators.get(&login.to_lowercase()).copied();
        known.or((!repository.private).then_some(Role::Read))
    }
}
