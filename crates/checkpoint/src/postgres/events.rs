//! Events from outside in the same database. Every write here may be done twice.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Row as _, postgres::PgRow};

use super::{
    PostgresStore,
    codec::{millis, run_id, text},
};
use crate::{
    codec::refused,
    db::{
        DbError,
        postgres::{Repeat, Sql, work},
    },
};
use verdict_graph::store::{EventStore, EventWait, ExternalEvent, StoreError};

const PUT: &str = "INSERT INTO verdict.event AS e (key, id, payload, at, expires) \
     VALUES ($1, $2, $3, verdict.now_ms(), verdict.now_ms() + $4) ON CONFLICT (key, id) DO UPDATE \
     SET payload = excluded.payload, at = excluded.at, expires = excluded.expires \
     WHERE e.expires <= verdict.now_ms()";

const FIND: &str = "SELECT id, payload FROM verdict.event WHERE key = $1 \
     AND expires > verdict.now_ms() AND id <> ALL($2) ORDER BY at, id LIMIT 1";

const NOTE: &str = "INSERT INTO verdict.event_wait AS w (key, run, interrupt, expires) \
     VALUES ($1, $2, $3, verdict.now_ms() + $4) ON CONFLICT (key, run, interrupt) DO UPDATE \
     SET expires = greatest(w.expires, excluded.expires)";

const WAITS: &str =
    "SELECT run, interrupt FROM verdict.event_wait WHERE key = $1 ORDER BY run, interrupt";

const DROP: &str = "DELETE FROM verdict.event_wait WHERE key = $1 AND run = $2 AND interrupt = $3";

const SWEEP: &str = "WITH waits AS (DELETE FROM verdict.event_wait \
     WHERE expires <= verdict.now_ms() RETURNING 1), \
     events AS (DELETE FROM verdict.event WHERE expires <= verdict.now_ms() RETURNING 1) \
     SELECT (SELECT count(*) FROM waits) + (SELECT count(*) FROM events)";

fn bind<'q>(sql: &'static str, wait: &'q EventWait) -> Sql<'q> {
    let sql = sqlx::query(sql).bind(wait.key.as_bytes()).bind(wait.run.as_str());
    sql.bind(wait.interrupt.as_bytes())
}

impl PostgresStore {
    async fn rows<'q>(
        &self,
        sql: impl Fn() -> Sql<'q> + Send + Sync,
    ) -> Result<Vec<PgRow>, StoreError> {
        let sql = &sql;
        let rows: Result<_, DbError> =
            self.db.call(Repeat::Harmless, work!(|session| session.rows(sql()).await)).await;
        rows.map_err(refused)
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    refused(DbError::from(error))
}

#[async_trait]
impl EventStore for PostgresStore {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        let put = || {
            let sql = sqlx::query(PUT).bind(event.key.as_bytes()).bind(event.id.as_bytes());
            sql.bind(&event.payload[..]).bind(millis(ttl))
        };
        self.rows(put).await.map(drop)
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        let except: Vec<&[u8]> = except.iter().map(String::as_bytes).collect();
        let find = || sqlx::query(FIND).bind(key.as_bytes()).bind(&except);
        let Some(row) = self.rows(find).await?.into_iter().next() else { return Ok(None) };
        let id = text(&row, 0).map_err(unreadable)?;
        let payload: Vec<u8> = row.try_get(1).map_err(unreadable)?;
        Ok(Some(ExternalEvent { key: key.to_owned(), id, payload: payload.into() }))
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        self.rows(|| bind(NOTE, &wait).bind(millis(ttl))).await.map(drop)
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        let read = |row: &PgRow| {
            let (key, run) = (key.to_owned(), run_id(row.try_get(0)?)?);
            Ok(EventWait { key, run, interrupt: text(row, 1)? })
        };
        let rows = self.rows(|| sqlx::query(WAITS).bind(key.as_bytes())).await?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(unreadable)
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        self.rows(|| bind(DROP, wait)).await.map(drop)
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        let gone = self.rows(|| sqlx::query(SWEEP)).await?;
        let gone = gone.first().map_or(Ok(0), |row| row.try_get::<i64, _>(0));
        gone.map(i64::unsigned_abs).map_err(unreadable)
    }
}
