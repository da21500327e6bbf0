//! P8: a limit parks the run until it is over. Time is the test's: it goes fast while something
//! happens, and jumps over limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fake_github::{Fault, LoggedRequest};
use tokio_util::task::AbortOnDropHandle;
use verdict::{
    app::QueueNotifier,
    base::{Clock, ManualClock, Timestamp},
    checkpoint::SqliteStore,
    config::GithubOptions,
    db::{Sqlite, SqliteOptions},
    forge::{Forges, github::GitHub},
    graph::{
        Head, RunStatus, Runtime,
        store::{RunFilter, Store, Waiting},
    },
    queue::{JOB_TYPE, Message, Queue, embedded, header},
    runs::Runs,
    worker::{Options, Worker},
    workflows::{Bound, Registry, review},
};

use super::{Place, permissions};
use crate::{
    support::{eventually, pass},
    worker::hall::Working,
};

const REVIEWS: &str = "/repos/octo/*/pulls/*/reviews";

/// A worker in this process on a clock of its own.
struct Site {
    place: Place,
    store: Arc<SqliteStore>,
    queue: Arc<embedded::Embedded>,
    hand: ManualClock,
    clock: Clock,
    worker: Working,
    /// Whether the time stands still.
    stands: Arc<AtomicBool>,
    _flow: AbortOnDropHandle<()>,
}

impl Site {
    async fn new() -> Self {
        let place = Place::new().await;
        let app = place.github.app("verdict", permissions(), &[]);
        app.install("octo");
        app.install("other");
        let folder = place.machine.folder().to_owned();
        let key = folder.join("app.pem");
        std::fs::write(&key, app.private_key()).unwrap();
        let (clock, hand) = Clock::manual(Timestamp(1_700_000_000_000));
        let sqlite = SqliteOptions { clock: clock.clone(), ..SqliteOptions::default() };
        let db = Sqlite::open(folder.join("limits.db"), sqlite).await.unwrap();
        let store = Arc::new(SqliteStore::new(db.clone()));
        let visibility = Duration::from_secs(3600);
        let poll = Duration::from_millis(5);
        let visible = embedded::Options { visibility, poll, ..embedded::Options::default() };
        let queue = Arc::new(embedded::Embedded::open(db, visible));
        let options = GithubOptions {
            url: place.github.url(),
            app_id: Some(app.id()),
            private_key_path: Some(key),
            ..GithubOptions::default()
        };
        let github = GitHub::new(&options, store.clone(), folder.join("commits")).unwrap();
        let forges = Forges::from(Arc::new(github));
        let deps = review::ReviewDeps::new(forges, review::Limits::default()).unwrap();
        let registry = Registry::new().with(Bound::<review::Review>::new(deps).unwrap());
        let runtime = Runtime::new(store.clone(), clock.clone(), "worker");
        let runs = Runs::new(runtime, registry, Arc::new(QueueNotifier::new(queue.clone())));
        let options = Options {
            sweep: Duration::from_millis(100),
            sweep_margin: Duration::from_millis(100),
            lease: Duration::from_secs(3600),
            ..Options::default()
        };
        let worker = Working::start(Worker::new(runs, queue.clone(), options));
        let stands = Arc::<AtomicBool>::default();
        let (flowing, standing) = (hand.clone(), stands.clone());
        let flow = tokio::spawn(async move {
            loop {
                pass(Duration::from_millis(5)).await;
                if !standing.load(Ordering::Relaxed) {
                    flowing.advance(Duration::from_millis(20));
                }
            }
        });
        let flow = AbortOnDropHandle::new(flow);
        Self { place, store, queue, hand, clock, worker, stands, _flow: flow }
    }

    async fn ask_for(&self, place: &str) {
        let body = format!(r#"{{"workflow":"review","input":{{"github":"{place}"}}}}"#);
        let message = Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE);
        self.queue.publish(message, Duration::ZERO).await.unwrap();
    }

    async fn run_of(&self, place: &str, status: RunStatus) -> Head {
        let ours = |head: &Head| head.key.contains(place) && head.status == status;
        eventually(&format!("{place} becomes {status}"), async || {
            let heads = self.store.list(&RunFilter::default()).await.unwrap();
            heads.into_iter().find(|head| ours(head) && head.lease.is_none())
        })
        .await
    }

    fn requests_of(&self, repository: &str) -> usize {
        let of = |request: &&LoggedRequest| request.path.contains(repository);
        self.place.github.requests().iter().filter(of).count()
    }
}

/// Whatever GitHub says about a limit, the run parks with the time it wakes, asks nothing meanwhile,
/// then goes on; nothing of it counts as a failed execution.
#[tokio::test]
async fn a_limit_parks_the_run_until_it_is_over() {
    type Limit = fn(&Site) -> Fault;
    let limits: [(&str, Limit, u64); 4] = [
        ("with Retry-After", |_| Fault::secondary_limit(Some(Duration::from_secs(120))), 120),
        ("without", |_| Fault::secondary_limit(None), 60),
        (
            "with a reset in the past",
            |site| {
                let past = (site.place.github.now() - 100).to_string();
                let body = r#"{"message":"You have exceeded a secondary rate limit"}"#;
                Fault::answer(403, serde_json::from_str(body).unwrap())
                    .header("x-ratelimit-remaining", "4000")
                    .header("x-ratelimit-reset", &past)
            },
            60,
        ),
        ("primary", |_| Fault::primary_limit(Duration::from_secs(600)), 600),
    ];
    for (name, limit, seconds) in limits {
        let site = Site::new().await;
        site.place.github.fail(limit(&site).on("POST", REVIEWS));
        site.ask_for("octo/demo#1").await;
        let head = site.run_of("octo/demo#1", RunStatus::Parked).await;
        assert_eq!((head.waiting, head.executions), (Some(Waiting::Limit), 0), "{name}");
        let left = head.not_before.unwrap().since(site.clock.now());
        let expected = Duration::from_secs(seconds);
        assert!(left <= expected && left + Duration::from_secs(20) > expected, "{name}: {left:?}");
        let asked = site.requests_of("octo/demo");
        site.stands.store(true, Ordering::Relaxed);
        let left = head.not_before.unwrap().since(site.clock.now());
        site.hand.advance(left - Duration::from_secs(10));
        site.queue.publish(Message::new("{}"), Duration::ZERO).await.unwrap();
        eventually("the worker has done something since", async || {
            (site.queue.depth().await.unwrap().dead == Some(1)).then_some(())
        })
        .await;
        assert_eq!(site.requests_of("octo/demo"), asked, "{name}: it asks before its time");
        site.stands.store(false, Ordering::Relaxed);
        site.hand.advance(Duration::from_secs(11));
        let head = site.run_of("octo/demo#1", RunStatus::Completed).await;
        assert_eq!((head.executions, site.place.pull.reviews().len()), (0, 1), "{name}");
        site.worker.stop().await;
    }
}

/// A limit is of one installation: the others go on.
#[tokio::test]
async fn the_limit_of_one_installation_holds_up_no_other() {
    let site = Site::new().await;
    let source = site.place.repository.git_dir();
    let other = site.place.github.repository("other/demo", source);
    let pull = other.open_pull("feature", "main");
    let limit = Fault::secondary_limit(Some(Duration::from_secs(3600)));
    site.place.github.fail(limit.on("POST", REVIEWS).always());
    site.ask_for("octo/demo#1").await;
    site.run_of("octo/demo#1", RunStatus::Parked).await;
    site.ask_for("other/demo#1").await;
    site.run_of("other/demo#1", RunStatus::Completed).await;
    assert_eq!((pull.reviews().len(), site.place.pull.reviews().len()), (1, 0));
    site.worker.stop().await;
}
