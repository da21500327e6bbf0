//! The key-value store in the same database. A write whose answer was lost is known by its revision.

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row as _;

use super::{PostgresStore, codec::millis, rows::bytes};
use crate::{
    codec::random,
    db::postgres::{Repeat, Session, work},
};
use verdict_graph::base::{
    Result, Timestamp,
    key_value::{Entry, Expect, Found, KeyValueStore, Write},
};

/// The time, and the entry if there is one.
const READ: &str = "SELECT verdict.now_ms(), k.value, k.expires, k.revision FROM (SELECT 1) AS one \
     LEFT JOIN verdict.key_value AS k ON k.space = $1 AND k.key = $2";

const WRITE: &str = "INSERT INTO verdict.key_value AS k (space, key, value, expires, revision) \
     VALUES ($1, $2, $3, verdict.now_ms() + $4, $5) ON CONFLICT (space, key) DO UPDATE \
     SET value = excluded.value, expires = excluded.expires, revision = excluded.revision \
     WHERE $6 OR k.revision = $7 OR k.revision = excluded.revision \
     OR k.expires <= verdict.now_ms()";

const SWEEP: &str = "DELETE FROM verdict.key_value WHERE expires <= verdict.now_ms()";

async fn read(session: &mut Session<'_, '_>, space: &str, key: &str) -> Result<Found, sqlx::Error> {
    let sql = sqlx::query(READ).bind(space.as_bytes()).bind(key.as_bytes());
    let row = session.row(sql).await?.ok_or(sqlx::Error::RowNotFound)?;
    let entry = match row.try_get::<Option<Vec<u8>>, _>(1)? {
        None => None,
        Some(value) => Some(Entry {
            value: Bytes::from(value),
            expires: Timestamp(row.try_get(2)?),
            revision: random(row.try_get(3)?)?,
        }),
    };
    Ok(Found { entry, now: Timestamp(row.try_get(0)?) })
}

async fn write(
    session: &mut Session<'_, '_>,
    write: &Write,
    revision: u128,
) -> Result<bool, sqlx::Error> {
    let expected = match write.expect {
        Expect::Revision(revision) => Some(bytes(revision)),
        Expect::Anything | Expect::Nothing => None,
    };
    let sql = sqlx::query(WRITE)
        .bind(write.space.as_bytes())
        .bind(write.key.as_bytes())
        .bind(&write.value[..])
        .bind(millis(write.ttl))
        .bind(bytes(revision))
        .bind(write.expect == Expect::Anything)
        .bind(expected);
    Ok(session.run(sql).await? > 0)
}

#[async_trait]
impl KeyValueStore for PostgresStore {
    async fn read(&self, space: &str, key: &str) -> Result<Found> {
        Ok(self.db.call(Repeat::Harmless, work!(|session| read(session, space, key).await)).await?)
    }

    async fn write(&self, op: Write) -> Result<bool> {
        let (op, revision) = (&op, fastrand::u128(..));
        Ok(self
            .db
            .call(Repeat::Harmless, work!(|session| write(session, op, revision).await))
            .await?)
    }

    async fn sweep(&self) -> Result<u64> {
        Ok(self
            .db
            .call(Repeat::Harmless, work!(|session| session.run(sqlx::query(SWEEP)).await))
            .await?)
    }
}
