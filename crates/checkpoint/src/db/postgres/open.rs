//! Reaching a database: the pool, its settings, the schema.

use std::{sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions, PgConnection, PgPool,
    pool::PoolConnectionMetadata,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{PostgresOptions, schema};
use crate::db::DbError;
use verdict_graph::base::ExposeSecret as _;

/// Every statement finds its rows by a key. A plan made while the tables were small, and kept, must
/// not read them whole when they have grown.
const PLANNER: [(&str, &str); 5] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_material", "off"),
    ("jit", "off"),
];

/// A connection unused for so long is asked whether it still is one.
const STALE: Duration = Duration::from_secs(30);

/// How long taking leave of the server may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// A handle to a database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Postgres {
    pub(super) pool: PgPool,
    pub(super) name: Arc<str>,
    pub(super) options: Arc<PostgresOptions>,
    /// When a connection broke last: those made before are not to be trusted.
    pub(super) broken: watch::Sender<Option<Instant>>,
    /// How a transaction begins.
    pub(super) begin: Arc<str>,
    pub(super) closing: CancellationToken,
    pub(super) lanes: TaskTracker,
    migrated: Option<i32>,
}

impl Postgres {
    /// Connects, and brings the schema up to date. `url` is `postgres://USER:PASSWORD@HOST/DATABASE`
    /// with libpq's parameters (`sslmode`, `sslrootcert`…).
    ///
    /// # Errors
    /// Transient when the server is out of reach; permanent when it refuses the role or the
    /// database, or when the schema is another program's, newer than this build knows, or older
    /// while [`PostgresOptions::migrate`] is off.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, DbError> {
        let connect: PgConnectOptions =
            url.parse().map_err(|_| DbError::permanent("the URL of the database is not valid"))?;
        let connect = match &options.password {
            Some(password) => connect.password(password.expose_secret()),
            None => connect,
        };
        let begin = begin(&options);
        let connect = prepared(connect, &options);
        let name = name_of(&connect);
        let broken = watch::Sender::new(None);
        let pool = pool(&options, &broken).connect_lazy_with(connect);
        let mut db = Self {
            pool,
            name,
            options: Arc::new(options),
            broken,
            begin: begin.into(),
            closing: CancellationToken::new(),
            lanes: TaskTracker::new(),
            migrated: None,
        };
        let made = match db.options.migrate {
            true => schema::migrate(&db).await,
            false => schema::is_current(&db).await,
        };
        match made {
            Ok(from) => db.migrated = from,
            Err(error) => {
                db.pool.close().await;
                return Err(error);
            }
        }
        Ok(db)
    }

    /// `HOST:PORT/DATABASE`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is used.
    pub fn options(&self) -> &PostgresOptions {
        &self.options
    }

    /// The schema version that opening found, if it was an older one; 0 for a new database.
    pub fn migrated_from(&self) -> Option<i32> {
        self.migrated
    }

    /// Finishes what was sent to lanes and closes every connection. Later calls on any clone fail.
    /// A server that stands still is not waited for: nothing is left that it should do.
    pub async fn close(&self) {
        self.closing.cancel();
        self.lanes.close();
        self.lanes.wait().await;
        let _ = timeout(FAREWELL, self.pool.close()).await;
    }
}

fn pool(options: &PostgresOptions, broken: &watch::Sender<Option<Instant>>) -> PgPoolOptions {
    let broken = broken.subscribe();
    PgPoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        .before_acquire(move |conn, metadata| {
            let suspect = broken.borrow().is_some_and(|at| at.elapsed() < metadata.age);
            Box::pin(usable(conn, metadata, suspect))
        })
}

async fn usable(
    conn: &mut PgConnection,
    metadata: PoolConnectionMetadata,
    suspect: bool,
) -> Result<bool, sqlx::Error> {
    use sqlx::Connection as _;
    if !suspect && metadata.idle_for > STALE {
        conn.ping().await?;
    }
    Ok(!suspect)
}

/// What a connection is told in its first message. Poolers refuse much of it, and get none.
fn prepared(connect: PgConnectOptions, options: &PostgresOptions) -> PgConnectOptions {
    let connect = connect.extra_float_digits(None).disable_statement_logging();
    let connect = match connect.get_application_name() {
        None => connect.application_name("verdict"),
        Some(_) => connect,
    };
    if !options.prepared_statements {
        return connect.statement_cache_capacity(0);
    }
    connect.options(PLANNER).options(
        ["statement_timeout", "idle_in_transaction_session_timeout"]
            .map(|name| (name, millis(options.statement_timeout).to_string())),
    )
}

fn begin(options: &PostgresOptions) -> String {
    if options.prepared_statements {
        return "BEGIN".to_owned();
    }
    let timeout = millis(options.statement_timeout);
    let mut text = format!(
        "BEGIN; SET LOCAL statement_timeout = {timeout}; \
         SET LOCAL idle_in_transaction_session_timeout = {timeout}"
    );
    for (name, value) in PLANNER {
        text.push_str(&format!("; SET LOCAL {name} = {value}"));
    }
    text
}

/// PostgreSQL counts milliseconds in 31 bits, and takes 0 for none.
fn millis(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX).max(1)
}

fn name_of(connect: &PgConnectOptions) -> Arc<str> {
    let host = match connect.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", connect.get_host(), connect.get_port()),
    };
    let database = connect.get_database().unwrap_or_else(|| connect.get_username());
    format!("{host}/{database}").into()
}
