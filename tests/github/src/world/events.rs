//! What happens to pull requests when branches move: opened, synchronized, closed, merged; each with its webhook.

use serde_json::{Value, json};

use super::{
    PullKey, World,
    outbox::Event,
    repositories::{Branch, Merged, NewPull, Pull},
    reviews::ReviewComment,
};
use crate::{
    git::{FileDiff, Git, Side},
    json as shape,
};

/// The SHA that stands for no commit.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

impl World {
    /// Opens a pull request.
    ///
    /// # Errors
    /// What is wrong with the branches, in GitHub's words.
    pub(crate) fn open_pull(&mut self, repository: u64, new: NewPull) -> Result<PullKey, String> {
        let (head_repository, head_name) = new.head;
        let (git, head_git) = (self.git(repository), self.git(head_repository));
        let tip = |git: &Git, name: &str| git.resolve(&format!("refs/heads/{name}"));
        let base_sha = tip(&git, &new.base).ok_or("field base is invalid")?;
        let head_sha = tip(&head_git, &head_name).ok_or("field head is invalid")?;
        if head_repository != repository {
            git.fetch_commit(head_git.path(), &head_sha, "refs/verdict/incoming")
                .map_err(|error| error.to_string())?;
        }
        if git.is_ancestor(&head_sha, &base_sha) {
            return Err(format!("No commits between {} and {head_name}", new.base));
        }
        let (owner, head_owner) = (
            self.repositories[&repository].owner.clone(),
            self.repositories[&head_repository].owner.clone(),
        );
        let (id, issue_id, now) = (self.id(), self.id(), self.now());
        self.user(&new.author, "User");
        let found = self.repository_mut(repository);
        found.last_number += 1;
        let number = found.last_number;
        let pull = Pull {
            id,
            issue_id,
            repository,
            number,
            title: new.title,
            body: new.body,
            open: true,
            draft: new.draft,
            author: new.author.clone(),
            base: Branch { repository: Some(repository), owner, name: new.base, sha: base_sha },
            head: Branch {
                repository: Some(head_repository),
                owner: head_owner,
                name: head_name,
                sha: head_sha,
            },
            labels: Vec::new(),
            reviewers: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
            merged: None,
        };
        let _ = git.set_ref(&format!("refs/pull/{number}/head"), &pull.head.sha);
        self.pulls.insert((repository, number), pull);
        self.emit_pull((repository, number), "opened", &new.author, json!({}));
        Ok((repository, number))
    }

    /// Sends a `pull_request` webhook.
    pub(crate) fn emit_pull(
        &mut self,
        key: PullKey,
        action: &'static str,
        sender: &str,
        more: Value,
    ) {
        let pull = self.pull(key).clone();
        let mut body = json!({"number": pull.number, "pull_request": shape::pull(self, &pull)});
        if let Value::Object(more) = more {
            for (name, value) in more {
                shape::add(&mut body, &name, value);
            }
        }
        self.emit(Event {
            name: "pull_request",
            action: Some(action),
            repository: Some(key.0),
            sender: sender.to_owned(),
            body,
            only_app: None,
        });
    }

    /// Finds branches that were pushed, and does what follows for their pull requests.
    pub(crate) fn notice_pushes(&mut self, repository: u64, pusher: &str) {
        self.user(pusher, "User");
        let now = self.git(repository).branches();
        let found = self.repository_mut(repository);
        let before = std::mem::replace(&mut found.branches, now.clone());
        let mut moved: Vec<_> =
            now.iter().filter(|(name, sha)| before.get(*name) != Some(*sha)).collect();
        let gone: Vec<_> = before.keys().filter(|name| !now.contains_key(*name)).cloned().collect();
        moved.retain(|(name, _)| !name.starts_with("gh-readonly-queue/"));
        for (name, sha) in moved {
            let old = before.get(name).map_or(NO_COMMIT, String::as_str);
            self.emit_push(repository, pusher, name, old, sha);
            self.follow_branch(repository, pusher, name, sha);
        }
        for name in gone {
            self.emit_push(repository, pusher, &name, &before[&name], NO_COMMIT);
            for key in self.open_pulls_from(repository, &name) {
                self.close_pull(key, pusher);
            }
        }
    }

    /// Takes over the branches of a repository's source that moved there, and does what follows from them.
    ///
    /// # Errors
    /// What git says where it cannot.
    pub(crate) fn update_repository(
        &mut self,
        repository: u64,
        by: Option<&str>,
    ) -> Result<(), String> {
        let found = self.repository_mut(repository);
        let (git, owner) = (found.git.clone(), found.owner.clone());
        if let Some(source) = found.source.clone() {
            let now = Git::open(&source).branches();
            let before = std::mem::replace(&mut found.source_branches, now.clone());
            for name in now
                .iter()
                .filter(|(name, sha)| before.get(*name) != Some(*sha))
                .map(|(name, _)| name)
            {
                git.fetch_branch(&source, name).map_err(|error| error.to_string())?;
            }
            for name in before.keys().filter(|name| !now.contains_key(*name)) {
                git.delete_ref(&format!("refs/heads/{name}")).map_err(|error| error.to_string())?;
            }
        }
        self.notice_pushes(repository, by.unwrap_or(&owner));
        Ok(())
    }

    fn open_pulls_from(&self, repository: u64, branch: &str) -> Vec<PullKey> {
        let from = |pull: &&Pull| {
            pull.open && pull.head.repository == Some(repository) && pull.head.name == branch
        };
        self.pulls.values().filter(from).map(Pull::key).collect()
    }

    fn follow_branch(&mut self, repository: u64, pusher: &str, branch: &str, sha: &str) {
        for key in self.open_pulls_from(repository, branch) {
            let (git, from) = (self.git(key.0), self.git(repository));
            if key.0 != repository {
                let _ = git.fetch_commit(from.path(), sha, "refs/verdict/incoming");
            }
            self.synchronize(key, pusher, sha);
        }
    }

    fn synchronize(&mut self, key: PullKey, pusher: &str, sha: &str) {
        let git = self.git(key.0);
        let _ = git.set_ref(&format!("refs/pull/{}/head", key.1), sha);
        let base = git.resolve(&format!("refs/heads/{}", self.pull(key).base.name));
        let pull = self.pull_mut(key);
        let before = std::mem::replace(&mut pull.head.sha, sha.to_owned());
        if let Some(base) = base {
            pull.base.sha = base;
        }
        if !git.is_ancestor(&before, sha) && self.moves_reviews {
            for review in self.reviews.values_mut().filter(|review| review.pull == key) {
                review.commit = sha.to_owned();
            }
        }
        self.anchor_comments(key);
        self.emit_pull(key, "synchronize", pusher, json!({"before": before, "after": sha}));
    }

    /// Finds where comments are in the diff of the new head. What is no longer in it is outdated.
    fn anchor_comments(&mut self, key: PullKey) {
        let pull = self.pull(key).clone();
        let (base, head) = (self.merge_base(&pull), pull.head.sha.clone());
        let diff = self.diff(key.0, &base, &head);
        let ids: Vec<_> = self
            .review_comments
            .values()
            .filter(|comment| comment.pull == key)
            .map(|comment| comment.id)
            .collect();
        for id in ids {
            let comment = self.review_comments[&id].clone();
            let since = self.diff(key.0, &comment.original_commit, &head);
            let file = diff.files.iter().find(|file| file.path == comment.original.path);
            let changed = since.files.iter().find(|file| {
                file.previous.as_ref().unwrap_or(&file.path) == &comment.original.path
            });
            if let Some(comment) = self.review_comments.get_mut(&id) {
                place_again(comment, file, changed, &head);
            }
        }
    }

    /// Closes a pull request.
    pub(crate) fn close_pull(&mut self, key: PullKey, by: &str) {
        let now = self.now();
        let pull = self.pull_mut(key);
        (pull.open, pull.closed_at) = (false, Some(now));
        self.emit_pull(key, "closed", by, json!({}));
    }

    /// Opens a closed pull request again.
    pub(crate) fn reopen_pull(&mut self, key: PullKey, by: &str) {
        let pull = self.pull_mut(key);
        (pull.open, pull.closed_at) = (true, None);
        self.emit_pull(key, "reopened", by, json!({}));
    }

    /// Merges a pull request with a merge commit. Nothing is done on a conflict.
    pub(crate) fn merge_pull(&mut self, key: PullKey, by: &str) -> Option<String> {
        let pull = self.pull(key).clone();
        let git = self.git(key.0);
        let branch = format!("refs/heads/{}", pull.base.name);
        let base = git.resolve(&branch)?;
        let message = format!(
            "Merge pull request #{} from {}/{}",
            pull.number, pull.head.owner, pull.head.name
        );
        let sha = git.merge(&base, &pull.head.sha, &message)?;
        git.set_ref(&branch, &sha).ok()?;
        let at = self.now();
        self.pull_mut(key).merged = Some(Merged { sha: sha.clone(), by: by.to_owned(), at });
        self.close_pull(key, by);
        self.notice_pushes(key.0, by);
        Some(sha)
    }

    fn emit_push(
        &mut self,
        repository: u64,
        pusher: &str,
        branch: &str,
        before: &str,
        after: &str,
    ) {
        let git = self.git(repository);
        let (created, deleted) = (before == NO_COMMIT, after == NO_COMMIT);
        let commits = if created || deleted { Vec::new() } else { git.commits(before, after) };
        let commits: Vec<_> = commits.iter().map(shape::push_commit).collect();
        let head_commit = git.commit(after).as_ref().map(shape::push_commit);
        let email = format!("{pusher}@users.noreply.github.com");
        let compare = format!(
            "{}/{}/compare/{before}...{after}",
            self.url,
            self.repositories[&repository].full_name()
        );
        let body = json!({
            "ref": format!("refs/heads/{branch}"), "before": before, "after": after, "created": created,
            "deleted": deleted, "forced": !created && !deleted && !git.is_ancestor(before, after),
            "base_ref": null, "compare": compare, "commits": commits, "head_commit": head_commit,
            "pusher": {"name": pusher, "email": email},
        });
        self.emit(Event {
            name: "push",
            action: None,
            repository: Some(repository),
            sender: pusher.to_owned(),
            body,
            only_app: None,
        });
    }
}

fn place_again(
    comment: &mut ReviewComment,
    file: Option<&FileDiff>,
    changed: Option<&FileDiff>,
    head: &str,
) {
    let original = &comment.original;
    let follow = |side: Side, line: u64| match (side, changed) {
        (Side::Right, Some(changed)) => changed.moved(line),
        _ => Some(line),
    };
    let line = original.line.and_then(|line| follow(original.side, line));
    let place = file.zip(line).and_then(|(file, line)| file.place(original.side, line));
    comment.position = place.map(|place| place.position);
    comment.line = place.and(line);
    let start = original.start.and_then(|(line, side)| follow(side, line));
    comment.start_line = place.and(start);
    if place.is_some() || (original.file && file.is_some()) {
        head.clone_into(&mut comment.commit);
    }
}
