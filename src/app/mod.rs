//! The composition root: settings in, running parts out. The only place where adapters are chosen.

mod inbox;
mod keys;
mod migrate;
mod notifier;
mod owner;
mod repair;
mod serve;
mod setup;
mod systemd;

pub use migrate::Migrated;
pub use notifier::QueueNotifier;
pub use repair::Repaired;
pub use serve::Role;
pub use setup::{SetUp, Setup};

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;

use crate::{
    base::{Clock, Fault, key_value::KeyValueStore},
    checkpoint::{KeyRing, Memory, Sealed, SealedKeyValues, SqliteStore, Timed},
    config::{QueueUrl, Settings, StoreUrl},
    db::{Sqlite, SqliteOptions, make_private_folder},
    forge::{
        Forges,
        github::{GitHub, GitHubSearch},
        local::{GitOptions, LocalGit},
    },
    graph::{Runtime, Store},
    model::{Model, chain::Chain},
    queue::{Queue, embedded},
    runs::Runs,
    worker::{self, Probe, Worker},
    workflows::{
        Bound, Registry,
        delivery::{Delivery, DeliveryDeps},
        orchestrator::{AgentRegistry, Orchestrator, OrchestratorDeps},
        review,
        search::{Search, SearchDeps},
        writing::{self, Writing, WritingDeps},
    },
};

/// A part that could not be had.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {why}")]
pub struct AppError {
    /// The setting that names the part.
    pub setting: &'static str,
    /// What went wrong, and what to do.
    pub why: String,
}

impl AppError {
    fn new(setting: &'static str, why: impl ToString) -> Self {
        Self { setting, why: why.to_string() }
    }
}

/// The parts of one process.
pub struct App {
    /// The settings they were made from.
    pub settings: Settings,
    /// The runs in the store.
    pub runs: Runs,
    /// The key-value store beside the runs: in the same place, behind the same encryption.
    pub key_values: Arc<dyn KeyValueStore>,
    /// The queue.
    pub queue: Arc<dyn Queue>,
    /// Where changes come from and reviews go.
    pub forges: Forges,
    /// GitHub, if it is configured.
    pub github: Option<GitHub>,
    /// The language models, if any are configured.
    pub model: Option<Arc<dyn Model>>,
    /// The tools that reviews run, if any are configured.
    pub tools: Option<review::Tools>,
    files: Files,
}

/// Who names the repositories that are reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Whoever started this process.
    Owner,
    /// Whoever can put a message on the queue: `forge.local.allow` bounds them.
    Queue,
    /// They, and whoever may use the API: the same bounds.
    Api,
}

impl App {
    /// Opens the store and the queue, and prepares the workflows.
    ///
    /// # Errors
    /// With the setting that names the part that could not be had.
    pub async fn open(settings: Settings, trust: Trust) -> Result<Self, AppError> {
        let mut files = Files::default();
        let (store, key_values) = match &settings.store.url {
            StoreUrl::Memory => both(Memory::new(Clock::system())),
            StoreUrl::Sqlite(path) => {
                let file = files.open("store.url", path).await?;
                both(SqliteStore::new(file))
            }
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => {
                let server = postgres(url.expose(), &settings).await?;
                files.servers.push(server.clone());
                both(crate::checkpoint::PostgresStore::new(server))
            }
            #[cfg(feature = "firestore")]
            StoreUrl::Firestore { project, database } => both(firestore(project, database).await?),
            // Loading the settings refused what this binary has no adapter for.
            #[cfg(not(all(feature = "postgres", feature = "firestore")))]
            other => return Err(AppError::new("store.url", format!("{other} is not built in"))),
        };
        let keys = Arc::new(keys(&settings)?);
        let store = Arc::new(Sealed::new(store, keys.clone()));
        let key_values: Arc<dyn KeyValueStore> = Arc::new(SealedKeyValues::new(key_values, keys));
        let queue: Arc<dyn Queue> = match &settings.queue.url {
            QueueUrl::Embedded(path) => {
                let path = path.clone().unwrap_or_else(|| PathBuf::from("verdict.db"));
                let file = files.open("queue.url", &path).await?;
                let visibility = settings.queue.visibility;
                let options = embedded::Options { visibility, ..embedded::Options::default() };
                Arc::new(embedded::Embedded::open(file, options))
            }
            #[cfg(feature = "amqp")]
            QueueUrl::Amqp(url) => Arc::new(amqp(url.expose(), &settings)?),
            #[cfg(feature = "pubsub")]
            QueueUrl::PubSub { project, subscription, topic } => {
                let names = (project.as_str(), subscription.as_str(), topic.as_deref());
                Arc::new(pubsub(names, &settings)?)
            }
            #[cfg(not(all(feature = "amqp", feature = "pubsub")))]
            other => return Err(AppError::new("queue.url", format!("{other} is not built in"))),
        };
        let runtime = Runtime::new(store, Clock::system(), &owner::this_process())
            .with_ttl(settings.worker.lease)
            .with_known_dead(owner::known_dead);
        let allowed = if trust == Trust::Owner { None } else { allowed(&settings, trust)? };
        let github = github(&settings, key_values.clone())?;
        let forges = forges(github.clone(), allowed);
        let model = model(&settings, key_values.clone())?;
        let tools = review::Tools::new(&settings.workflows.review.tools);
        let tools = tools.map_err(|why| AppError::new("workflows.review.tools", why))?;
        let beside = (model.as_ref(), tools.clone());
        let workflows = workflows(&settings, &forges, beside, &key_values);
        let workflows = workflows.map_err(|fault| AppError::new("workflows", fault))?;
        let runs = Runs::new(runtime, workflows, Arc::new(QueueNotifier::new(queue.clone())))
            .with_key_values(key_values.clone())
            .with_event_retention(settings.store.event_retention);
        Ok(Self { settings, runs, key_values, queue, forges, github, model, tools, files })
    }

    /// A worker on these parts.
    pub fn worker(&self) -> Worker {
        let retention = self.settings.store.retention;
        let options =
            worker::Options { retention, frugal: self.frugal(), ..self.settings.worker.clone() };
        let forges = self.forges.clone();
        let host = Arc::new(move || {
            let forges = forges.clone();
            let check: BoxFuture<'static, _> = Box::pin(async move { forges.check().await });
            check
        });
        Worker::new(self.runs.clone(), self.queue.clone(), options)
            .with_key_values(self.key_values.clone())
            .with_host(host)
    }

    /// Whether each document of the store that is read or written costs something.
    fn frugal(&self) -> bool {
        matches!(self.settings.store.url, StoreUrl::Firestore { .. })
    }

    /// Asks whether the store, which it also writes to, and the queue answer.
    fn probe(&self) -> Probe {
        let writes = (!self.frugal()).then(|| self.key_values.clone());
        Probe::new(self.runs.clone(), self.queue.clone()).with_writes(writes)
    }

    /// Ends cleanly: what was handed to a database file is written.
    pub async fn close(self) {
        let Self { runs, key_values, queue, files, .. } = self;
        if let Err(error) = queue.close().await {
            tracing::warn!(%error, "closing the queue failed");
        }
        drop((runs, key_values, queue));
        files.close().await;
    }
}

/// One store by its two ports, both measured.
fn both<S: Store + KeyValueStore>(store: S) -> (Arc<dyn Store>, Arc<dyn KeyValueStore>) {
    let store = Arc::new(store);
    (
        Arc::new(Timed::<dyn Store>::new(store.clone())),
        Arc::new(Timed::<dyn KeyValueStore>::new(store)),
    )
}

/// A worker holds what it works on, and nothing ahead of that.
#[cfg(feature = "amqp")]
fn amqp(url: &str, settings: &Settings) -> Result<crate::queue::amqp::Amqp, AppError> {
    let prefetch = u16::try_from(settings.worker.concurrency).unwrap_or(u16::MAX);
    let options = settings.queue.amqp.clone();
    crate::queue::amqp::Amqp::open(url, options, prefetch)
        .map_err(|error| AppError::new("queue", error))
}

/// The queue at Pub/Sub. PUBSUB_EMULATOR_HOST is what every client of Pub/Sub reads.
#[cfg(feature = "pubsub")]
fn pubsub(
    (project, subscription, topic): (&str, &str, Option<&str>),
    settings: &Settings,
) -> Result<crate::queue::pubsub::PubSub, AppError> {
    let mut options = settings.queue.pubsub.clone();
    let told = || std::env::var("PUBSUB_EMULATOR_HOST").ok();
    options.emulator = options.emulator.or_else(told).filter(|host| !host.is_empty());
    let prefetch = settings.worker.concurrency;
    crate::queue::pubsub::PubSub::open(project, subscription, topic, options, prefetch)
        .map_err(|error| AppError::new("queue.url", error))
}

/// The keys of what runs hold; without them it is stored as it is.
fn keys(settings: &Settings) -> Result<KeyRing, AppError> {
    let ring = settings.store.encryption.ring();
    ring.map_err(|why| AppError::new("store.encryption.keys", why))
}

/// The store on a PostgreSQL server.
#[cfg(feature = "postgres")]
async fn postgres(url: &str, settings: &Settings) -> Result<crate::db::Postgres, AppError> {
    crate::db::Postgres::open(url, settings.store.postgres.clone())
        .await
        .map_err(|error| AppError::new("store.url", error))
}

/// The store at Firestore.
#[cfg(feature = "firestore")]
async fn firestore(
    project: &str,
    database: &str,
) -> Result<crate::checkpoint::FirestoreStore, AppError> {
    let options = crate::checkpoint::FirestoreOptions::new(project, database);
    let store = crate::checkpoint::FirestoreStore::connect(options).await;
    store.map_err(|fault| AppError::new("store.url", fault))
}

/// Each database file is opened once and shared: one writer groups what all its users write.
#[derive(Default)]
struct Files {
    open: HashMap<PathBuf, Sqlite>,
    #[cfg(feature = "postgres")]
    servers: Vec<crate::db::Postgres>,
}

impl Files {
    async fn open(&mut self, setting: &'static str, path: &PathBuf) -> Result<Sqlite, AppError> {
        if let Some(file) = self.open.get(path) {
            return Ok(file.clone());
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            make_private_folder(folder).map_err(|error| {
                let folder = folder.display();
                AppError::new(setting, format!("the folder {folder} cannot be made: {error}"))
            })?;
        }
        let file = Sqlite::open(path, SqliteOptions::default()).await;
        let file = file.map_err(|error| AppError::new(setting, error))?;
        self.open.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Writes what was handed over, and closes them.
    async fn close(self) {
        for file in self.open.into_values() {
            if let Err(error) = file.close().await {
                tracing::warn!(%error, "closing a database failed");
            }
        }
        #[cfg(feature = "postgres")]
        for server in self.servers {
            server.close().await;
        }
    }
}

/// The list of all forges: local git, and GitHub where it is configured.
fn forges(github: Option<GitHub>, allowed: Option<Vec<PathBuf>>) -> Forges {
    let local = LocalGit::new(GitOptions::default()).allowing(allowed);
    let forges = Forges::default().with(Arc::new(local));
    match github {
        Some(github) => forges.with(Arc::new(github.preview())).with(Arc::new(github)),
        None => forges,
    }
}

/// GitHub, where it is configured.
fn github(
    settings: &Settings,
    key_values: Arc<dyn KeyValueStore>,
) -> Result<Option<GitHub>, AppError> {
    let options = &settings.github;
    if !options.is_configured() {
        return Ok(None);
    }
    let unset = || AppError::new("github.cache_path", "not set, and there is no state folder");
    let cache = options.cache_path.clone().ok_or_else(unset)?;
    let github = GitHub::new(options, key_values, cache);
    github.map(Some).map_err(|fault| AppError::new("github", fault))
}

/// The chain of language models, where one is configured.
fn model(
    settings: &Settings,
    key_values: Arc<dyn KeyValueStore>,
) -> Result<Option<Arc<dyn Model>>, AppError> {
    let chain = Chain::open(&settings.model, key_values, &keys::of_provider);
    let chain = chain.map_err(|fault| AppError::new("model.chain", fault))?;
    Ok(chain.map(|chain| Arc::new(chain) as Arc<dyn Model>))
}

/// The list of all workflows.
fn workflows(
    settings: &Settings,
    forges: &Forges,
    (model, tools): (Option<&Arc<dyn Model>>, Option<review::Tools>),
    key_values: &Arc<dyn KeyValueStore>,
) -> Result<Registry, Fault> {
    let broken = |error: crate::graph::GraphError| Fault::permanent(error.to_string());
    let asked = |model: &Arc<dyn Model>| {
        review::models::Models::new(model.clone(), key_values.clone(), &settings.model)
    };
    let review = review::ReviewDeps::new(forges.clone(), review::Limits::default())?;
    let review = review.with_models(model.map(asked)).with_tools(tools);
    let review = Bound::<review::Review>::new(review);
    let (clock, model) = (Clock::system(), model.cloned());
    let delivery = DeliveryDeps { model: model.clone() };
    let agents = AgentRegistry::built_in(model.as_ref());
    let orchestrator = OrchestratorDeps { model: model.clone(), agents, clock: clock.clone() };
    let repositories = Arc::new(GitHubSearch::new(&settings.github, key_values.clone())?);
    let search = SearchDeps { repositories, model: model.clone(), clock };
    let options = settings.workflows.writing.clone();
    let graph = writing::graph(&options).map_err(broken)?;
    let timeout = options.timeout;
    let writing = Bound::<Writing>::new(WritingDeps { model, options }).map_err(broken)?;
    Ok(Registry::new()
        .with(review.map_err(broken)?)
        .with(Bound::<Delivery>::new(delivery).map_err(broken)?)
        .with(Bound::<Orchestrator>::new(orchestrator).map_err(broken)?)
        .with(Bound::<Search>::new(search).map_err(broken)?)
        .with(writing.with_graph(graph).with_timeout(timeout)))
}

/// The folders whose repositories others may name; `None` for any. Only somebody on this machine
/// can write to the embedded queue, or reach an API on the loopback address, so there the list may
/// be left out.
fn allowed(settings: &Settings, trust: Trust) -> Result<Option<Vec<PathBuf>>, AppError> {
    let folders = &settings.forge.local.allow;
    let here = trust == Trust::Queue || settings.server.listen.ip().is_loopback();
    if folders.is_empty() && here && matches!(settings.queue.url, QueueUrl::Embedded(_)) {
        return Ok(None);
    }
    let canonical = folders.iter().map(|folder| {
        folder.canonicalize().map_err(|error| {
            AppError::new("forge.local.allow", format!("{}: {error}", folder.display()))
        })
    });
    canonical.collect::<Result<Vec<_>, _>>().map(Some)
}
