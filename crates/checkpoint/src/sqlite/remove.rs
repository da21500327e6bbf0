//! Deletion and retention.

use std::time::Duration;

use super::{codec::number, rows};
use crate::db::{DbError, Lane, Tx};
use verdict_graph::{
    rules,
    store::{Deleted, RunId},
};

pub(super) struct Deletions;

impl Lane for Deletions {
    type Op = RunId;
    type Answer = bool;

    async fn run(tx: &mut Tx<'_>, ops: &[RunId]) -> Result<Vec<bool>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for run in ops {
            let n = sqlx::query_scalar("SELECT n FROM run WHERE id = ?").bind(run.as_str());
            let n = n.fetch_optional(tx.conn()).await?;
            if let Some(n) = n {
                remove(tx, n).await?;
            }
            answers.push(n.is_some());
        }
        Ok(answers)
    }
}

pub(super) struct SparingDeletions;

impl Lane for SparingDeletions {
    type Op = RunId;
    type Answer = Deleted;

    async fn run(tx: &mut Tx<'_>, ops: &[RunId]) -> Result<Vec<Deleted>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for run in ops {
            let Some(row) = rows::find_one(tx, run).await? else {
                answers.push(Deleted::Missing);
                continue;
            };
            let spared = rules::spared(&row.head, tx.now());
            if spared.is_none() {
                remove(tx, row.n).await?;
            }
            answers.push(spared.unwrap_or(Deleted::Done));
        }
        Ok(answers)
    }
}

/// Removes run number `n` and all that belongs to it.
async fn remove(tx: &mut Tx<'_>, n: i64) -> Result<(), DbError> {
    sqlx::query(
        "DELETE FROM record WHERE place BETWEEN ?2 AND ?3; DELETE FROM ask WHERE run = ?1; \
         DELETE FROM run WHERE n = ?1",
    )
    .bind(n)
    .bind(rows::place(n, 0))
    .bind(rows::last_place(n))
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub(super) struct Expiries;

impl Lane for Expiries {
    type Op = (Duration, usize);
    type Answer = u64;

    async fn run(tx: &mut Tx<'_>, ops: &[Self::Op]) -> Result<Vec<u64>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for (age, limit) in ops {
            answers.push(expire(tx, *age, *limit).await?);
        }
        Ok(answers)
    }
}

async fn expire(tx: &mut Tx<'_>, age: Duration, limit: usize) -> Result<u64, DbError> {
    let before = tx.now().minus(age).0;
    sqlx::query(
        "DELETE FROM letter WHERE id IN (SELECT id FROM letter WHERE state <> 0 \
         AND last_at <= ? ORDER BY last_at, id LIMIT ?)",
    )
    .bind(before)
    .bind(number(limit))
    .execute(tx.conn())
    .await?;
    let outlived = sqlx::query_scalar(
        "SELECT n FROM run WHERE status >= 3 AND not_before IS NULL AND updated_at <= ? \
         AND NOT EXISTS (SELECT 1 FROM letter WHERE letter.run = run.id AND letter.state = 0) \
         ORDER BY updated_at, id LIMIT ?",
    );
    let outlived: Vec<i64> = outlived.bind(before).bind(number(limit)).fetch_all(tx.conn()).await?;
    for n in &outlived {
        remove(tx, *n).await?;
    }
    Ok(outlived.len() as u64)
}
