//! The keyed side in the same database.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row as _;

use super::{PostgresStore, codec::millis, rows};
use crate::db::postgres::{Repeat, Session, work};
use verdict_graph::{
    base::{
        Fault, Result, Timestamp, hash_hex,
        keyed::{Budget, Keyed, Spent},
    },
    budget::{self, Bucket},
};

const LIVING: &str =
    "SELECT value FROM verdict.keyed WHERE space = $1 AND key = $2 AND expires > verdict.now_ms()";

async fn living(
    session: &mut Session<'_, '_>,
    space: &str,
    key: &str,
) -> Result<Option<Bytes>, sqlx::Error> {
    let sql = sqlx::query(LIVING).bind(space.as_bytes()).bind(key.as_bytes());
    let row = session.row(sql).await?;
    row.map(|row| Ok(Bytes::from(row.try_get::<Vec<u8>, _>(0)?))).transpose()
}

macro_rules! put {
    () => {
        "INSERT INTO verdict.keyed AS k (space, key, value, expires) \
         VALUES ($1, $2, $3, verdict.now_ms() + $4) ON CONFLICT (space, key) \
         DO UPDATE SET value = excluded.value, expires = excluded.expires"
    };
}

/// Over whatever is there, or only over what has ended.
const PUT: &str = put!();
const CLAIM: &str = concat!(put!(), " WHERE k.expires <= verdict.now_ms()");

/// Answers whether it was put.
async fn put(
    session: &mut Session<'_, '_>,
    sql: &'static str,
    (space, key): (&str, &str),
    value: &[u8],
    life: Duration,
) -> Result<bool, sqlx::Error> {
    let sql = sqlx::query(sql).bind(space.as_bytes()).bind(key.as_bytes());
    Ok(session.run(sql.bind(value).bind(millis(life))).await? > 0)
}

const BUCKET: &str = "SELECT verdict.now_ms(), b.units, b.as_of, b.full_at FROM (SELECT 1) AS one \
     LEFT JOIN verdict.bucket AS b ON b.space = $1 AND b.key = $2";

const FILL: &str = "INSERT INTO verdict.bucket (space, key, units, as_of, full_at) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (space, key) DO UPDATE SET \
     units = excluded.units, as_of = excluded.as_of, full_at = excluded.full_at";

/// Under the bucket's lock.
async fn spend(
    session: &mut Session<'_, '_>,
    (space, key): (&str, &str),
    amount: f64,
    budget: Budget,
) -> Result<Spent, sqlx::Error> {
    let sql = sqlx::query(BUCKET).bind(space.as_bytes()).bind(key.as_bytes());
    let row = session.row(sql).await?.ok_or(sqlx::Error::RowNotFound)?;
    let now = Timestamp(row.try_get(0)?);
    let before = match row.try_get::<Option<f64>, _>(1)? {
        None => None,
        Some(units) => Some(Bucket {
            units,
            as_of: Timestamp(row.try_get(2)?),
            full_at: Timestamp(row.try_get(3)?),
        }),
    };
    let (spent, after) = budget::spend(before, amount, budget, now);
    if let Some(after) = after {
        let sql = sqlx::query(FILL).bind(space.as_bytes()).bind(key.as_bytes());
        session.run(sql.bind(after.units).bind(after.as_of.0).bind(after.full_at.0)).await?;
    }
    Ok(spent)
}

/// The advisory lock of a bucket.
fn lock(space: &str, key: &str) -> i64 {
    let hash = hash_hex(&[b"verdict bucket", space.as_bytes(), key.as_bytes()]);
    let bits = hash.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    bits.map_or(0, u64::cast_signed)
}

#[async_trait]
impl Keyed for PostgresStore {
    async fn get(&self, space: &str, key: &str) -> Result<Option<Bytes>> {
        Ok(self
            .db
            .call(Repeat::Harmless, work!(|session| living(session, space, key).await))
            .await?)
    }

    async fn put(&self, space: &str, key: &str, value: Bytes, life: Duration) -> Result<()> {
        budget::check_value(space, &value)?;
        let value = &value[..];
        Ok(self
            .db
            .call(
                Repeat::Harmless,
                work!(|session| put(session, PUT, (space, key), value, life).await.map(drop)),
            )
            .await?)
    }

    async fn claim(
        &self,
        space: &str,
        key: &str,
        value: Bytes,
        life: Duration,
    ) -> Result<Option<Bytes>> {
        budget::check_value(space, &value)?;
        let value = &value[..];
        for _ in 0..rows::ROUNDS {
            if self
                .db
                .call(
                    Repeat::Never,
                    work!(|session| put(session, CLAIM, (space, key), value, life).await),
                )
                .await?
            {
                return Ok(None);
            }
            if let Some(there) = self.get(space, key).await? {
                return Ok(Some(there));
            }
        }
        Err(Fault::outage(format!("a value of the keyed space `{space}` kept coming and going")))
    }

    async fn spend(&self, space: &str, key: &str, amount: f64, budget: Budget) -> Result<Spent> {
        budget::check_amount(space, amount, budget)?;
        Ok(self
            .db
            .transaction(
                Repeat::Never,
                &[lock(space, key)],
                work!(|session| spend(session, (space, key), amount, budget).await),
            )
            .await?)
    }

    async fn sweep(&self) -> Result<u64> {
        const SWEEP: &str = "WITH buckets AS (DELETE FROM verdict.bucket \
             WHERE full_at <= verdict.now_ms() RETURNING 1), \
             values AS (DELETE FROM verdict.keyed WHERE expires <= verdict.now_ms() RETURNING 1) \
             SELECT (SELECT count(*) FROM buckets) + (SELECT count(*) FROM values)";
        let swept = self
            .db
            .call(
                Repeat::Harmless,
                work!(|session| {
                    let row =
                        session.row(sqlx::query(SWEEP)).await?.ok_or(sqlx::Error::RowNotFound)?;
                    row.try_get::<i64, _>(0)
                }),
            )
            .await?;
        Ok(u64::try_from(swept).unwrap_or(0))
    }
}
