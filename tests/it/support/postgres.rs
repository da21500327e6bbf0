//! PostgreSQL: the server of the whole test run, or one of a test's own that it may break.
//!
//! Either way a test has a database of its own, made from a template that holds the schema.
//! [`Database::finish`] ends every test: it fails if a connection is still open, and drops the
//! database.

use std::thread;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use url::Url;

use super::{eventually, service::Service};

/// A database on a server.
pub struct Database {
    server: Url,
    name: String,
    service: Option<Service>,
    open: bool,
}

/// Held by whoever makes the template, or a copy of it: nobody may look into it meanwhile.
const LOCK: &str = "SELECT pg_advisory_lock(20110)";

impl Database {
    /// On the server of the whole test run, with the schema.
    pub async fn shared() -> Self {
        let database = Self::at(super::told("VERDICT_TEST_POSTGRES"), None);
        let mut server = database.server().await;
        tell(&mut server, LOCK).await;
        let template = database.template(&mut server).await;
        let create = format!("CREATE DATABASE \"{}\" TEMPLATE {template}", database.name);
        tell(&mut server, &create).await;
        server.close().await.unwrap();
        database
    }

    /// Empty, on the server of the whole test run.
    pub async fn empty() -> Self {
        let database = Self::at(super::told("VERDICT_TEST_POSTGRES"), None);
        database.create().await;
        database
    }

    /// Empty, on a server of the test's own.
    pub async fn private() -> Self {
        let mut service = Service::new("postgres");
        let told = service.start().await;
        let database = Self::at(told["VERDICT_TEST_POSTGRES"].clone(), Some(service));
        database.create().await;
        database
    }

    fn at(server: String, service: Option<Service>) -> Self {
        Self { server: server.parse().unwrap(), name: super::unique(), service, open: true }
    }

    async fn create(&self) {
        let mut server = self.server().await;
        tell(&mut server, &format!("CREATE DATABASE \"{}\"", self.name)).await;
        server.close().await.unwrap();
    }

    async fn server(&self) -> PgConnection {
        PgConnection::connect(self.server.as_str()).await.unwrap()
    }

    /// The template's name. It is made by the first test of the run, of the schema this build makes.
    async fn template(&self, server: &mut PgConnection) -> String {
        let name = format!("verdict_template_{}", std::process::id_of_build());
        let there = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(&name);
        if there.fetch_optional(&mut *server).await.unwrap().is_none() {
            tell(server, &format!("CREATE DATABASE {name}_new")).await;
            let url = self.url_of(&self.server, &format!("{name}_new"));
            let db = verdict::db::Postgres::open(&url, Default::default()).await.unwrap();
            db.close().await;
            tell(server, &format!("ALTER DATABASE {name}_new RENAME TO {name}")).await;
        }
        name
    }
}
