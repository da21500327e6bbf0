//! Where the events of a test wait, in a form that another process can be told.

use std::{path::Path, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use verdict::{
    base::Clock,
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{Runtime, store::Store},
    queue::{
        Queue,
        amqp::{self, Amqp},
        embedded::{self, Embedded},
        pubsub::{self, PubSub},
    },
};

use crate::support::{Broker, Emulator};

/// Runs that a worker has in hand at a time.
pub const CONCURRENCY: usize = 8;
/// The queue's name; on Pub/Sub, the subscription's.
pub const QUEUE: &str = "work";
/// How long a call to a broker may take here, and how long it may be silent.
pub const LIMIT: Duration = Duration::from_secs(3);
/// How long a Pub/Sub message stays with a consumer that was killed: the least there is.
pub const ACK_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Place {
    /// In the store's own file.
    Embedded,
    /// On RabbitMQ.
    Rabbit { url: String },
    /// In the emulator at HOST:PORT.
    PubSub { address: String, project: String },
}

impl Place {
    pub fn rabbit(broker: &Broker) -> Self {
        Self::Rabbit { url: format!("{}?queue={QUEUE}", broker.url()) }
    }

    /// The same behind a proxy's address.
    pub fn rabbit_through(broker: &Broker, address: impl std::fmt::Display) -> Self {
        Self::Rabbit { url: format!("{}?queue={QUEUE}", broker.url_through(address)) }
    }

    pub fn pubsub(emulator: &Emulator) -> Self {
        Self::pubsub_through(emulator, emulator.address())
    }

    pub fn pubsub_through(emulator: &Emulator, address: impl std::fmt::Display) -> Self {
        let project = emulator.project().to_owned();
        Self::PubSub { address: address.to_string(), project }
    }

    /// A handle of its own, as another process would have. `db` is for the embedded one.
    pub fn open(&self, db: &Sqlite) -> Arc<dyn Queue> {
        match self {
            Self::Embedded => {
                let visibility = Duration::from_millis(500);
                let options = embedded::Options { visibility, ..embedded::Options::default() };
                Arc::new(Embedded::open(db.clone(), options))
            }
            Self::Rabbit { url } => {
                let delays = vec![Duration::from_secs(1), Duration::from_secs(5)];
                let (timeout, heartbeat) = (LIMIT, LIMIT);
                let options =
                    amqp::Options { delays, timeout, heartbeat, ..amqp::Options::default() };
                Arc::new(Amqp::open(url, options, u16::try_from(CONCURRENCY).unwrap()).unwrap())
            }
            Self::PubSub { address, project } => {
                let options = pubsub::Options {
                    min_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(1),
                    ack_deadline: ACK_DEADLINE,
                    timeout: LIMIT,
                    emulator: Some(address.clone()),
                    ..pubsub::Options::default()
                };
                let topic = Some("events");
                Arc::new(PubSub::open(project, QUEUE, topic, options, CONCURRENCY).unwrap())
            }
        }
    }
}

/// The store of a folder, and its file.
pub async fn store(folder: &Path) -> (Runtime, Sqlite) {
    let db = Sqlite::open(folder.join("verdict.db"), SqliteOptions::default()).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::new(db.clone()));
    (Runtime::new(store, Clock::system(), &owner(std::process::id())), db)
}

/// What a process is called in the leases it holds.
pub fn owner(pid: u32) -> String {
    format!("worker {pid}")
}
