//! The merge queue: groups of one pull request each, on a commit that merges it into its base.

use serde_json::json;

use super::{PullKey, World, outbox::Event};
use crate::json as shape;

impl World {
    /// Puts a pull request in the queue: its merge commit gets a branch, and its checks are asked for.
    ///
    /// The commit, or nothing on a conflict.
    pub(crate) fn enqueue_pull(&mut self, key: PullKey, by: &str) -> Option<String> {
        let pull = self.pull(key).clone();
        let git = self.git(key.0);
        let base = git.resolve(&format!("refs/heads/{}", pull.base.name))?;
        let message = format!("Merge pull request #{} from {}", pull.number, pull.head.name);
        let head = git.merge(&base, &pull.head.sha, &message)?;
        let name = queue_branch(&pull.base.name, pull.number, &base);
        git.set_ref(&name, &head).ok()?;
        self.emit_merge_group(key, &head, "checks_requested", by);
        Some(head)
    }

    /// Takes a group out of the queue.
    pub(crate) fn dequeue_pull(
        &mut self,
        key: PullKey,
        head: &str,
        reason: &'static str,
        by: &str,
    ) {
        let git = self.git(key.0);
        let pull = self.pull(key).clone();
        if let Some(base) = git.commit(head).and_then(|commit| commit.parents.first().cloned()) {
            let _ = git.delete_ref(&queue_branch(&pull.base.name, pull.number, &base));
        }
        let mut body = self.merge_group(key, head);
        shape::add(&mut body, "reason", json!(reason));
        self.emit(Event {
            name: "merge_group",
            action: Some("destroyed"),
            repository: Some(key.0),
            sender: by.to_owned(),
            body,
            only_app: None,
        });
    }

    fn emit_merge_group(&mut self, key: PullKey, head: &str, action: &'static str, by: &str) {
        let body = self.merge_group(key, head);
        let sender = by.to_owned();
        self.emit(Event {
            name: "merge_group",
            action: Some(action),
            repository: Some(key.0),
            sender,
            body,
            only_app: None,
        });
    }

    fn merge_group(&self, key: PullKey, head: &str) -> serde_json::Value {
        let pull = self.pull(key);
        let commit = self.git(key.0).commit(head);
        let base =
            commit.as_ref().and_then(|commit| commit.parents.first().cloned()).unwrap_or_default();
        json!({"merge_group": {
            "head_sha": head,
            "head_ref": queue_branch(&pull.base.name, pull.number, &base),
            "base_sha": base,
            "base_ref": format!("refs/heads/{}", pull.base.name),
            "head_commit": commit.as_ref().map(shape::simple_commit),
        }})
    }
}

fn queue_branch(base: &str, number: u64, base_sha: &str) -> String {
    format!("refs/heads/gh-readonly-queue/{base}/pr-{number}-{base_sha}")
}
