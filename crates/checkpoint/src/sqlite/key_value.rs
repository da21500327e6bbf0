//! The key-value store in the same file.

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row as _;

use super::SqliteStore;
use crate::{
    codec::random,
    db::{DbError, Lane, Tx},
};
use verdict_graph::base::{
    Result, Timestamp,
    key_value::{Entry, Expect, Found, KeyValueStore, Write},
};

struct Writes;

impl Lane for Writes {
    type Op = Write;
    type Answer = bool;

    async fn run(tx: &mut Tx<'_>, ops: &[Write]) -> Result<Vec<bool>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(write(tx, op).await?);
        }
        Ok(answers)
    }
}

async fn write(tx: &mut Tx<'_>, op: &Write) -> Result<bool, DbError> {
    let now = tx.now();
    let (anything, revision) = match op.expect {
        Expect::Anything => (true, None),
        Expect::Nothing => (false, None),
        Expect::Revision(revision) => (false, Some(revision.to_be_bytes().to_vec())),
    };
    let written = sqlx::query(
        "INSERT INTO key_value (space, key, value, expires, revision) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires, \
         revision = excluded.revision WHERE ?6 OR revision = ?7 OR expires <= ?8",
    )
    .bind(&op.space[..])
    .bind(&op.key[..])
    .bind(&op.value[..])
    .bind(now.plus(op.ttl).0)
    .bind(fastrand::u128(..).to_be_bytes().to_vec())
    .bind(anything)
    .bind(revision)
    .bind(now.0)
    .execute(tx.conn())
    .await?;
    Ok(written.rows_affected() > 0)
}

struct Sweeps;

impl Lane for Sweeps {
    type Op = ();
    type Answer = u64;

    async fn run(tx: &mut Tx<'_>, ops: &[()]) -> Result<Vec<u64>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for () in ops {
            let sweep = sqlx::query("DELETE FROM key_value WHERE expires <= ?").bind(tx.now().0);
            answers.push(sweep.execute(tx.conn()).await?.rows_affected());
        }
        Ok(answers)
    }
}

#[async_trait]
impl KeyValueStore for SqliteStore {
    async fn read(&self, space: &str, key: &str) -> Result<Found> {
        let now = self.db.now();
        let read = async {
            let query =
                "SELECT value, expires, revision FROM key_value WHERE space = ? AND key = ?";
            let query = sqlx::query(query).bind(space).bind(key);
            let row = query.fetch_optional(&mut *self.db.reader().await?).await?;
            let Some(row) = row else { return Ok(None) };
            let value = Bytes::from(row.try_get::<Vec<u8>, _>(0)?);
            let revision = random(row.try_get(2)?)?;
            Ok(Some(Entry { value, expires: Timestamp(row.try_get(1)?), revision }))
        };
        let entry = read.await.map_err(|e: DbError| self.db.failed(e))?;
        Ok(Found { entry, now })
    }

    async fn write(&self, write: Write) -> Result<bool> {
        Ok(self.db.write::<Writes>(write).await?)
    }

    async fn sweep(&self) -> Result<u64> {
        Ok(self.db.write::<Sweeps>(()).await?)
    }
}
