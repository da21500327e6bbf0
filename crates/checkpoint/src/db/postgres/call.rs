//! Attempts: one statement or one transaction on one connection, in bounded time.

use std::{
    fmt::{Display, Write as _},
    io::ErrorKind,
    marker::PhantomData,
    time::Duration,
};

use futures_util::future::BoxFuture;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use tokio::time::{Instant, timeout};

use super::{
    Postgres,
    error::{Again, again, breaks},
};
use crate::db::DbError;

/// A statement and what is bound to it.
pub type Sql<'q> = Query<'q, sqlx::Postgres, PgArguments>;

/// What an attempt comes to.
pub type Done<'c, T> = BoxFuture<'c, Result<T, sqlx::Error>>;

/// The most attempts at what the server rolls back or the connection loses.
const ATTEMPTS: u32 = 6;

/// Whether a call may be sent again after the connection broke, when nobody knows whether it was
/// committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Twice is as good as once.
    Harmless,
    /// Twice would be once too often.
    Never,
}

/// A connection for the time of one attempt `'c`, which what the attempt borrows, `'w`, outlives.
#[derive(Debug)]
pub struct Session<'c, 'w> {
    conn: &'c mut PgConnection,
    prepared: bool,
    outlived: PhantomData<&'c &'w ()>,
}

/// What is done in a session: `work!(|session| …)`. What it captures must be references, or cheap to
/// copy: it may be done more than once.
macro_rules! work {
    (|$session:ident| $body:expr) => {
        move |mut session: $crate::db::postgres::Session<'_, '_>| {
            Box::pin(async move {
                let $session = &mut session;
                $body
            })
        }
    };
}
pub(crate) use work;

impl<'c> Session<'c, '_> {
    fn new(conn: &'c mut PgConnection, prepared: bool) -> Self {
        Self { conn, prepared, outlived: PhantomData }
    }

    /// Runs a statement to its end; answers its rows.
    ///
    /// # Errors
    /// As the server or the connection failed.
    pub async fn rows(&mut self, sql: Sql<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        sql.persistent(self.prepared).fetch_all(&mut *self.conn).await
    }

    /// Runs a statement to its end; answers its first row.
    ///
    /// # Errors
    /// As the server or the connection failed.
    pub async fn row(&mut self, sql: Sql<'_>) -> Result<Option<PgRow>, sqlx::Error> {
        Ok(self.rows(sql).await?.into_iter().next())
    }

    /// Runs a statement to its end; answers how many rows it touched.
    ///
    /// # Errors
    /// As the server or the connection failed.
    pub async fn run(&mut self, sql: Sql<'_>) -> Result<u64, sqlx::Error> {
        Ok(sql.persistent(self.prepared).execute(&mut *self.conn).await?.rows_affected())
    }

    /// Runs a text of several statements without parameters.
    pub(super) async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(&mut *self.conn).await.map(drop)
    }
}

impl Postgres {
    /// Runs `work`, each of whose statements is a transaction of its own.
    ///
    /// # Errors
    /// As the last attempt failed. Transient ones may have been committed only if the connection
    /// was lost.
    pub async fn call<'w, T: Send>(
        &self,
        repeat: Repeat,
        work: impl for<'c> Fn(Session<'c, 'w>) -> Done<'c, T> + Send + Sync,
    ) -> Result<T, DbError> {
        let begin = (!self.options.prepared_statements).then(|| self.begin.to_string());
        self.attempts(repeat, begin.as_deref(), work).await
    }

    /// Runs `work` in a transaction that holds an advisory lock on each of `locks` from before its
    /// first statement. What `work` answers as an error is rolled back.
    ///
    /// # Errors
    /// As [`Postgres::call`].
    pub async fn transaction<'w, T: Send>(
        &self,
        repeat: Repeat,
        locks: &[i64],
        work: impl for<'c> Fn(Session<'c, 'w>) -> Done<'c, T> + Send + Sync,
    ) -> Result<T, DbError> {
        let mut begin = self.begin.to_string();
        let mut locks = locks.to_vec();
        // Everybody takes them in the same order.
        locks.sort_unstable();
        locks.dedup();
        for lock in locks {
            let _ = write!(begin, "; SELECT pg_advisory_xact_lock({lock})");
        }
        self.attempts(repeat, Some(&begin), work).await
    }

    async fn attempts<'w, T: Send>(
        &self,
        repeat: Repeat,
        begin: Option<&str>,
        work: impl for<'c> Fn(Session<'c, 'w>) -> Done<'c, T> + Send + Sync,
    ) -> Result<T, DbError> {
        let (began, mut attempt) = (Instant::now(), 0);
        loop {
            attempt += 1;
            let mut conn = self.pool.acquire().await.map_err(|error| self.failed(error))?;
            let error = match self.attempt(&mut conn, begin, &work).await {
                Ok(done) => return Ok(done),
                Err(None) => {
                    drop(conn.detach());
                    return Err(self.timed_out());
                }
                Err(Some(error)) => error,
            };
            self.discard(conn, begin.is_some(), &error);
            let repeatable = match again(&error) {
                Again::Now => true,
                Again::IfRepeatable => repeat == Repeat::Harmless,
                Again::Not => false,
            };
            let late = began.elapsed() > self.options.statement_timeout;
            if !repeatable || late || attempt == ATTEMPTS {
                return Err(self.failed(error));
            }
            tokio::time::sleep(pause(attempt)).await;
        }
    }

    /// `None` when it took too long.
    async fn attempt<'w, T: Send>(
        &self,
        conn: &mut PgConnection,
        begin: Option<&str>,
        work: &(impl for<'c> Fn(Session<'c, 'w>) -> Done<'c, T> + Send + Sync),
    ) -> Result<T, Option<sqlx::Error>> {
        let prepared = self.options.prepared_statements;
        let whole = async {
            let Some(begin) = begin else {
                return work(Session::new(conn, prepared)).await;
            };
            let mut tx = conn.begin_with(AssertSqlSafe(begin)).await?;
            let done = work(Session::new(&mut tx, prepared)).await?;
            tx.commit().await?;
            Ok(done)
        };
        let limit = self.options.statement_timeout;
        timeout(limit, whole).await.map_err(|_| None)?.map_err(Some)
    }

    /// Gives back a connection that still is one. Of a transaction that failed, nobody knows where
    /// it stands.
    fn discard(
        &self,
        conn: PoolConnection<sqlx::Postgres>,
        transaction: bool,
        error: &sqlx::Error,
    ) {
        let broken = breaks(error);
        if broken {
            self.broken.send_replace(Some(Instant::now()));
        }
        if broken || transaction {
            drop(conn.detach());
        }
    }

    fn timed_out(&self) -> DbError {
        self.broken.send_replace(Some(Instant::now()));
        let limit = humantime::format_duration(self.options.statement_timeout);
        self.named(DbError::transient(format!("no answer within {limit}")))
    }

    fn failed(&self, error: sqlx::Error) -> DbError {
        let limit = humantime::format_duration(self.options.acquire_timeout);
        self.named(match error {
            sqlx::Error::PoolTimedOut => DbError::transient(format!(
                "no connection within {limit}: the server is out of reach, or every connection is \
                 busy (`store.postgres.max_connections`)"
            )),
            sqlx::Error::Tls(why) => untrusted(why),
            // How the handshake says that it does not trust the server.
            sqlx::Error::Io(why) if why.kind() == ErrorKind::InvalidData => untrusted(why),
            other => DbError::from(other),
        })
    }

    pub(super) fn named(&self, error: DbError) -> DbError {
        error.of(&self.name)
    }
}

fn untrusted(why: impl Display) -> DbError {
    DbError::permanent(format!(
        "no TLS that can be trusted: {why}; see `sslmode` and `sslrootcert` in `store.url`"
    ))
}

/// Longer each time, and never the same for two.
fn pause(attempt: u32) -> Duration {
    let most = 5 << attempt.min(8);
    Duration::from_millis(fastrand::u64(most / 2..most))
}
