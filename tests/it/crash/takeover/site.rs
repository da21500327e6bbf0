//! Where runs and messages are, and how a worker is cut off from its store.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::json;
use sqlx::{ConnectOptions, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use verdict::{
    base::Clock,
    checkpoint::PostgresStore,
    db::{Postgres, PostgresOptions},
    graph::{Runtime, store::Store},
    queue::{
        Job, Message, Queue,
        amqp::{Amqp, Options},
    },
};

use super::Hit;
use crate::{
    crash::fixture::repository,
    review::support::Repo,
    support::{Broker, Database, Firestore, Machine, Proxy, eventually, rows},
};

/// The name of the queue.
const QUEUE: &str = "work";
/// The only wait of "back later".
const DELAY: &str = "200ms";
/// How long a lease lives where workers are stopped.
pub const LEASE: Duration = Duration::from_secs(1);

/// A store, a queue, and a repository whose last commit is reviewed.
pub struct Site {
    place: Place,
    broker: Option<Broker>,
    pub queue: Arc<dyn Queue>,
    repo: Repo,
    /// The store, looked at past everything that the workers' way to it goes through.
    pub runtime: Runtime,
}

enum Place {
    /// Of this machine's.
    File(Machine),
    Postgres(Database, Postgres),
    Firestore(Firestore),
}

/// What a worker runs on, and its way to the store.
pub struct Seat {
    pub machine: Machine,
    way: Way,
    /// Its own way to the broker, where there is one.
    queue: Option<Proxy>,
}

enum Way {
    /// The file, and who keeps it locked.
    File(PathBuf, Option<SqliteConnection>),
    /// A way of its own.
    Proxy(Proxy),
}

impl Seat {
    /// From here on nothing is written any more, on a file by anybody, on a server by this worker.
    pub async fn freeze(&mut self) {
        match &mut self.way {
            Way::Proxy(proxy) => proxy.freeze(),
            Way::File(file, lock) => {
                let options = SqliteConnectOptions::new().filename(file);
                let patient = options.busy_timeout(Duration::from_secs(30));
                let mut conn = patient.connect().await.unwrap();
                sqlx::query("BEGIN IMMEDIATE").execute(&mut conn).await.unwrap();
                *lock = Some(conn);
            }
        }
    }

    /// What was sent meanwhile arrives.
    pub async fn thaw(&mut self) {
        match &mut self.way {
            Way::Proxy(proxy) => proxy.thaw(),
            Way::File(_, lock) => {
                if let Some(mut conn) = lock.take() {
                    sqlx::query("ROLLBACK").execute(&mut conn).await.unwrap();
                    conn.close().await.unwrap();
                }
            }
        }
    }

    /// From here on nothing it says reaches the broker. Answers whether there is one.
    pub fn hold_messages(&self) -> bool {
        self.queue.as_ref().map(Proxy::freeze).is_some()
    }

    /// What was held never reaches the broker, which sees that its connection is gone. The worker
    /// must be dead.
    pub async fn lose_messages(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.cut().await;
        }
    }

    /// Whether nothing of its worker is on the way any more. The worker must be dead.
    pub fn quiet(&self) -> bool {
        match &self.way {
            Way::Proxy(proxy) => proxy.open() == 0,
            Way::File(..) => true,
        }
    }

    /// Whether a frozen way holds up the others too.
    pub fn shared(&self) -> bool {
        matches!(self.way, Way::File(..))
    }
}

impl Site {
    /// A file, with the queue in it.
    pub async fn sqlite() -> Self {
        let machine = Machine::new();
        let state = machine.file().parent().unwrap().to_owned();
        std::fs::create_dir_all(state).unwrap();
        let store: Arc<dyn Store> = Arc::new(machine.store().await);
        let queue = Arc::new(machine.queue().await);
        Self::at(Place::File(machine), None, queue, store)
    }

    /// A database on a server, and RabbitMQ.
    pub async fn postgres() -> Self {
        let database = Database::shared().await;
        let db = Postgres::open(&database.url(), PostgresOptions::default()).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(PostgresStore::new(db.clone()));
        let (broker, queue) = rabbit().await;
        Self::at(Place::Postgres(database, db), Some(broker), queue, store)
    }

    /// A project on the emulator, and RabbitMQ.
    pub async fn firestore() -> Self {
        let server = Firestore::shared();
        let store: Arc<dyn Store> = Arc::new(server.store(None).await);
        let (broker, queue) = rabbit().await;
        Self::at(Place::Firestore(server), Some(broker), queue, store)
    }

    fn at(
        place: Place,
        broker: Option<Broker>,
        queue: Arc<dyn Queue>,
        store: Arc<dyn Store>,
    ) -> Self {
        let runtime = Runtime::new(store, Clock::system(), "test");
        Self { place, broker, queue, repo: repository(), runtime }
    }

    /// What the figures are printed under.
    pub fn name(&self) -> &'static str {
        match self.place {
            Place::File(_) => "SQLite file, embedded queue",
            Place::Postgres(..) => "PostgreSQL, RabbitMQ",
            Place::Firestore(_) => "Firestore emulator, RabbitMQ",
        }
    }

    pub fn has_broker(&self) -> bool {
        self.broker.is_some()
    }

    /// A seat for one more worker.
    pub fn seat(&self, hit: Hit) -> Seat {
        let machine = tuned(Machine::new(), hit);
        match &self.place {
            Place::File(shared) => {
                let file = shared.file();
                let store = format!("sqlite:{}", file.display());
                let queue = format!("embedded:{}", file.display());
                let machine = machine.set("store.url", &store).set("queue.url", &queue);
                Seat { machine, way: Way::File(file, None), queue: None }
            }
            Place::Postgres(database, _) => {
                let proxy = Proxy::new(database.address());
                let url = database.url_through(proxy.address());
                self.on_rabbit(machine.set("store.url", &url), proxy)
            }
            Place::Firestore(server) => {
                let proxy = Proxy::new(server.address());
                let address = proxy.address().to_string();
                let url = format!("firestore://{}/(default)", server.project());
                let machine = machine.with_variable("FIRESTORE_EMULATOR_HOST", &address);
                self.on_rabbit(machine.set("store.url", &url), proxy)
            }
        }
    }

    fn on_rabbit(&self, machine: Machine, store: Proxy) -> Seat {
        let broker = self.broker.as_ref().unwrap();
        let queue = Proxy::new(broker.address());
        let url = format!("{}?queue={QUEUE}", broker.url_through(queue.address()));
        let repo = self.repo.path().display().to_string();
        let machine = machine
            .set("queue.url", &url)
            .set("queue.amqp.delays", DELAY)
            .set("forge.local.allow", &repo);
        Seat { machine, way: Way::Proxy(store), queue: Some(queue) }
    }

    /// Asks for reviews of these numbers, all of the same commit.
    pub async fn publish(&self, numbers: std::ops::Range<u64>) {
        let jobs = numbers.map(|number| self.job(number));
        let published = jobs.map(|message| self.queue.publish(message, Duration::ZERO));
        futures_util::future::try_join_all(published).await.unwrap();
    }

    /// The message that asks for one.
    pub fn job(&self, number: u64) -> Message {
        let (repo, fresh) = (self.repo.path(), number.to_string());
        let input = json!({"repo": repo, "base": "HEAD~1", "head": "HEAD", "fresh": fresh});
        let input = serde_json::value::to_raw_value(&input).unwrap();
        Job { workflow: "review".into(), input, key: None }.to_message()
    }

    /// How many messages the queue has, those in hand too; on a broker, half a second ago.
    pub async fn messages(&self) -> u64 {
        match (&self.broker, &self.place) {
            (Some(broker), _) => broker.queue(QUEUE).await.map_or(0, |queue| queue.messages),
            (None, Place::File(machine)) => {
                u64::try_from(rows(&machine.file()).await.messages).unwrap()
            }
            (None, _) => unreachable!("a server's store comes with a broker"),
        }
    }

    /// Waits until the queue has nothing left, in anybody's hands either.
    pub async fn empty(&self) {
        match &self.broker {
            Some(broker) => broker.empty(QUEUE).await,
            None => {
                let none = async || (self.messages().await == 0).then_some(());
                eventually("the queue is empty", none).await;
            }
        }
    }

    /// When every worker has ended.
    pub async fn finish(self) {
        self.queue.close().await.unwrap();
        // Its connection for publishing goes with it.
        drop(self.queue);
        if let Some(broker) = self.broker {
            broker.finish().await;
        }
        if let Place::Postgres(database, db) = self.place {
            db.close().await;
            database.finish().await;
        }
    }
}

async fn rabbit() -> (Broker, Arc<dyn Queue>) {
    let broker = Broker::shared().await;
    let delays = vec![humantime::parse_duration(DELAY).unwrap()];
    let options = Options { delays, ..Options::default() };
    let url = format!("{}?queue={QUEUE}", broker.url());
    let queue = Arc::new(Amqp::open(&url, options, 1).unwrap());
    (broker, queue)
}

/// Says which nodes finish. Where workers are killed nobody looks for runs but whoever gets their
/// message; a dead owner is known at once, so a lease may be long there.
fn tuned(machine: Machine, hit: Hit) -> Machine {
    let machine = machine
        .with_variable("RUST_LOG", "info,verdict::transitions=debug")
        .set("log.format", "json")
        .set("worker.concurrency", "16")
        // Hit from outside again and again: no run is to blame.
        .set("worker.lost_claims", "1000");
    match hit {
        Hit::Kill => machine
            .set("worker.lease", "10s")
            .set("worker.sweep", "1h")
            .set("worker.sweep_margin", "1h"),
        Hit::Stop => machine.set("worker.lease", &humantime::format_duration(LEASE).to_string()),
    }
}
