//! Renewing leases.

use std::collections::HashSet;

use sqlx::Row as _;

use super::{codec::number, rows};
use crate::{
    db::{
        DbError, Postgres,
        postgres::{Lane, Repeat, Session, work},
    },
    waves::waves,
};
use verdict_graph::store::{Lease, StoreError};

pub(super) struct Renewals;

/// A lease and for how many milliseconds.
type Renewal = (Lease, i64);

impl Lane for Renewals {
    type Op = Renewal;
    type Answer = Result<(), StoreError>;

    fn key((lease, _): &Renewal) -> &str {
        lease.run.as_str()
    }

    async fn run(db: &Postgres, ops: &[Renewal]) -> Result<Vec<Self::Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for wave in waves(ops, |(lease, _)| (&lease.run, None)) {
            answers.extend(
                db.call(Repeat::Harmless, work!(|session| renew(session, wave).await)).await?,
            );
        }
        Ok(answers)
    }
}

const RENEW: &str = "UPDATE verdict.run AS r SET expires = verdict.now_ms() + v.ttl \
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS v(id, epoch, ttl) \
     WHERE r.id = v.id AND r.epoch = v.epoch AND r.owner IS NOT NULL RETURNING r.id";

async fn renew(
    session: &mut Session<'_, '_>,
    wave: &[Renewal],
) -> Result<Vec<Result<(), StoreError>>, sqlx::Error> {
    let ids: Vec<&str> = wave.iter().map(Renewals::key).collect();
    let sql = sqlx::query(RENEW)
        .bind(&ids)
        .bind(wave.iter().map(|(lease, _)| number(lease.epoch)).collect::<Vec<_>>())
        .bind(wave.iter().map(|(_, ttl)| *ttl).collect::<Vec<_>>());
    let kept = session.rows(sql).await?;
    let kept: HashSet<&str> = kept.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let lost: Vec<&str> = ids.iter().copied().filter(|id| !kept.contains(id)).collect();
    let there =
        if lost.is_empty() { Default::default() } else { rows::find(session, &lost).await? };
    let answer = |(lease, _): &Renewal| match lease.run.as_str() {
        id if kept.contains(id) => Ok(()),
        id if there.contains_key(id) => Err(StoreError::Fenced),
        _ => Err(StoreError::Missing(lease.run.clone())),
    };
    Ok(wave.iter().map(answer).collect())
}
