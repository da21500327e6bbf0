//! The keyed side in the same file.

use std::{sync::LazyLock, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use sqlx::Row as _;

use super::SqliteStore;
use crate::db::{DbError, Lane, Rows, Tx};
use verdict_graph::{
    base::{
        Result, Timestamp,
        keyed::{Budget, Keyed, Spent},
    },
    budget::{self, Bucket},
};

struct Put {
    space: String,
    key: String,
    value: Bytes,
    life: Duration,
}

struct Puts;

impl Lane for Puts {
    type Op = Put;
    type Answer = ();

    async fn run(tx: &mut Tx<'_>, ops: &[Put]) -> Result<Vec<()>, DbError> {
        static PUT: LazyLock<Rows> = LazyLock::new(|| {
            Rows::new(
                "INSERT OR REPLACE INTO keyed (space, key, value, expires) VALUES ",
                "(?,?,?,?)",
                "",
            )
        });
        let now = tx.now();
        for (sql, piece) in PUT.pieces(ops) {
            let query = piece.iter().fold(sqlx::query(sql), |query, op| {
                let query = query.bind(&op.space[..]).bind(&op.key[..]).bind(&op.value[..]);
                query.bind(now.plus(op.life).0)
            });
            query.execute(tx.conn()).await?;
        }
        Ok(vec![(); ops.len()])
    }
}

struct Claims;

impl Lane for Claims {
    type Op = Put;
    type Answer = Option<Bytes>;

    async fn run(tx: &mut Tx<'_>, ops: &[Put]) -> Result<Vec<Option<Bytes>>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(claim(tx, op).await?);
        }
        Ok(answers)
    }
}

async fn claim(tx: &mut Tx<'_>, op: &Put) -> Result<Option<Bytes>, DbError> {
    let now = tx.now();
    let put = sqlx::query(
        "INSERT INTO keyed (space, key, value, expires) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires \
         WHERE expires <= ?5",
    );
    let put = put.bind(&op.space[..]).bind(&op.key[..]).bind(&op.value[..]);
    let put = put.bind(now.plus(op.life).0).bind(now.0);
    if put.execute(tx.conn()).await?.rows_affected() > 0 {
        return Ok(None);
    }
    let there = sqlx::query_scalar::<_, Vec<u8>>(LIVING);
    let there = there.bind(&op.space[..]).bind(&op.key[..]).bind(now.0);
    Ok(there.fetch_optional(tx.conn()).await?.map(Bytes::from))
}

const LIVING: &str = "SELECT value FROM keyed WHERE space = ? AND key = ? AND expires > ?";

struct Spend {
    space: String,
    key: String,
    amount: f64,
    budget: Budget,
}

struct Spendings;

impl Lane for Spendings {
    type Op = Spend;
    type Answer = Spent;

    async fn run(tx: &mut Tx<'_>, ops: &[Spend]) -> Result<Vec<Spent>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for op in ops {
            answers.push(spend(tx, op).await?);
        }
        Ok(answers)
    }
}

async fn spend(tx: &mut Tx<'_>, op: &Spend) -> Result<Spent, DbError> {
    let query = sqlx::query("SELECT units, as_of, full_at FROM bucket WHERE space = ? AND key = ?");
    let row = query.bind(&op.space[..]).bind(&op.key[..]).fetch_optional(tx.conn()).await?;
    let before = match &row {
        None => None,
        Some(row) => Some(Bucket {
            units: row.try_get(0)?,
            as_of: Timestamp(row.try_get(1)?),
            full_at: Timestamp(row.try_get(2)?),
        }),
    };
    let (spent, after) = budget::spend(before, op.amount, op.budget, tx.now());
    if let Some(after) = after {
        sqlx::query(
            "INSERT OR REPLACE INTO bucket (space, key, units, as_of, full_at) VALUES (?,?,?,?,?)",
        )
        .bind(&op.space[..])
        .bind(&op.key[..])
        .bind(after.units)
        .bind(after.as_of.0)
        .bind(after.full_at.0)
        .execute(tx.conn())
        .await?;
    }
    Ok(spent)
}

struct Sweeps;

impl Lane for Sweeps {
    type Op = ();
    type Answer = u64;

    async fn run(tx: &mut Tx<'_>, ops: &[()]) -> Result<Vec<u64>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for () in ops {
            let now = tx.now().0;
            let values = sqlx::query("DELETE FROM keyed WHERE expires <= ?").bind(now);
            let values = values.execute(tx.conn()).await?.rows_affected();
            let buckets = sqlx::query("DELETE FROM bucket WHERE full_at <= ?").bind(now);
            answers.push(values + buckets.execute(tx.conn()).await?.rows_affected());
        }
        Ok(answers)
    }
}

#[async_trait]
impl Keyed for SqliteStore {
    async fn get(&self, space: &str, key: &str) -> Result<Option<Bytes>> {
        let query = sqlx::query_scalar::<_, Vec<u8>>(LIVING);
        let query = query.bind(space).bind(key).bind(self.db.now().0);
        let value = query.fetch_optional(self.db.readers()).await;
        Ok(value.map_err(|e| self.db.failed(e))?.map(Bytes::from))
    }

    async fn put(&self, space: &str, key: &str, value: Bytes, life: Duration) -> Result<()> {
        budget::check_value(space, &value)?;
        let op = Put { space: space.to_owned(), key: key.to_owned(), value, life };
        Ok(self.db.write::<Puts>(op).await?)
    }

    async fn claim(
        &self,
        space: &str,
        key: &str,
        value: Bytes,
        life: Duration,
    ) -> Result<Option<Bytes>> {
        budget::check_value(space, &value)?;
        let op = Put { space: space.to_owned(), key: key.to_owned(), value, life };
        Ok(self.db.write::<Claims>(op).await?)
    }

    async fn spend(&self, space: &str, key: &str, amount: f64, budget: Budget) -> Result<Spent> {
        budget::check_amount(space, amount, budget)?;
        let op = Spend { space: space.to_owned(), key: key.to_owned(), amount, budget };
        Ok(self.db.write::<Spendings>(op).await?)
    }

    async fn sweep(&self) -> Result<u64> {
        Ok(self.db.write::<Sweeps>(()).await?)
    }
}
