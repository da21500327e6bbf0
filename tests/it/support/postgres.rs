//! PostgreSQL: the server of the whole test run, or one of a test's own that it may break.
//!
//! Either way a test has a database of its own. [`Database::finish`] ends every test: it fails if a
//! connection is still open, and drops the database. A private server is killed when its database
//! goes out of scope, also after a panic.

use std::thread;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgRow};
use url::Url;

use super::{eventually, service::Service};

/// A database, empty at first.
pub struct Database {
    server: Url,
    name: String,
    service: Option<Service>,
    open: bool,
}

impl Database {
    /// On the server of the whole test run.
    pub async fn shared() -> Self {
        Self::at(&super::told(SERVER), None).await
    }

    /// On a server of this test's own: up in a second.
    pub async fn private() -> Self {
        let mut service = Service::new("postgres");
        let told = service.start().await;
        Self::at(&told[SERVER], Some(service)).await
    }

    /// The same, with a certificate for `localhost`, and a role `secure` that is let in with TLS and
    /// its password only.
    pub async fn private_with_tls() -> Self {
        let mut service = Service::told("postgres", &[("VERDICT_TEST_TLS", "yes")]);
        let told = service.start().await;
        Self::at(&told[SERVER], Some(service)).await
    }

    async fn at(server: &str, service: Option<Service>) -> Self {
        let server = server.parse().unwrap();
        let database = Self { server, name: super::unique(), service, open: true };
        database
            .command(&format!("CREATE DATABASE {} TEMPLATE template0", database.quoted()))
            .await;
        database
    }

    /// `postgres://USER@HOST:PORT/DATABASE`.
    pub fn url(&self) -> String {
        self.url_through(self.address())
    }

    /// The same behind another address, of a proxy or a pooler.
    pub fn url_through(&self, address: impl std::fmt::Display) -> String {
        format!("postgres://postgres@{address}/{}", self.name)
    }

    /// `HOST:PORT`: the target of a proxy.
    pub fn address(&self) -> String {
        format!("{}:{}", self.server.host_str().unwrap(), self.server.port().unwrap())
    }

    /// Its name, to be quoted in SQL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection of the test's own to it.
    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.unwrap()
    }

    /// Runs statements in it.
    pub async fn tell(&self, sql: &str) {
        tell(self.connect().await, sql).await;
    }

    /// Runs one statement in it; answers its rows.
    pub async fn ask(&self, sql: &str) -> Vec<PgRow> {
        let mut conn = self.connect().await;
        let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        rows
    }

    /// Runs statements in the server's own database.
    pub async fn command(&self, sql: &str) {
        tell(PgConnection::connect(self.server.as_str()).await.unwrap(), sql).await;
    }

    /// From now on the store's time in it is what [`Database::set_clock`] says. The schema must be
    /// there.
    pub async fn still(&self, at: i64) {
        self.tell(
            "CREATE TABLE public.hand AS SELECT 0::bigint AS at; \
             CREATE OR REPLACE FUNCTION verdict.now_ms() RETURNS bigint LANGUAGE sql STABLE \
             PARALLEL SAFE AS 'SELECT at FROM public.hand'",
        )
        .await;
        self.set_clock(at).await;
    }

    /// Milliseconds since 1970.
    pub async fn set_clock(&self, at: i64) {
        self.tell(&format!("UPDATE public.hand SET at = {at}")).await;
    }

    /// Whoever writes to it may have died just now: what they sent is done, or refused, before this.
    pub async fn empty(&self) {
        self.tell(
            "TRUNCATE verdict.run, verdict.record, verdict.ask, verdict.letter, \
             verdict.key_value",
        )
        .await;
    }

    /// How many connections are open to it.
    pub async fn connections(&self) -> usize {
        let mut conn = PgConnection::connect(self.server.as_str()).await.unwrap();
        let sql = "SELECT 1 FROM pg_stat_activity WHERE datname = $1";
        let rows = sqlx::query(sql).bind(&self.name).fetch_all(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        rows.len()
    }

    /// Ends the test's use of it: fails if a connection is still open, and drops it.
    pub async fn finish(mut self) {
        self.open = false;
        let closed = async || (self.connections().await == 0).then_some(());
        eventually("every connection is closed", closed).await;
        self.command(&format!("DROP DATABASE {}", self.quoted())).await;
        if let Some(service) = &mut self.service {
            service.kill().await;
        }
    }

    fn quoted(&self) -> String {
        format!("\"{}\"", self.name)
    }
}

/// For a private server only.
impl Database {
    /// The server ends its connections, and then itself.
    pub async fn stop(&mut self) {
        self.own().stop().await;
    }

    /// SIGKILL. Its backends see that it is gone, and end without another word.
    pub async fn kill(&mut self) {
        self.own().kill().await;
    }

    /// Starts the server again: same address, same data.
    pub async fn start(&mut self) {
        let told = self.own().start().await;
        assert_eq!(told[SERVER], self.server.as_str());
    }

    /// The certificate of the authority under which the server has its own.
    pub fn authority(&self) -> std::path::PathBuf {
        self.service.as_ref().unwrap().folder().join("root.crt")
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        self.service.as_ref().unwrap().log()
    }

    fn own(&mut self) -> &mut Service {
        self.service.as_mut().unwrap()
    }
}

/// The variable that says where the server is.
const SERVER: &str = "VERDICT_TEST_POSTGRES";

async fn tell(mut conn: PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        if self.service.is_none() {
            drop_database(self.server.clone(), self.quoted());
        }
        assert!(thread::panicking(), "a test must end its use of a database with `finish`");
    }
}

/// Outside the test's runtime, which may be on its way down.
fn drop_database(server: Url, quoted: String) {
    let work = async move {
        let mut conn = PgConnection::connect(server.as_str()).await?;
        let sql = AssertSqlSafe(format!("DROP DATABASE {quoted} WITH (FORCE)"));
        sqlx::raw_sql(sql).execute(&mut conn).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _ = thread::spawn(move || runtime.unwrap().block_on(work)).join();
}

/// A pgbouncer in transaction mode, with fewer connections to the server than its clients have.
pub struct Pooler {
    address: String,
    service: Service,
}

impl Pooler {
    /// Before the server of that database.
    pub async fn before(database: &Database) -> Self {
        let mut service = Service::told("pgbouncer", &[(SERVER, database.server.as_str())]);
        let address = service.start().await["VERDICT_TEST_PGBOUNCER"].clone();
        Self { address, service }
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it, and its connections to the server.
    pub async fn finish(mut self) {
        self.service.stop().await;
    }
}
