//! Real pull requests, from a webhook over a queue and two workers to a published review, on two stacks.
//!
//! `VERDICT_TEST_RANGES=FILE` names them, a line each: the folder of a clone or bare mirror, base, head. Further
//! heads are pushed, by force if they do not descend from the one before, each when that one is reviewed. `#` begins a
//! comment. The folders are only read, and nothing of them is copied. Without the variable there are three of a small
//! repository: one plain, one stacked on it, one that is pushed to by force.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use fake_github::{App, FakeGitHub, Limits, LoggedRequest, PullRequest, Repository};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::Instant;
use verdict::workflows::review::{
    ReviewState,
    report::{self, Checked},
};

use super::{acting_as, changed, fast, one_of_each, permissions, reviews_of};
use crate::{
    crash::fixture,
    review::support::{Repo, git_in},
    server::{serve, stop},
    support::{Broker, Database, Emulator, Firestore, Machine, Process, eventually, within},
};

/// Pull requests that are open and not yet reviewed, at most.
const LANES: usize = 6;

/// Workers, each a process.
const WORKERS: usize = 2;

/// How long the review of one head may take on a busy machine, behind those of the other lanes.
const LONGEST: Duration = Duration::from_secs(1_800);

/// A pull request to be.
struct Range {
    folder: PathBuf,
    base: String,
    heads: Vec<String>,
}

impl Range {
    /// The ranges of a list, their revisions resolved.
    fn parse(list: &str) -> Vec<Self> {
        let lines = list.lines().map(|line| line.split('#').next().unwrap().trim());
        lines.filter(|line| !line.is_empty()).map(Self::of).collect()
    }

    fn of(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let folder = PathBuf::from(words.next().unwrap());
        let mut commits = words.map(|revision| resolve(&folder, revision)).collect::<Vec<_>>();
        assert!(commits.len() >= 2, "no `FOLDER BASE HEAD`: {line}");
        let base = commits.remove(0);
        Self { folder, base, heads: commits }
    }

    fn all() -> (Option<Repo>, Vec<Self>) {
        match std::env::var_os("VERDICT_TEST_RANGES") {
            Some(file) => (None, Self::parse(&fs::read_to_string(file).unwrap())),
            None => {
                let (repo, list) = built_in();
                (Some(repo), Self::parse(&list))
            }
        }
    }
}

fn resolve(folder: &Path, revision: &str) -> String {
    git(folder, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")])
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = git_in(folder, args);
    assert!(output.status.success(), "{}: {output:?}", folder.display());
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository, and ranges of it.
fn built_in() -> (Repo, String) {
    let repo = fixture::repository();
    repo.write("e.js", "function h() { debugger; }\n").commit("three");
    repo.git(["branch", "stacked"]);
    repo.git(["reset", "--quiet", "--hard", "HEAD~2"]);
    repo.write("a.py", "import os\ndef f(path):\n    os.system(f'ls {path}')\n").commit("instead");
    let folder = repo.path().display().to_string();
    let list = format!(
        "# folder base head [head…]\n{folder} main~1 stacked~1\n{folder} stacked~1 stacked\n\
         {folder}\tmain~1\tstacked~1\tmain # by force\n"
    );
    (repo, list)
}

/// A queue and a store.
enum Stack {
    Rabbit(Broker, Database),
    Google(Emulator, Firestore),
}

impl Stack {
    fn name(&self) -> &'static str {
        match self {
            Self::Rabbit(..) => "RabbitMQ and PostgreSQL",
            Self::Google(..) => "Pub/Sub and Firestore (emulators)",
        }
    }

    fn under(&self, machine: Machine) -> Machine {
        match self {
            Self::Rabbit(broker, database) => machine
                .set("queue.url", &format!("{}?queue=verdict", broker.url()))
                .set("store.url", &database.url()),
            Self::Google(emulator, firestore) => machine
                .set("queue.url", &format!("pubsub://{}/verdict?topic=verdict", emulator.project()))
                .set("queue.pubsub.emulator", emulator.address())
                .set("store.url", &format!("firestore://{}/(default)", firestore.project()))
                .with_variable("FIRESTORE_EMULATOR_HOST", firestore.address()),
        }
    }

    async fn finish(self) {
        if let Self::Rabbit(broker, database) = self {
            broker.finish().await;
            database.finish().await;
        }
    }
}

/// A repository on the fake GitHub, and one on disk that borrows the objects of a folder.
struct Source {
    repository: Repository,
    repo: Repo,
}

impl Source {
    /// With a branch for the base and one for the first head of each of these.
    fn new(github: &FakeGitHub, folder: &Path, ranges: &[(usize, &Range)]) -> Self {
        let repo = Repo::new();
        let objects = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
        repo.write(".git/objects/info/alternates", git(folder, &objects) + "\n");
        repo.git(["update-ref", "refs/heads/main", &ranges[0].1.base]);
        for (number, range) in ranges {
            repo.git(["update-ref", &format!("refs/heads/base{number}"), &range.base]);
            repo.git(["update-ref", &format!("refs/heads/head{number}"), &range.heads[0]]);
        }
        let repository = github.repository(&name_of(folder), repo.path());
        Self { repository, repo }
    }

    fn push(&self, branch: &str, commit: &str) {
        self.repo.git(["update-ref", &format!("refs/heads/{branch}"), commit]);
        self.repository.update();
    }
}

/// A name on GitHub after the folder.
fn name_of(folder: &Path) -> String {
    let folder = fs::canonicalize(folder).unwrap();
    let mut parts = folder.iter().map(|part| part.to_str().unwrap());
    let named = parts.rfind(|part| ![".git", "repo"].contains(part)).unwrap();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let named = named.trim_start_matches('.').trim_end_matches(".git");
    format!("octo/{}", named.chars().map(plain).collect::<String>())
}

/// A pull request whose heads were all reviewed.
struct Reviewed<'s> {
    source: &'s Source,
    pull: PullRequest,
    range: &'s Range,
    /// How long each head took, from the webhook to the end of its check.
    seconds: Vec<f64>,
}

impl Reviewed<'_> {
    fn name(&self) -> String {
        format!("{}#{}", self.source.repository.full_name(), self.pull.number())
    }
}

async fn review<'s>(source: &'s Source, number: usize, range: &'s Range) -> Reviewed<'s> {
    let branch = format!("head{number}");
    let mut began = Instant::now();
    let pull = source.repository.open_pull(&branch, &format!("base{number}"));
    let mut seconds = Vec::new();
    for (nth, head) in range.heads.iter().enumerate() {
        if nth > 0 {
            began = Instant::now();
            source.push(&branch, head);
        }
        let what = format!("{head} of {} is reviewed", source.repository.full_name());
        within(LONGEST, &what, async || is_published(&source.repository, &pull, head)).await;
        seconds.push(began.elapsed().as_secs_f64());
    }
    Reviewed { source, pull, range, seconds }
}

/// There is a review of the head, a summary, and no open check. Another pull request may have the same head.
fn is_published(repository: &Repository, pull: &PullRequest, head: &str) -> Option<()> {
    let reviewed = format!("<!-- reviewed {head}:");
    let summary = pull.comments().iter().any(|comment| comment.body.contains(&reviewed));
    let ended = repository.checks(head).iter().all(|check| check.status == "completed");
    (reviews_of(pull, head) > 0 && summary && ended).then_some(())
}

/// A gateway and workers, and the App they act as.
struct Service {
    machine: Machine,
    app: App,
    processes: Vec<Process>,
}

impl Service {
    async fn start(github: &FakeGitHub, stack: &Stack) -> Self {
        let app = github.app("verdict", permissions(), &["pull_request"]);
        app.install("octo");
        let machine = acting_as(&app, stack.under(fast(github)))
            .set("github.webhook_secret", "secret")
            .set("worker.quiet", "0s")
            // A busy machine is no dead worker.
            .set("worker.lease", "30s")
            .set("worker.sweep", "1s")
            .set("worker.sweep_margin", "2s");
        let (gateway, at) = serve(&machine, "gateway").await;
        app.webhook(&format!("http://{at}/webhooks/github"), "secret");
        let mut processes = vec![gateway];
        for _ in 0..WORKERS {
            processes.push(serve(&machine, "worker").await.0);
        }
        Self { machine, app, processes }
    }

    fn listed(&self, args: &[&str]) -> Vec<Value> {
        let done = self.machine.run(&[&["runs", "list", "--format", "json"], args].concat());
        done.json().as_array().unwrap().clone()
    }

    /// What each run came to, by the pull request and the head, once all have ended.
    async fn states(&self) -> BTreeMap<(String, String), ReviewState> {
        eventually("every run has ended", async || {
            self.listed(&["--status", "queued,running,parked"]).is_empty().then_some(())
        })
        .await;
        let letters = self.machine.run(&["dlq", "list", "--format", "json"]).json();
        assert_eq!(letters, serde_json::json!([]));
        // A push may come between the review and the end of its run.
        let states = self.listed(&["--status", "completed,superseded"]).into_iter().map(|run| {
            let id = run["id"].as_str().unwrap();
            let shown = self.machine.run(&["runs", "show", id, "--format", "json"]).json();
            let state: ReviewState = serde_json::from_value(shown["state"].clone()).unwrap();
            ((state.target.repo.clone(), state.target.head.clone()), state)
        });
        states.collect()
    }

    async fn stop(self) {
        for process in self.processes {
            stop(process).await;
        }
    }
}

/// What is added up, over all heads.
#[derive(Default)]
struct Figures {
    heads: usize,
    files: usize,
    lines: u64,
    findings: usize,
    comments: usize,
    reviews: usize,
    /// Files that changed and are not in the coverage, or the other way round.
    unaccounted: Vec<String>,
    covered: BTreeMap<Checked, usize>,
}

impl Figures {
    /// Prints a line for each head.
    fn add(&mut self, one: &Reviewed, states: &BTreeMap<(String, String), ReviewState>) {
        let (name, Range { base, heads, .. }) = (one.name(), one.range);
        for (head, seconds) in heads.iter().zip(&one.seconds) {
            let state = states.get(&(name.clone(), head.clone()));
            let state = state.unwrap_or_else(|| panic!("{name}: no run of {head}"));
            let coverage = report::coverage(state);
            let paths = coverage.iter().map(|row| row.path.clone()).collect();
            let changed = changed(&one.source.repo, head, base);
            let differs = changed.symmetric_difference(&paths);
            self.unaccounted.extend(differs.map(|path| format!("{name} at {head}: {path}")));
            for row in &coverage {
                *self.covered.entry(row.status).or_default() += 1;
            }
            let lines = lines(&one.source.repo, head, base);
            let findings = report::findings(state).len();
            let reviews = one.pull.reviews().into_iter();
            let comments = reviews
                .filter(|review| review.body.lines().next().unwrap().contains(head.as_str()))
                .map(|review| review.comments.len())
                .sum::<usize>();
            println!(
                "{name} {head:.12}: {} files, {lines} lines, {findings} findings, {comments} on lines, {seconds:.1} s",
                changed.len()
            );
            self.heads += 1;
            self.files += changed.len();
            self.lines += lines;
            self.findings += findings;
            self.comments += comments;
            self.reviews += reviews_of(&one.pull, head);
        }
    }
}

/// How many lines a change adds and removes.
fn lines(repo: &Repo, head: &str, base: &str) -> u64 {
    let rows = repo.git(["diff", "--numstat", "--find-renames", &format!("{base}...{head}")]);
    let numbers = rows.lines().flat_map(|row| row.split('\t').take(2));
    numbers.map(|number| number.parse::<u64>().unwrap_or(0)).sum()
}

/// Requests that were refused, or failed: how many with which status, where.
fn refused(requests: &[LoggedRequest]) -> BTreeMap<(u16, String), usize> {
    let mut counts = BTreeMap::new();
    for request in requests {
        if let Some(status) = request.status.filter(|status| *status >= 400) {
            let route = request.route.clone().unwrap_or_else(|| request.path.clone());
            *counts.entry((status, format!("{} {route}", request.method))).or_default() += 1;
        }
    }
    counts
}

/// R1: webhook, queue, worker, review.
async fn each_is_reviewed_once(stack: Stack) {
    let (_repo, ranges) = Range::all();
    let github = FakeGitHub::start().await;
    github.limit(Limits::none());
    let mut by_folder = BTreeMap::<&Path, Vec<(usize, &Range)>>::new();
    for (number, range) in ranges.iter().enumerate() {
        by_folder.entry(&range.folder).or_default().push((number, range));
    }
    let sources: BTreeMap<_, _> = by_folder
        .iter()
        .map(|(folder, ranges)| (*folder, Source::new(&github, folder, ranges)))
        .collect();
    let names: BTreeSet<_> = sources.values().map(|one| one.repository.full_name()).collect();
    assert_eq!(names.len(), sources.len(), "two folders have one name");
    let service = Service::start(&github, &stack).await;

    let began = Instant::now();
    let waiting = RefCell::new(ranges.iter().enumerate());
    let lane = async |_| {
        let mut done = Vec::new();
        loop {
            let next = waiting.borrow_mut().next();
            let Some((number, range)) = next else { return done };
            done.push(review(&sources[range.folder.as_path()], number, range).await);
        }
    };
    let reviewed: Vec<_> = join_all((0..LANES).map(lane)).await.into_iter().flatten().collect();
    let took = began.elapsed();
    let states = service.states().await;
    github.webhooks_settled().await;
    let deliveries = service.app.deliveries();
    service.stop().await;

    let mut figures = Figures::default();
    for one in &reviewed {
        figures.add(one, &states);
    }
    let Figures { heads, files, lines, findings, comments, reviews, unaccounted, covered } =
        figures;
    let requests = github.requests();
    let refused = refused(&requests);
    let with = |fits: fn(u16) -> bool| {
        refused
            .iter()
            .filter(|((status, _), _)| fits(*status))
            .map(|(_, count)| count)
            .sum::<usize>()
    };
    println!(
        "{}: {} pull requests of {} repositories, {heads} heads, {files} files, {lines} lines in {took:.0?}\n  \
         {findings} findings, {comments} comments on lines, {reviews} reviews of {heads} heads\n  \
         coverage: {covered:?}, {} files unaccounted for\n  \
         {} requests: {} answered 422, {} other 4xx, {} 5xx {refused:?}",
        stack.name(),
        reviewed.len(),
        sources.len(),
        unaccounted.len(),
        requests.len(),
        with(|status| status == 422),
        with(|status| (400..500).contains(&status) && status != 422),
        with(|status| status >= 500),
    );
    for one in &reviewed {
        one_of_each(&one.source.repository, &one.pull, &one.range.heads, &one.name());
        for head in &one.range.heads {
            assert_eq!(reviews_of(&one.pull, head), 1, "{}: reviews of {head}", one.name());
        }
    }
    assert_eq!(unaccounted, [""; 0]);
    assert_eq!(with(|status| status == 422 || status >= 500), 0, "{refused:?}");
    let untaken: Vec<_> = deliveries.iter().filter(|sent| sent.status != Some(202)).collect();
    assert!(untaken.is_empty(), "{untaken:?}");
    stack.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_on_rabbit_and_postgres_are_each_reviewed_once() {
    each_is_reviewed_once(Stack::Rabbit(Broker::shared().await, Database::shared().await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_on_pubsub_and_firestore_are_each_reviewed_once() {
    each_is_reviewed_once(Stack::Google(Emulator::shared(), Firestore::shared())).await;
}
