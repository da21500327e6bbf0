//! Pull requests on a stateful fake of GitHub, reviewed by the real binary over HTTP.

mod awkward;
mod checkouts;
mod checks;
mod clocked;
mod demos;
mod disturbed;
mod examples;
mod golden;
mod history;
mod introducing;
mod limits;
mod paying;
mod publish;
mod ranges;
mod repair;
mod revisited;
mod summary;
mod terminal;
mod triggers;
mod webhooks;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use fake_github::{
    App, Check, FakeGitHub, Level, Limits, Permissions, PullRequest, Repository, Review,
};
use serde_json::json;

use crate::{
    crash::fixture,
    review::support::Repo,
    support::{Done, Machine, eventually},
};

/// A pull request with something to find, and a machine that may review it.
pub struct Place {
    pub github: FakeGitHub,
    pub repository: Repository,
    pub pull: PullRequest,
    pub machine: Machine,
    repo: Repo,
}

impl Place {
    /// `octo/demo#1`, reviewed with the token of the user `reviewer`.
    pub async fn new() -> Self {
        Self::of(fixture::repository()).await
    }

    /// The same of a repository whose last commit is the change.
    async fn of(repo: Repo) -> Self {
        repo.git(["branch", "feature"]);
        repo.git(["reset", "--quiet", "--hard", "HEAD~1"]);
        let github = FakeGitHub::start().await;
        github.limit(Limits::none());
        let repository = github.repository("octo/demo", repo.path());
        repository.collaborator("reviewer", fake_github::Role::Write);
        let pull = repository.open_pull("feature", "main");
        let machine = fast(&github).set("github.token", &github.token("reviewer"));
        Self { github, repository, pull, machine, repo }
    }

    /// The same, reviewed by an App.
    pub async fn with_app() -> Self {
        Self::new().await.reviewed_by_app()
    }

    /// The same of a file with so many findings, all of which are to be shown.
    pub async fn with_app_and_findings(count: usize) -> Self {
        let repo = Repo::new();
        let settings = format!("[review]\nmax_findings = {count}\n");
        repo.write(".verdict.toml", settings).write("a.js", "f();\n").commit("one");
        let line = "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';\n";
        repo.write("a.js", line.repeat(count)).commit("two");
        Self::of(repo).await.reviewed_by_app()
    }

    /// The same of a change about which there is nothing to say.
    pub async fn with_app_and_nothing_to_say() -> Self {
        let repo = Repo::new();
        repo.write("a.py", "x = 1\n").commit("one");
        repo.write("a.py", "x = 2\n").commit("two");
        Self::of(repo).await.reviewed_by_app()
    }

    /// The same of a change that touches nothing anybody reads.
    pub async fn with_app_and_nothing_to_read() -> Self {
        let repo = Repo::new();
        repo.write("a.py", "x = 1\n").commit("one");
        repo.write("b.bin", b"\0\x01\x02").commit("two");
        Self::of(repo).await.reviewed_by_app()
    }

    fn reviewed_by_app(self) -> Self {
        let app = self.github.app("verdict", permissions(), &["pull_request"]);
        app.install("octo");
        let machine = acting_as(&app, fast(&self.github));
        Self { machine, ..self }
    }

    /// Reviews it in the foreground, apart from reviews with another word.
    pub fn review(&self, fresh: &str) -> Done {
        let input = json!({ "github": "octo/demo#1", "fresh": fresh }).to_string();
        let file = self.machine.folder().join("input.json");
        std::fs::write(&file, input).unwrap();
        self.machine.run(&["run", "review", "--input", &file.display().to_string()])
    }

    /// Asks the workers for a review.
    pub fn enqueue(&self, fresh: &str) {
        self.enqueue_pull(self.pull.number(), fresh);
    }

    /// The same of another pull request.
    pub fn enqueue_pull(&self, number: u64, fresh: &str) {
        let pull = format!("octo/demo#{number}");
        let job = json!({ "workflow": "review", "input": { "github": pull, "fresh": fresh } });
        let file = self.machine.text("job.json", job.to_string());
        let done = self.machine.run(&["enqueue", &file]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }

    /// Waits until a check run of the head has this title; answers all of them.
    pub async fn check_shows(&self, title: &str) -> Vec<Check> {
        eventually(title, async || {
            let checks = self.pull.checks();
            checks.iter().any(|check| check.title.as_deref() == Some(title)).then_some(checks)
        })
        .await
    }

    /// A commit on the pull request's branch.
    pub fn push(&self, path: &str, text: &str) {
        self.push_to("feature", path, text);
    }

    /// A commit on another branch.
    pub fn push_to(&self, branch: &str, path: &str, text: &str) {
        self.repo.git(["checkout", "--quiet", branch]);
        self.repo.write(path, text).commit("more");
        self.repository.update();
    }

    /// Another branch with the change, on GitHub too.
    pub fn branch(&self, name: &str) {
        self.repo.git(["branch", name, "feature"]);
        self.repository.update();
    }

    /// The same commits on another base.
    pub fn rebase(&self) {
        self.repo.git(["checkout", "--quiet", "main"]);
        self.repo.write("elsewhere.txt", "x\n").commit("on main");
        self.repo.git(["checkout", "--quiet", "feature"]);
        self.repo.git(["rebase", "--quiet", "main"]);
        self.repository.update();
    }

    /// No request was refused as malformed.
    pub fn nothing_was_refused(&self) {
        let refused: Vec<_> = self
            .github
            .requests()
            .into_iter()
            .filter(|request| request.status == Some(422))
            .collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
}

/// A machine that spaces no writes, waits little for lost answers, and tries again soon.
fn fast(github: &FakeGitHub) -> Machine {
    Machine::new()
        .set("github.url", &github.url())
        .set("github.write_interval", "0s")
        // Only who tests it looks for what was missed.
        .set("github.repair_interval", "0s")
        .set("github.settle", "100ms")
        .set("worker.backoff", "200ms")
        // However long a fault is on a busy machine, it is transient.
        .set("worker.attempts", "1000")
}

/// The machine with the key of an App.
fn acting_as(app: &App, machine: Machine) -> Machine {
    let key = machine.text("app.pem", app.private_key());
    machine.set("github.app_id", &app.id().to_string()).set("github.private_key_path", &key)
}

/// What verdict's App asks for.
fn permissions() -> Permissions {
    let write = ["pull_requests", "checks", "issues"].map(|name| (name.to_owned(), Level::Write));
    let read = ["metadata", "contents"].map(|name| (name.to_owned(), Level::Read));
    BTreeMap::from_iter(write.into_iter().chain(read))
}

/// The paths that a commit changes since it left another, as git says.
fn changed(repo: &Repo, head: &str, base: &str) -> BTreeSet<String> {
    let range = format!("{base}...{head}");
    let paths = repo.git(["diff", "--name-only", "--find-renames", "-z", &range]);
    paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// How many reviews of a pull request are of this head, by their markers.
fn reviews_of(pull: &PullRequest, head: &str) -> usize {
    let marked = |body: &str| {
        body.starts_with("<!-- verdict review of ") && body.lines().next().unwrap().contains(head)
    };
    pull.reviews().iter().filter(|review| marked(&review.body)).count()
}

/// One review of the pull request's head, at most one of each head before it, one summary of the head, nothing said
/// twice, nothing left open.
fn one_of_each(repository: &Repository, pull: &PullRequest, heads: &[String], name: &impl Debug) {
    one_review(repository, pull, heads, name);
    let comments = pull.comments();
    let [summary] = &comments[..] else { panic!("{name:?}: {comments:#?}") };
    let reviewed = format!("<!-- reviewed {}:", pull.head());
    assert!(summary.body.contains(&reviewed), "{name:?}: {summary:?}");
}

/// The same without the summary.
fn one_review(repository: &Repository, pull: &PullRequest, heads: &[String], name: &impl Debug) {
    let head = pull.head();
    assert_eq!(reviews_of(pull, &head), 1, "{name:?}: reviews of the head: {:#?}", pull.reviews());
    for head in heads {
        assert!(reviews_of(pull, head) <= 1, "{name:?}: of {head}: {:#?}", pull.reviews());
    }
    let reviews = pull.reviews();
    let earlier = |review: &&Review| {
        review.body.starts_with("<!-- verdict review of ") && !review.body.contains(&head)
    };
    for earlier in reviews.iter().filter(earlier) {
        assert!(earlier.body.contains("\n**Outdated.** "), "{name:?}: stale: {earlier:#?}");
    }
    let drafts = reviews.iter().filter(|review| review.state == "PENDING").count();
    assert_eq!(drafts, 0, "{name:?}");
    let on_lines = pull.review_comments();
    let said: BTreeSet<_> = on_lines.iter().map(|comment| comment.body.lines().next()).collect();
    assert_eq!(said.len(), on_lines.len(), "{name:?}: said twice: {on_lines:#?}");
    for head in heads {
        let checks = repository.checks(head);
        let open = checks.iter().filter(|check| check.status != "completed").count();
        assert_eq!(open, 0, "{name:?}: a check is open: {checks:#?}");
    }
}
