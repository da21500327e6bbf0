//! Reviews on the fake GitHub by a worker in this process, whose time is the test's: it goes fast while something happens, and
//! jumps over what would take long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fake_github::LoggedRequest;
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
        store::{RunFilter, Store},
    },
    model::{ModelOptions, chain::Chain},
    queue::{JOB_TYPE, Message, Queue, embedded, header},
    runs::Runs,
    worker::{Options, Worker},
    workflows::{
        Bound, Registry,
        review::{self, models::Models},
    },
};

use super::{Place, permissions};
use crate::{
    support::{eventually, pass},
    worker::hall::Working,
};

/// A worker in this process on a clock of its own.
pub(super) struct Site {
    pub(super) place: Place,
    pub(super) store: Arc<SqliteStore>,
    pub(super) queue: Arc<embedded::Embedded>,
    pub(super) hand: ManualClock,
    pub(super) clock: Clock,
    pub(super) worker: Working,
    /// Whether the time stands still.
    pub(super) stands: Arc<AtomicBool>,
    _flow: AbortOnDropHandle<()>,
}

impl Site {
    /// Without language models.
    pub(super) async fn new() -> Self {
        Self::asking(None).await
    }

    /// With these, if any.
    pub(super) async fn asking(models: Option<ModelOptions>) -> Self {
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
        let models = models.and_then(|options| {
            let chain = Chain::open(&options, store.clone(), &|_| None).unwrap()?;
            Some(Models::new(Arc::new(chain), store.clone(), &options))
        });
        let deps = review::ReviewDeps::new(forges, review::Limits::default()).unwrap();
        let deps = deps.with_models(models);
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

    pub(super) async fn ask_for(&self, place: &str) {
        let body = format!(r#"{{"workflow":"review","input":{{"github":"{place}"}}}}"#);
        let message = Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE);
        self.queue.publish(message, Duration::ZERO).await.unwrap();
    }

    pub(super) async fn run_of(&self, place: &str, status: RunStatus) -> Head {
        let ours = |head: &Head| head.key.contains(place) && head.status == status;
        eventually(&format!("{place} becomes {status}"), async || {
            let heads = self.store.list(&RunFilter::default()).await.unwrap();
            heads.into_iter().find(|head| ours(head) && head.lease.is_none())
        })
        .await
    }

    pub(super) fn requests_of(&self, repository: &str) -> usize {
        let of = |request: &&LoggedRequest| request.path.contains(repository);
        self.place.github.requests().iter().filter(of).count()
    }
}
