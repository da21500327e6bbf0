//! Reading heads and records.

use std::time::Duration;

use sqlx::{Postgres as Server, QueryBuilder, Row as _, postgres::PgRow};

use super::codec::{COLUMNS, Row, code, columns, millis, number, status, whole};
use crate::{
    codec::Decoded,
    db::{
        DbError, Postgres,
        postgres::{Repeat, work},
    },
    pack::Pack,
};
use verdict_graph::store::{Head, RunFilter, RunId, RunStatus, StoredRecord, WaitingFor};

pub(super) async fn head(db: &Postgres, run: &RunId) -> Result<Option<Head>, DbError> {
    Ok(super::rows::inspect(db, run.as_str()).await?.map(|(row, _)| row.head))
}

/// The head's row and those of the records, in one statement: of one moment. What one kind of row
/// has not got is null.
const LOAD: &str = concat!(
    "SELECT ",
    columns!(),
    ", NULL::bytea, 0::bigint AS seq FROM verdict.run WHERE id = $1 UNION ALL \
     SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, body, seq \
     FROM verdict.record WHERE run = (SELECT n FROM verdict.run WHERE id = $1) AND seq > $2 ORDER BY seq"
);

pub(super) async fn load(
    db: &Postgres,
    run: &RunId,
    after: u64,
) -> Result<Option<(Head, Vec<StoredRecord>)>, DbError> {
    db.call(
        Repeat::Harmless,
        work!(|session| {
            let sql = sqlx::query(LOAD).bind(run.as_str()).bind(number(after));
            let rows = session.rows(sql).await?;
            let Some((head, records)) = rows.split_first() else { return Ok(None) };
            let mut behind = Vec::new();
            for row in records {
                behind.extend(appended(row, after)?);
            }
            Ok(Some((Row::read(head)?.head, behind)))
        }),
    )
    .await
}

/// Those records of an append that have a number behind `after`.
fn appended(row: &PgRow, after: u64) -> Decoded<impl Iterator<Item = StoredRecord> + use<>> {
    let body: Vec<u8> = row.try_get(COLUMNS)?;
    let last: u64 = whole(row, COLUMNS + 1)?;
    let pack = Pack::decode(body.into())
        .ok_or_else(|| sqlx::Error::Decode(format!("records up to {last} are cut off").into()))?;
    let behind = usize::try_from(last.saturating_sub(after)).unwrap_or(usize::MAX);
    let known = pack.records.len().saturating_sub(behind);
    Ok(pack.records.into_iter().skip(known))
}

pub(super) async fn list(db: &Postgres, filter: &RunFilter) -> Result<Vec<Head>, DbError> {
    let hex = |prefix: &String| prefix.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if filter.id_prefix.as_ref().is_some_and(|prefix| !hex(prefix)) {
        return Ok(Vec::new());
    }
    db.call(
        Repeat::Harmless,
        work!(|session| {
            let mut sql = listing(filter);
            let rows = session.rows(sql.build()).await?;
            rows.iter().map(|row| Ok(Row::read(row)?.head)).collect()
        }),
    )
    .await
}

/// The runs of a subject or prefix are few, and sorted. All others are read in order from an index, those
/// of each status by themselves, and merged: one index less to keep up for an order without statuses.
fn listing(filter: &RunFilter) -> QueryBuilder<Server> {
    let mut sql = QueryBuilder::new("");
    if filter.subject.is_some() || filter.id_prefix.is_some() {
        // Found first: read in order, they would be looked for among all.
        sql.push("WITH few AS MATERIALIZED (");
        branch(&mut sql, filter, &filter.statuses, &filter.waiting);
        sql.push(") SELECT * FROM few");
        ordered(&mut sql, filter);
        return sql;
    }
    sql.push("SELECT * FROM (");
    for (place, (statuses, waiting)) in branches(filter).iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL (" } else { "(" });
        branch(&mut sql, filter, statuses, waiting);
        ordered(&mut sql, filter);
        sql.push(")");
    }
    sql.push(") AS branches");
    ordered(&mut sql, filter);
    sql
}

/// What is read in order from one stretch of an index: runs of one status, or that wait for one thing.
fn branches(filter: &RunFilter) -> Vec<(Vec<RunStatus>, Vec<WaitingFor>)> {
    let statuses = if filter.statuses.is_empty() { &RunStatus::ALL[..] } else { &filter.statuses };
    let statuses = distinct(&RunStatus::ALL, statuses);
    if filter.waiting.is_empty() {
        return statuses.into_iter().map(|one| (vec![one], Vec::new())).collect();
    }
    let kinds = distinct(&WaitingFor::ALL, &filter.waiting).into_iter();
    kinds.map(|kind| (filter.statuses.clone(), vec![kind])).collect()
}

fn distinct<T: Copy + PartialEq>(all: &[T], some: &[T]) -> Vec<T> {
    all.iter().copied().filter(|one| some.contains(one)).collect()
}

fn branch(
    sql: &mut QueryBuilder<Server>,
    filter: &RunFilter,
    statuses: &[RunStatus],
    kinds: &[WaitingFor],
) {
    sql.push(concat!("SELECT ", columns!(), " FROM verdict.run WHERE true"));
    match statuses {
        [] => {}
        [one] => _ = sql.push(" AND status = ").push_bind(status(*one)),
        some => {
            let codes: Vec<i64> = some.iter().map(|one| status(*one)).collect();
            sql.push(" AND status = ANY(").push_bind(codes).push(")");
        }
    }
    if !kinds.is_empty() {
        waiting(sql, kinds);
    }
    if let Some(workflow) = &filter.workflow {
        sql.push(" AND workflow = ").push_bind(workflow.as_bytes().to_vec());
    }
    if let Some(subject) = &filter.subject {
        sql.push(" AND subject = ").push_bind(subject.as_bytes().to_vec());
    }
    if let Some(prefix) = &filter.id_prefix {
        // All that begin so lie between the prefix and the prefix with a `g`.
        sql.push(" AND id >= ").push_bind(prefix.clone());
        sql.push(" AND id < ").push_bind(format!("{prefix}g"));
    }
    if let Some((at, id)) = &filter.after {
        sql.push(" AND (created_at, id) < (").push_bind(at.0);
        sql.push(", ").push_bind(id.as_str().to_owned()).push(")");
    }
}

/// Runs that wait for one of these. The status is no part of the index that has them in order, and is
/// not to lead to another.
fn waiting(sql: &mut QueryBuilder<Server>, kinds: &[WaitingFor]) {
    const LAPSED: &str = "(status = 1 AND (expires IS NULL OR expires <= verdict.now_ms()))";
    const WAITS: &str = "(status + 0 IN (0, 2) AND waiting = ";
    let code = |kind| code(&WaitingFor::ALL, kind);
    match kinds {
        [WaitingFor::Lease] => _ = sql.push(" AND ").push(LAPSED),
        [one] => _ = sql.push(" AND ").push(WAITS).push_bind(code(one)).push(")"),
        some => {
            let codes: Vec<i64> = some.iter().map(code).collect();
            sql.push(" AND (").push(WAITS).push("ANY(").push_bind(codes).push("))");
            if some.contains(&WaitingFor::Lease) {
                sql.push(" OR ").push(LAPSED);
            }
            sql.push(")");
        }
    }
}

fn ordered(sql: &mut QueryBuilder<Server>, filter: &RunFilter) {
    sql.push(" ORDER BY created_at DESC, id DESC");
    if filter.limit > 0 {
        sql.push(" LIMIT ").push_bind(number(filter.limit));
    }
}

const DUE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM verdict.run WHERE n = ANY(ARRAY(\
     SELECT n FROM verdict.run WHERE status = 1 \
     AND coalesce(expires, updated_at) <= verdict.now_ms() - $1 \
     UNION SELECT n FROM verdict.run WHERE not_before <= verdict.now_ms() - $1)) \
     AND (expires IS NULL OR expires <= verdict.now_ms()) \
     ORDER BY least(CASE WHEN status = 1 AND coalesce(expires, updated_at) \
     <= verdict.now_ms() - $1 THEN coalesce(expires, updated_at) END, \
     CASE WHEN not_before <= verdict.now_ms() - $1 THEN not_before END), id LIMIT $2"
);

pub(super) async fn due(
    db: &Postgres,
    margin: Duration,
    limit: usize,
) -> Result<Vec<Head>, DbError> {
    db.call(
        Repeat::Harmless,
        work!(|session| {
            let sql = sqlx::query(DUE).bind(millis(margin)).bind(number(limit));
            let rows = session.rows(sql).await?;
            rows.iter().map(|row| Ok(Row::read(row)?.head)).collect()
        }),
    )
    .await
}
