//! Events from outside in the same file.

use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Row as _, sqlite::SqliteRow};

use super::{SqliteStore, codec::run_id};
use crate::{
    codec::refused,
    db::{DbError, Lane, Tx},
};
use verdict_graph::store::{EventStore, EventWait, ExternalEvent, StoreError};

/// What is written seldom: one after the other.
enum Op {
    Put(ExternalEvent, Duration),
    Note(EventWait, Duration),
    Drop(EventWait),
    Sweep,
}

struct Writes;

impl Lane for Writes {
    type Op = Op;
    /// How many rows it wrote or removed.
    type Answer = u64;

    async fn run(tx: &mut Tx<'_>, ops: &[Op]) -> Result<Vec<u64>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(write(tx, op).await?);
        }
        Ok(answers)
    }
}

async fn write(tx: &mut Tx<'_>, op: &Op) -> Result<u64, DbError> {
    let now = tx.now();
    let sql = match op {
        Op::Put(event, ttl) => sqlx::query(
            "INSERT INTO event (key, id, payload, at, expires) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET payload = excluded.payload, at = excluded.at, \
             expires = excluded.expires WHERE expires <= ?4",
        )
        .bind(&event.key[..])
        .bind(&event.id[..])
        .bind(&event.payload[..])
        .bind(now.0)
        .bind(now.plus(*ttl).0),
        Op::Note(wait, ttl) => sqlx::query(
            "INSERT INTO event_wait (key, run, interrupt, expires) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO UPDATE SET expires = max(expires, excluded.expires)",
        )
        .bind(&wait.key[..])
        .bind(wait.run.as_str())
        .bind(&wait.interrupt[..])
        .bind(now.plus(*ttl).0),
        Op::Drop(wait) => {
            sqlx::query("DELETE FROM event_wait WHERE key = ? AND run = ? AND interrupt = ?")
                .bind(&wait.key[..])
                .bind(wait.run.as_str())
                .bind(&wait.interrupt[..])
        }
        Op::Sweep => {
            let waits = sqlx::query("DELETE FROM event_wait WHERE expires <= ?").bind(now.0);
            let waits = waits.execute(tx.conn()).await?.rows_affected();
            let events = sqlx::query("DELETE FROM event WHERE expires <= ?").bind(now.0);
            return Ok(waits + events.execute(tx.conn()).await?.rows_affected());
        }
    };
    Ok(sql.execute(tx.conn()).await?.rows_affected())
}

#[async_trait]
impl EventStore for SqliteStore {
    async fn put_event(&self, event: ExternalEvent, ttl: Duration) -> Result<(), StoreError> {
        self.write::<Writes>(Op::Put(event, ttl)).await.map(drop)
    }

    async fn find_event(
        &self,
        key: &str,
        except: &[String],
    ) -> Result<Option<ExternalEvent>, StoreError> {
        let find = async {
            let except = serde_json::to_string(except).unwrap_or_default();
            let row = sqlx::query(
                "SELECT id, payload FROM event WHERE key = ? AND expires > ? \
                 AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY at, id LIMIT 1",
            );
            let row = row.bind(key).bind(self.db.now().0).bind(except);
            let row = row.fetch_optional(&mut *self.db.reader().await?).await?;
            let Some(row) = row else { return Ok(None) };
            let (id, payload) = (row.try_get(0)?, row.try_get::<Vec<u8>, _>(1)?.into());
            Ok(Some(ExternalEvent { key: key.to_owned(), id, payload }))
        };
        find.await.map_err(|e: DbError| refused(self.db.failed(e)))
    }

    async fn note_event_wait(&self, wait: EventWait, ttl: Duration) -> Result<(), StoreError> {
        self.write::<Writes>(Op::Note(wait, ttl)).await.map(drop)
    }

    async fn event_waits(&self, key: &str) -> Result<Vec<EventWait>, StoreError> {
        let read = |row: &SqliteRow| {
            let (key, run) = (key.to_owned(), run_id(row.try_get(0)?)?);
            Ok(EventWait { key, run, interrupt: row.try_get(1)? })
        };
        let sql = "SELECT run, interrupt FROM event_wait WHERE key = ? ORDER BY run, interrupt";
        let find = async {
            let rows = sqlx::query(sql).bind(key).fetch_all(&mut *self.db.reader().await?).await?;
            rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(DbError::from)
        };
        find.await.map_err(|e: DbError| refused(self.db.failed(e)))
    }

    async fn drop_event_wait(&self, wait: &EventWait) -> Result<(), StoreError> {
        self.write::<Writes>(Op::Drop(wait.clone())).await.map(drop)
    }

    async fn sweep_events(&self) -> Result<u64, StoreError> {
        self.write::<Writes>(Op::Sweep).await
    }
}
