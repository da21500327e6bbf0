//! Claiming and renewing.

use std::{collections::HashSet, sync::LazyLock, time::Duration};

use super::{codec::number, rows};
use crate::{
    db::{DbError, Lane, Rows, Tx},
    waves::waves,
};
use verdict_graph::{
    rules,
    store::{Claim, Claimed, Lease, RunId, StoreError},
};

pub(super) struct Claims;

impl Lane for Claims {
    type Op = Claim;
    type Answer = Claimed;

    async fn run(tx: &mut Tx<'_>, ops: &[Claim]) -> Result<Vec<Claimed>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for wave in waves(ops, |op| (&op.run, None)) {
            let ids: Vec<&RunId> = wave.iter().map(|op| &op.run).collect();
            let mut found = rows::find(tx, &ids).await?;
            let mut taken = Vec::new();
            for op in wave {
                let Some(mut row) = found.remove(&op.run) else {
                    answers.push(Claimed::Missing);
                    continue;
                };
                let claimed = rules::claim(&mut row.head, op, tx.now());
                if matches!(claimed, Claimed::Yours(..)) {
                    taken.push(row);
                }
                answers.push(claimed);
            }
            rows::save(tx, &taken).await?;
        }
        Ok(answers)
    }
}

pub(super) struct Renewals;

impl Lane for Renewals {
    type Op = (Lease, Duration);
    type Answer = Result<(), StoreError>;

    async fn run(tx: &mut Tx<'_>, ops: &[Self::Op]) -> Result<Vec<Self::Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for wave in waves(ops, |(lease, _)| (&lease.run, None)) {
            let kept = renew(tx, wave).await?;
            for (lease, _) in wave {
                answers.push(if kept.contains(lease.run.as_str()) {
                    Ok(())
                } else if rows::find_one(tx, &lease.run).await?.is_some() {
                    Err(StoreError::Fenced)
                } else {
                    Err(StoreError::Missing(lease.run.clone()))
                });
            }
        }
        Ok(answers)
    }
}

/// Renews what may be renewed; answers which runs' leases that were.
async fn renew(tx: &mut Tx<'_>, wave: &[(Lease, Duration)]) -> Result<HashSet<String>, DbError> {
    static RENEW: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new(
            "UPDATE run SET expires = v.column3 FROM (VALUES ",
            "(?,?,?)",
            ") AS v WHERE run.id = v.column1 AND run.epoch = v.column2 \
             AND run.owner IS NOT NULL RETURNING id",
        )
    });
    let now = tx.now();
    let mut kept = HashSet::with_capacity(wave.len());
    for (sql, piece) in RENEW.pieces(wave) {
        let query = piece.iter().fold(sqlx::query_scalar(sql), |query, (lease, ttl)| {
            query.bind(lease.run.as_str()).bind(number(lease.epoch)).bind(now.plus(*ttl).0)
        });
        kept.extend(query.fetch_all(tx.conn()).await?);
    }
    Ok(kept)
}
