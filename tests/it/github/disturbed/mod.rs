//! N2: publishing disturbed at every request. Whatever fails, hangs, is lost or killed, and however
//! many workers publish at once: one review of the head, one summary, nothing stale, no check open.
//!
//! Seeded. `VERDICT_TEST_DISTURBED=10000` disturbs so many publications; `VERDICT_TEST_SEED` begins with
//! another one. A failure names its seed. Here workers are tasks; in `killed` they are processes.

mod killed;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use fake_github::{FakeGitHub, Fault, Limits, PullRequest, Repository};
use fastrand::Rng;
use verdict::{
    base::{Clock, Fault as Failure},
    checkpoint::Memory,
    forge::{
        Comment, Publication, PublishContext, Published, Publisher, Standing, Target,
        github::{GitHub, GithubOptions},
    },
};

use super::{Repo, one_of_each, one_review, permissions};
use crate::support::pass;

/// Publications that CI disturbs.
const DEFAULT_RUNS: u64 = 60;

/// Publications that are disturbed at once, each on a repository of its own.
const LANES: u64 = 12;

/// Requests that one publication sends, about: faults hit any of them.
const REQUESTS: u64 = 16;

/// Attempts of one worker.
const ATTEMPTS: u32 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Disturbance {
    Error,
    ErrorAfterTheWrite,
    Reset,
    Truncated,
    LostAnswer,
    LateWrite,
    Refused,
    KillAfterTheCall,
    KillDuringTheCall,
}

use Disturbance::*;

const DISTURBANCES: &[Disturbance] = &[
    Error,
    ErrorAfterTheWrite,
    Reset,
    Truncated,
    LostAnswer,
    LateWrite,
    Refused,
    KillAfterTheCall,
    KillDuringTheCall,
];

impl Disturbance {
    fn fault(self) -> Fault {
        match self {
            Error => Fault::status(502),
            ErrorAfterTheWrite => Fault::status(500).after_the_write(),
            Reset => Fault::reset(),
            Truncated => Fault::truncated(),
            LostAnswer => Fault::lost_answer(),
            LateWrite => Fault::late_write_after(Duration::from_millis(30)),
            Refused => Fault::status(422),
            KillAfterTheCall => Fault::slow(Duration::from_secs(30)),
            KillDuringTheCall => Fault::late_write_after(Duration::from_millis(30)).silent(),
        }
    }

    fn kills(self) -> bool {
        matches!(self, KillAfterTheCall | KillDuringTheCall)
    }
}

/// One publication: what disturbs it, where, how often, and what else goes on.
#[derive(Debug, Clone)]
struct Plan {
    #[expect(dead_code, reason = "a failure shows it")]
    seed: u64,
    disturbance: Disturbance,
    skip: u64,
    times: u64,
    workers: usize,
    /// Whether a push comes meanwhile.
    pushed: bool,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Every kind at every request, before anything is left to chance.
        let kinds = DISTURBANCES.len() as u64;
        let at = usize::try_from(seed % kinds).unwrap();
        let disturbance = DISTURBANCES[at];
        let times = if disturbance.kills() { 1 } else { [1, 1, 2, 5][rng.usize(..4)] };
        Self {
            seed,
            disturbance,
            skip: (seed / kinds) % REQUESTS,
            times,
            workers: if rng.bool() { 2 } else { 1 },
            pushed: rng.u8(..4) == 0,
        }
    }
}

/// A GitHub on which one publication after the other is disturbed.
pub(super) struct Lane {
    github: FakeGitHub,
    options: GithubOptions,
    repo: Repo,
    repository: Repository,
    heads: [String; 2],
    base: String,
}

impl Lane {
    async fn new() -> Self {
        let repo = Repo::new();
        let base = repo.write("a.js", "f();\n").commit("base");
        let first = repo.write("a.js", "f();\ndebugger;\n").commit("one");
        let second = repo.write("a.js", "f();\ndebugger;\ng();\n").commit("two");
        repo.git(["branch", "feature", &first]);
        repo.git(["reset", "--quiet", "--hard", &base]);
        let github = FakeGitHub::start().await;
        github.limit(Limits::none());
        let app = github.app("verdict", permissions(), &["pull_request"]);
        app.install("octo");
        let repository = github.repository("octo/demo", repo.path());
        let key = repo.path().join(".git/app.pem");
        std::fs::write(&key, app.private_key()).unwrap();
        let options = GithubOptions {
            url: github.url(),
            app_id: Some(app.id()),
            private_key_path: Some(key),
            timeout: Duration::from_secs(3),
            write_interval: Duration::ZERO,
            // Long after a late write on a busy machine.
            settle: Duration::from_secs(1),
            ..GithubOptions::default()
        };
        Self { github, options, repo, repository, heads: [first, second], base }
    }

    /// One process's access to it.
    pub(super) fn process(&self, store: &Arc<Memory>) -> GitHub {
        GitHub::new(&self.options, store.clone(), std::env::temp_dir()).unwrap()
    }

    fn move_head(&self, to: &str) {
        self.repo.git(["branch", "--force", "feature", to]);
        self.repository.update();
    }

    fn publication(&self, pull: &PullRequest, head: &str) -> Publication {
        let comment = |line: u32| Comment {
            fingerprint: format!("{line:016x}"),
            agent: "pattern".to_owned(),
            unsteady: false,
            severity: "high",
            title: "A debugger statement".to_owned(),
            text: "It stops.".to_owned(),
            path: "a.js".to_owned(),
            on_base: false,
            lines: Some((line, line)),
            body: "**high · A debugger statement**\n".to_owned(),
            in_summary: "### a.js\n\nA debugger statement\n\n".to_owned(),
            suggestion: None,
        };
        // One on a line that GitHub shows, one that goes into the summary.
        let comments = vec![comment(2), comment(900)];
        Publication {
            target: Target {
                forge: "github".to_owned(),
                repo: format!("octo/demo#{}", pull.number()),
                base: self.base.clone(),
                head: head.to_owned(),
            },
            run: format!("run-of-{head}"),
            verdict: "changes_requested",
            reviewed: true,
            opening: format!("## verdict: changes requested of {head}\n\n"),
            closing: "closing\n".to_owned(),
            found: comments.iter().map(|comment| comment.fingerprint.clone()).collect(),
            comments,
            unsettled: Default::default(),
        }
    }

    /// Disturbs one publication until every worker is done; answers the requests it took.
    async fn disturb(&self, plan: &Plan) -> u64 {
        self.move_head(&self.heads[0]);
        self.github.clear_faults();
        self.github.forget_requests();
        let pull = self.repository.open_pull("feature", "main");
        let store = Arc::new(Memory::new(Clock::system()));
        let method = if plan.disturbance == Refused { "POST" } else { "*" };
        let fault = plan.disturbance.fault().on(method, "/repos/**");
        self.github.fail(fault.skip(plan.skip).times(plan.times));
        let worker =
            |head: &str| work(self.process(&store), self.publication(&pull, head), plan.clone());
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..plan.workers {
            workers.spawn(worker(&self.heads[0]));
        }
        if plan.disturbance.kills() {
            // Kill -9 of the worker that the fault hit: nothing of it goes on, another takes over.
            let hit = || self.github.requests().iter().any(|request| request.fault.is_some());
            while !hit() && !workers.is_empty() {
                tokio::select! {
                    Some(done) = workers.join_next() => done.unwrap(),
                    () = pass(Duration::from_millis(2)) => {}
                }
            }
            if hit() {
                workers.abort_all();
                while workers.join_next().await.is_some() {}
                workers.spawn(worker(&self.heads[0]));
            }
        }
        if plan.pushed {
            self.move_head(&self.heads[1]);
            workers.spawn(worker(&self.heads[1]));
        }
        while let Some(done) = workers.join_next().await {
            done.unwrap();
        }
        self.check(plan, &pull).await;
        pull.close();
        self.github.requests().len() as u64
    }

    async fn check(&self, plan: &Plan, pull: &PullRequest) {
        // What was killed during a call may land now.
        pass(Duration::from_millis(40)).await;
        if plan.disturbance != Refused || !pull.comments().is_empty() {
            return one_of_each(&self.repository, pull, &self.heads, plan);
        }
        // Where GitHub takes no summary the review says everything itself.
        one_review(&self.repository, pull, &self.heads, plan);
        let requests = self.github.requests();
        let summary = |path: &str| path.contains("/issues/") && path.ends_with("/comments");
        let mut tried = requests.iter().filter(|r| r.method == "POST" && summary(&r.path));
        assert!(tried.all(|request| request.fault.is_some()), "{plan:?}: {requests:#?}");
        let reviews = pull.reviews();
        let of_head = reviews.iter().find(|review| review.body.contains(&pull.head())).unwrap();
        let says = |text: &str| of_head.body.contains(text);
        assert!(says("A debugger statement") && says("closing"), "{plan:?}: {of_head:#?}");
    }
}

/// What a worker does: it tries again until the review is published, or its head has moved.
async fn work(github: GitHub, review: Publication, plan: Plan) {
    let context = PublishContext { idempotency_key: review.run.clone(), fork: false, attempt: 1 };
    let mut last: Option<Failure> = None;
    for _ in 0..ATTEMPTS {
        let started = Standing::Started(vec!["security".to_owned()]);
        // That it began is shown if it can be.
        let _ = github.show(&review.target, &review.run, &started).await;
        match github.publish(&context, &review).await {
            Ok(Published::At(_) | Published::HeadMoved) => return,
            Ok(other) => panic!("{plan:?}: {other:?}"),
            Err(fault) => last = Some(fault),
        }
        pass(Duration::from_millis(10)).await;
    }
    panic!("{plan:?}: not published in {ATTEMPTS} attempts: {last:?}");
}

fn number(variable: &str, unset: u64) -> u64 {
    std::env::var(variable).map_or(unset, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_it_is_disturbed_there_is_one_review_and_one_summary() {
    let (runs, seed) =
        (number("VERDICT_TEST_DISTURBED", DEFAULT_RUNS), number("VERDICT_TEST_SEED", 0));
    let began = tokio::time::Instant::now();
    let mut lanes = tokio::task::JoinSet::new();
    for number in 0..LANES {
        lanes.spawn(async move {
            let lane = Lane::new().await;
            let mut figures: BTreeMap<Disturbance, (u64, u64)> = BTreeMap::new();
            for at in (number..runs).step_by(LANES as usize) {
                let plan = Plan::of(seed + at);
                let asked = lane.disturb(&plan).await;
                let (count, requests) = figures.entry(plan.disturbance).or_default();
                (*count, *requests) = (*count + 1, *requests + asked);
            }
            figures
        });
    }
    let mut total: BTreeMap<Disturbance, (u64, u64)> = BTreeMap::new();
    while let Some(figures) = lanes.join_next().await {
        for (disturbance, (count, requests)) in figures.unwrap() {
            let sum = total.entry(disturbance).or_default();
            (sum.0, sum.1) = (sum.0 + count, sum.1 + requests);
        }
    }
    println!("{runs} disturbed publications in {:.0?}, from seed {seed}:", began.elapsed());
    for (disturbance, (count, requests)) in total {
        println!("  {disturbance:?}: {count}, {requests} requests");
    }
}
