//! N2 with real processes: of two workers on one store the one that publishes is killed before, during and after each of
//! its calls, the other goes on, and a new one takes the place of the dead.
//!
//! Seeded. `VERDICT_TEST_PUBLISHING_KILLS=200` publishes so often, each time with a kill or two.

use std::time::Duration;

use fake_github::{Fault, PullRequest};
use fastrand::Rng;
use futures_util::future::join_all;
use verdict::{
    checkpoint::SqliteStore,
    graph::{
        Head, RunStatus,
        store::{LetterFilter, RunFilter, Store},
    },
};

use super::number;
use crate::{
    github::{Place, one_of_each},
    server::{serve, stop},
    support::{Process, eventually, rows},
};

/// Publications in CI.
const DEFAULT_RUNS: u64 = 9;

/// Publications at once, each on a GitHub of its own with two workers.
const LANES: u64 = 3;

/// The calls of a publication that nothing disturbs, from the first on.
const CALLS: u64 = 9;

/// The call that a publication begins with.
const FIRST_CALL: (&str, &str) = ("GET", "/repos/*/*/pulls/*/files");

/// When a worker is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The call was sent and is never done.
    Before,
    /// The call is done when its sender is dead.
    During,
    /// The call was done and its answer did not arrive.
    After,
}

use Moment::*;

const MOMENTS: [Moment; 3] = [After, Before, During];

#[derive(Debug, Clone, Copy)]
struct Kill {
    /// The number of the call.
    call: u64,
    moment: Moment,
}

impl Kill {
    fn fault(self) -> Fault {
        let fault = match self.moment {
            Before => Fault::unanswered(),
            During => Fault::late_write().silent(),
            After => Fault::slow(Duration::from_secs(600)),
        };
        let (method, path) = FIRST_CALL;
        fault.on("*", "/repos/**").starting_at(method, path).skip(self.call)
    }
}

/// One publication.
#[derive(Debug, Clone)]
struct Plan {
    seed: u64,
    kills: Vec<Kill>,
    /// Whether a push comes after the last kill.
    pushed: bool,
}

impl Plan {
    fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Every moment of every call, before anything is left to chance.
        let moment = usize::try_from((seed + seed / CALLS) % 3).unwrap();
        let mut kills = vec![Kill { call: seed % CALLS, moment: MOMENTS[moment] }];
        if rng.u8(..3) == 0 {
            kills.push(Kill { call: rng.u64(..CALLS), moment: MOMENTS[rng.usize(..3)] });
        }
        Self { seed, kills, pushed: rng.u8(..3) == 0 }
    }
}

/// A GitHub, and two workers on one store.
struct Lane {
    place: Place,
    store: SqliteStore,
    workers: Vec<Process>,
}

impl Lane {
    async fn new() -> Self {
        let place = Place::with_app().await;
        let machine = place.machine.set("github.timeout", "3s").set("github.settle", "1s");
        // A run that is taken up again and again is to blame for nothing here.
        let place = Place { machine: machine.set("worker.lost_claims", "1000"), ..place };
        let mut workers = Vec::new();
        for _ in 0..2 {
            workers.push(serve(&place.machine, "worker").await.0);
        }
        let store = place.machine.store().await;
        Self { place, store, workers }
    }

    /// Publishes by the plans of these numbers; answers how many kills met a worker at its call, of how many.
    async fn work(numbers: impl Iterator<Item = u64>, seed: u64) -> (u64, u64) {
        let mut lane = Self::new().await;
        let (mut met, mut planned) = (0, 0);
        for number in numbers {
            let plan = Plan::of(seed + number);
            planned += plan.kills.len() as u64;
            met += lane.publish(&plan).await;
        }
        for worker in lane.workers {
            stop(worker).await;
        }
        (met, planned)
    }

    /// Publishes once; answers how many of the kills met a worker at its call.
    async fn publish(&mut self, plan: &Plan) -> u64 {
        let branch = format!("branch{}", plan.seed);
        self.place.branch(&branch);
        let text = format!("function h{}() {{ debugger; }}\n", plan.seed);
        self.place.push_to(&branch, "e.js", &text);
        let pull = self.place.repository.open_pull(&branch, "main");
        let mut heads = vec![pull.head()];
        let mut met = 0;
        for (nth, kill) in plan.kills.iter().enumerate() {
            self.place.github.forget_requests();
            self.place.github.fail(kill.fault());
            if nth == 0 {
                self.place.enqueue_pull(pull.number(), &branch);
            }
            met += u64::from(self.kill(kill.moment).await);
        }
        if plan.pushed {
            self.place.push_to(&branch, "f.js", &text.replace("h", "i"));
            heads.push(pull.head());
            self.place.enqueue_pull(pull.number(), &format!("{branch} again"));
        }
        eventually("every run has ended", async || self.is_idle().await.then_some(())).await;
        self.check(plan, &pull, &heads).await;
        pull.close();
        met
    }

    /// Kills the worker whose call is held, and starts another. Answers whether one was.
    async fn kill(&mut self, moment: Moment) -> bool {
        let hit = eventually("a call is held, or every run has ended", async || {
            let requests = self.place.github.requests();
            let held = requests.iter().any(|request| request.fault.is_some());
            (held || self.is_idle().await).then_some(held)
        })
        .await;
        self.place.github.clear_faults();
        if !hit {
            return false;
        }
        let publisher = eventually("a worker holds the run", async || {
            let runs = self.unfinished().await;
            let owners: Vec<String> =
                runs.into_iter().filter_map(|run| Some(run.lease?.owner)).collect();
            let holds = |worker: &Process| {
                let owner = format!(":{}@", worker.pid());
                owners.iter().any(|holder| holder.contains(&owner))
            };
            self.workers.iter().position(holds)
        })
        .await;
        assert!(self.workers[publisher].kill().await, "it ended by itself");
        if moment == During {
            self.place.github.release_late_writes().await;
        }
        self.workers[publisher] = serve(&self.place.machine, "worker").await.0;
        true
    }

    async fn unfinished(&self) -> Vec<Head> {
        let statuses = vec![RunStatus::Queued, RunStatus::Running, RunStatus::Parked];
        self.store.list(&RunFilter { statuses, ..RunFilter::default() }).await.unwrap()
    }

    /// Whether there is nothing left to do.
    async fn is_idle(&self) -> bool {
        rows(&self.place.machine.file()).await.messages == 0 && self.unfinished().await.is_empty()
    }

    async fn check(&self, plan: &Plan, pull: &PullRequest, heads: &[String]) {
        one_of_each(&self.place.repository, pull, heads, plan);
        let letters = self.store.letters(&LetterFilter::default()).await.unwrap();
        assert_eq!(letters, [], "{plan:?}");
    }
}

/// N2: whoever publishes is killed, at whatever call: one review, one summary, nothing stale, no check open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_killed_at_any_call_leaves_one_review_and_one_summary() {
    let runs = number("VERDICT_TEST_PUBLISHING_KILLS", DEFAULT_RUNS);
    let seed = number("VERDICT_TEST_SEED", 0);
    let began = tokio::time::Instant::now();
    let lanes = (0..LANES).map(|first| Lane::work((first..runs).step_by(LANES as usize), seed));
    let figures = join_all(lanes).await;
    let met: u64 = figures.iter().map(|(met, _)| met).sum();
    let planned: u64 = figures.iter().map(|(_, planned)| planned).sum();
    println!("{met} of {planned} kills in {runs} publications, {:.0?}", began.elapsed());
    assert!(met * 4 >= planned * 3, "{met} of {planned} kills met a worker at its call");
}
