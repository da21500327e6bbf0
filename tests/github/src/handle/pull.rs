//! A pull request, as people deal with it.

use serde_json::json;

use super::{Check, Comment, IssueComment, Repository, Review, views};
use crate::{
    api::review_rules,
    json as shape,
    server::Shared,
    world::{
        PullKey,
        repositories::{NewPull, Pull},
        reviews::{Reaction, ReviewState, Subject},
    },
};

/// A pull request about to be opened.
pub struct PullRequestBuilder {
    repository: Repository,
    head: (u64, String),
    base: String,
    title: String,
    body: Option<String>,
    draft: bool,
    author: String,
}

impl PullRequestBuilder {
    pub(super) fn new(repository: Repository, head: &str, base: &str) -> Self {
        let title = format!("Change {head}");
        let (head, base) = ((repository.id, head.to_owned()), base.to_owned());
        Self {
            repository,
            head,
            base,
            title,
            body: None,
            draft: false,
            author: "contributor".to_owned(),
        }
    }

    /// From a branch of a fork.
    #[must_use]
    pub fn from(mut self, fork: &Repository) -> Self {
        self.head.0 = fork.id;
        self
    }

    /// By somebody.
    #[must_use]
    pub fn by(mut self, login: &str) -> Self {
        login.clone_into(&mut self.author);
        self
    }

    /// With a title and a description.
    #[must_use]
    pub fn titled(mut self, title: &str, body: &str) -> Self {
        (self.title, self.body) = (title.to_owned(), Some(body.to_owned()));
        self
    }

    /// As a draft.
    #[must_use]
    pub fn draft(mut self) -> Self {
        self.draft = true;
        self
    }

    /// Opens it.
    pub fn open(self) -> PullRequest {
        let Self { repository, head, base, title, body, draft, author } = self;
        let new = NewPull { head, base, title, body, draft, author };
        let key = repository.shared.world().open_pull(repository.id, new);
        let key = key.unwrap_or_else(|error| panic!("the pull request cannot be opened: {error}"));
        PullRequest { shared: repository.shared, key }
    }
}

/// A pull request.
#[derive(Clone)]
pub struct PullRequest {
    pub(super) shared: Shared,
    pub(super) key: PullKey,
}

/// A group in the merge queue.
pub struct MergeGroup {
    pull: PullRequest,
    /// The commit that the checks are asked for.
    pub head_sha: String,
}

impl MergeGroup {
    /// The check runs on its commit.
    pub fn checks(&self) -> Vec<Check> {
        Repository::new(self.pull.shared.clone(), self.pull.key.0).checks(&self.head_sha)
    }

    /// Takes it out of the queue: `merged`, `invalidated` or `dequeued`.
    pub fn destroy(self, reason: &'static str) {
        self.pull.shared.world().dequeue_pull(self.pull.key, &self.head_sha, reason, "octo");
    }
}

impl PullRequest {
    fn data(&self) -> Pull {
        self.shared.world().pull(self.key).clone()
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.key.1
    }

    /// The commit at its head.
    pub fn head(&self) -> String {
        self.data().head.sha
    }

    /// The commit that its base branch had when it was opened or last pushed to.
    pub fn base(&self) -> String {
        self.data().base.sha
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.data().open
    }

    /// Its labels.
    pub fn labels(&self) -> Vec<String> {
        self.data().labels
    }

    /// Every review on it, drafts of anybody among them, oldest first.
    pub fn reviews(&self) -> Vec<Review> {
        let world = self.shared.world();
        let on = world.reviews.values().filter(|review| review.pull == self.key);
        on.map(|review| views::review(&world, review)).collect()
    }

    /// Every submitted comment on its lines, oldest first.
    pub fn review_comments(&self) -> Vec<Comment> {
        let world = self.shared.world();
        world
            .comments_of_pull(self.key)
            .iter()
            .map(|id| views::comment(&world, &world.review_comments[id]))
            .collect()
    }

    /// Every comment below it, oldest first.
    pub fn comments(&self) -> Vec<IssueComment> {
        let world = self.shared.world();
        let on = world.issue_comments.values().filter(|comment| comment.pull == self.key);
        on.map(views::issue_comment).collect()
    }

    /// The check runs on its head, oldest first.
    pub fn checks(&self) -> Vec<Check> {
        let head = self.head();
        Repository::new(self.shared.clone(), self.key.0).checks(&head)
    }

    /// Its author closes it.
    pub fn close(&self) {
        let author = self.data().author;
        self.shared.world().close_pull(self.key, &author);
    }

    /// Its author opens it again.
    pub fn reopen(&self) {
        let author = self.data().author;
        self.shared.world().reopen_pull(self.key, &author);
    }

    /// The owner merges it. The merge commit.
    pub fn merge(&self) -> String {
        let merged = self.shared.world().merge_pull(self.key, "octo");
        merged.unwrap_or_else(|| panic!("pull request {} does not merge", self.key.1))
    }

    /// The owner puts it in the merge queue.
    pub fn enqueue(&self) -> MergeGroup {
        let head = self.shared.world().enqueue_pull(self.key, "octo");
        let head_sha = head.unwrap_or_else(|| panic!("pull request {} does not merge", self.key.1));
        MergeGroup { pull: self.clone(), head_sha }
    }

    /// Its author makes a draft of it, or makes it ready.
    pub fn set_draft(&self, draft: bool) {
        let author = self.data().author;
        self.shared.world().set_draft(self.key, draft, &author);
    }

    /// Somebody changes its title.
    pub fn retitle(&self, title: &str, by: &str) {
        let mut world = self.shared.world();
        let before = std::mem::replace(&mut world.pull_mut(self.key).title, title.to_owned());
        world.emit_pull(self.key, "edited", by, json!({"changes": {"title": {"from": before}}}));
    }

    /// Somebody puts a label on it.
    pub fn label(&self, name: &str, by: &str) {
        self.shared.world().add_label(self.key, name, by);
    }

    /// Somebody takes a label off it.
    pub fn unlabel(&self, name: &str, by: &str) {
        self.shared.world().remove_label(self.key, name, by);
    }

    /// Somebody asks for a review.
    pub fn request_review(&self, reviewer: &str, by: &str) {
        self.shared.world().request_review(self.key, reviewer, by);
    }

    /// Somebody writes a comment below it. The comment's id.
    pub fn comment(&self, login: &str, body: &str) -> u64 {
        self.shared.world().write_issue_comment(self.key, login, None, body.to_owned())
    }

    /// Somebody reviews it, with one comment on a line of the new side. The review's id.
    pub fn review(&self, login: &str, body: &str, on: Option<(&str, u64, &str)>) -> u64 {
        self.write_review(login, body, on, ReviewState::Commented)
    }

    /// Somebody leaves a draft of a review on it. The review's id.
    pub fn pending_review(&self, login: &str, body: &str, on: Option<(&str, u64, &str)>) -> u64 {
        self.write_review(login, body, on, ReviewState::Pending)
    }

    fn write_review(
        &self,
        login: &str,
        body: &str,
        on: Option<(&str, u64, &str)>,
        state: ReviewState,
    ) -> u64 {
        let mut world = self.shared.world();
        let pull = world.pull(self.key).clone();
        let base = world.merge_base(&pull);
        let diff = world.diff(self.key.0, &base, &pull.head.sha);
        let id = world.write_review(&pull, login, body.to_owned(), state, &pull.head.sha);
        if let Some((path, line, text)) = on {
            let anchor = review_rules::anchor(&diff, &json!({"path": path, "line": line}));
            let anchor = anchor.unwrap_or_else(|error| panic!("{path}:{line}: {error}"));
            world.write_review_comment(id, login, text.to_owned(), anchor, None);
        }
        if state != ReviewState::Pending {
            world.emit_submitted(id);
        }
        id
    }

    /// Somebody answers a comment on a line. The reply's id.
    pub fn reply(&self, login: &str, comment: u64, body: &str) -> u64 {
        let mut world = self.shared.world();
        let first = world.review_comments[&comment].clone();
        let pull = world.pull(self.key).clone();
        let review = world.write_review(
            &pull,
            login,
            String::new(),
            ReviewState::Commented,
            &first.original_commit,
        );
        let thread = first.thread();
        let id = world.write_review_comment(
            review,
            login,
            body.to_owned(),
            first.original,
            Some(thread),
        );
        world.emit_submitted(review);
        id
    }

    /// Somebody resolves the thread of a comment.
    pub fn resolve(&self, login: &str, comment: u64) {
        let mut world = self.shared.world();
        let first = world.review_comments[&comment].thread();
        world.resolve_thread(first, Some(login), login);
    }

    /// Somebody reacts to a comment on a line or below: `+1`, `-1`, `eyes`, …
    pub fn react(&self, login: &str, comment: u64, content: &str) {
        let mut world = self.shared.world();
        world.user(login, "User");
        let below = world.issue_comments.contains_key(&comment);
        let subject =
            if below { Subject::IssueComment(comment) } else { Subject::ReviewComment(comment) };
        let (id, created_at) = (world.id(), world.now());
        let (author, content) = (login.to_owned(), content.to_owned());
        world.reactions.insert(id, Reaction { id, subject, author, content, created_at });
    }

    /// The reactions to a comment: who, and what.
    pub fn reactions(&self, comment: u64) -> Vec<(String, String)> {
        let world = self.shared.world();
        let below = world.issue_comments.contains_key(&comment);
        let subject =
            if below { Subject::IssueComment(comment) } else { Subject::ReviewComment(comment) };
        let on = world.reactions_on(subject).into_iter();
        on.map(|reaction| (reaction.author.clone(), reaction.content.clone())).collect()
    }

    /// Somebody presses "Re-run" on a check run.
    pub fn rerequest_check(&self, check: u64) {
        let mut world = self.shared.world();
        let run = world.checks[&check].clone();
        world.emit_check_run(&run, "rerequested", json!({}));
    }

    /// Somebody presses a button of a check run.
    pub fn press_button(&self, check: u64, identifier: &str) {
        let mut world = self.shared.world();
        let run = world.checks[&check].clone();
        let offered = run.actions.iter().any(|action| action["identifier"] == identifier);
        assert!(offered, "the check run {check} has no button {identifier}");
        let mut more = json!({});
        shape::add(&mut more, "requested_action", json!({"identifier": identifier}));
        world.emit_check_run(&run, "requested_action", more);
    }
}
