//! A repository, as its owner deals with it.

use std::path::PathBuf;

use super::{Check, PullRequest, PullRequestBuilder, views};
use crate::{
    Role,
    server::Shared,
    world::{
        actors::HookTarget,
        outbox::RepositoryHook,
        repositories::{About, NewRepository},
    },
};

/// A repository.
#[derive(Clone)]
pub struct Repository {
    pub(super) shared: Shared,
    pub(super) id: u64,
}

impl Repository {
    pub(super) fn new(shared: Shared, id: u64) -> Self {
        Self { shared, id }
    }

    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `owner/name`.
    pub fn full_name(&self) -> String {
        self.shared.world().repositories[&self.id].full_name()
    }

    /// The bare repository behind it. What is pushed there by hand is noticed by [`Repository::update`].
    pub fn git_dir(&self) -> PathBuf {
        self.shared.world().git(self.id).path().to_owned()
    }

    /// The commit of a branch.
    pub fn branch(&self, name: &str) -> Option<String> {
        self.shared.world().git(self.id).resolve(&format!("refs/heads/{name}"))
    }

    /// Takes over what moved in the repository it was made from, as if its owner had pushed it: pull requests are
    /// synchronized, closed where their branch is gone, and webhooks sent.
    pub fn update(&self) {
        let updated = self.shared.world().update_repository(self.id, None);
        updated.unwrap_or_else(|error| panic!("{}: {error}", self.full_name()));
    }

    /// As [`Repository::update`], pushed by somebody.
    pub fn update_by(&self, login: &str) {
        let updated = self.shared.world().update_repository(self.id, Some(login));
        updated.unwrap_or_else(|error| panic!("{}: {error}", self.full_name()));
    }

    /// Lets somebody do more in it.
    pub fn collaborator(&self, login: &str, role: Role) {
        let mut world = self.shared.world();
        world.user(login, "User");
        world.repository_mut(self.id).collaborators.insert(login.to_lowercase(), role);
    }

    /// A fork that belongs to somebody, as private as this one.
    pub fn fork(&self, owner: &str) -> Self {
        let mut world = self.shared.world();
        let found = &world.repositories[&self.id];
        let (name, private) = (format!("{owner}/{}", found.name), found.private);
        let source = Some(found.git.path().to_owned());
        world.user(owner, "User");
        let new = NewRepository {
            full_name: &name,
            source,
            private,
            about: About::default(),
            fork_of: Some(self.id),
        };
        let id = world.create_repository(new).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Its commits come from whoever works on it from now on.
        world.repository_mut(id).source = None;
        Self::new(self.shared.clone(), id)
    }

    /// Takes its commits from a repository on disk from now on.
    pub fn follow(&self, source: impl Into<PathBuf>) {
        let mut world = self.shared.world();
        let found = world.repository_mut(self.id);
        (found.source, found.source_branches) = (Some(source.into()), found.branches.clone());
    }

    /// Deletes it. Pull requests from it stay, without a head repository.
    pub fn delete(self) {
        let mut world = self.shared.world();
        world.repositories.remove(&self.id);
        for pull in world.pulls.values_mut().filter(|pull| pull.head.repository == Some(self.id)) {
            pull.head.repository = None;
        }
        world.pulls.retain(|(repository, _), _| *repository != self.id);
    }

    /// A webhook of the repository's own, for events by name or `*`.
    pub fn webhook(&self, url: &str, secret: Option<&str>, events: &[&str]) {
        let mut world = self.shared.world();
        let id = world.id();
        let target =
            HookTarget { url: Some(url.to_owned()), secret: secret.map(ToOwned::to_owned) };
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        world.hooks.insert(id, RepositoryHook { id, repository: self.id, events, target });
    }

    /// A pull request of `head` into `base`, opened by whoever `open`s it.
    pub fn pull_request(&self, head: &str, base: &str) -> PullRequestBuilder {
        PullRequestBuilder::new(self.clone(), head, base)
    }

    /// Opens a pull request of one branch into another, by a contributor named `contributor`.
    pub fn open_pull(&self, head: &str, base: &str) -> PullRequest {
        self.pull_request(head, base).open()
    }

    /// A pull request by its number.
    pub fn pull(&self, number: u64) -> PullRequest {
        assert!(
            self.shared.world().pulls.contains_key(&(self.id, number)),
            "no pull request {number}"
        );
        PullRequest { shared: self.shared.clone(), key: (self.id, number) }
    }

    /// The check runs on a commit, oldest first.
    pub fn checks(&self, sha: &str) -> Vec<Check> {
        let mut world = self.shared.world();
        world.age_checks();
        let on =
            world.checks.values().filter(|run| run.repository == self.id && run.head_sha == sha);
        on.map(views::check).collect()
    }
}
