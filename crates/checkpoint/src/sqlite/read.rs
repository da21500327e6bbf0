//! Reading heads and records, beside the writer.

use std::time::Duration;

use sqlx::{Connection as _, QueryBuilder, Row as _, SqliteConnection};

use super::{
    codec::{Row, code, columns, number, status},
    rows,
};
use crate::db::{DbError, Sqlite};
use verdict_graph::store::{Head, RunFilter, RunId, RunStatus, StoredRecord, WaitingFor};

type Read<T> = Result<T, DbError>;

async fn find(conn: &mut SqliteConnection, run: &RunId) -> Read<Option<Row>> {
    let sql = concat!("SELECT ", columns!(), " FROM run WHERE id = ?");
    let row = sqlx::query(sql).bind(run.as_str()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(Row::read).transpose()?)
}

pub(super) async fn head(db: &Sqlite, run: &RunId) -> Read<Option<Head>> {
    let mut conn = db.reader().await?;
    Ok(find(&mut conn, run).await?.map(|row| row.head))
}

pub(super) async fn load(
    db: &Sqlite,
    run: &RunId,
    after: u64,
) -> Read<Option<(Head, Vec<StoredRecord>)>> {
    // One transaction, so that the head and the records are of one moment.
    let mut conn = db.reader().await?;
    let mut tx = conn.begin().await?;
    let Some(row) = find(&mut tx, run).await? else { return Ok(None) };
    let mut records = Vec::new();
    if after < row.head.version {
        let sql = "SELECT meta, payload FROM record WHERE place BETWEEN ? AND ? ORDER BY place";
        let query =
            sqlx::query(sql).bind(rows::place(row.n, after + 1)).bind(rows::last_place(row.n));
        for record in query.fetch_all(&mut *tx).await? {
            let meta: Vec<u8> = record.try_get(0)?;
            let payload: Option<Vec<u8>> = record.try_get(1)?;
            records.push(StoredRecord { meta: meta.into(), payload: payload.map(Into::into) });
        }
    }
    tx.commit().await?;
    Ok(Some((row.head, records)))
}

pub(super) async fn list(db: &Sqlite, filter: &RunFilter) -> Read<Vec<Head>> {
    let mut sql = QueryBuilder::new(concat!("SELECT ", columns!(), " FROM run WHERE true"));
    // Every sweep asks for just those: they are few among many.
    let in_hand = filter.statuses == [RunStatus::Running];
    if in_hand {
        sql.push(" AND n IN (SELECT n FROM run INDEXED BY run_running WHERE status = 1)");
    } else if !filter.statuses.is_empty() {
        sql.push(" AND status IN (");
        let mut codes = sql.separated(",");
        for one in &filter.statuses {
            codes.push_bind(status(*one));
        }
        sql.push(")");
    }
    if !filter.waiting.is_empty() {
        sql.push(" AND n IN (SELECT n FROM run WHERE status IN (0, 2) AND waiting IN (");
        let mut codes = sql.separated(",");
        for one in &filter.waiting {
            codes.push_bind(code(&WaitingFor::ALL, one));
        }
        sql.push(")");
        if filter.waiting.contains(&WaitingFor::Lease) {
            sql.push(" UNION SELECT n FROM run INDEXED BY run_running WHERE status = 1");
            sql.push(" AND (expires IS NULL OR expires <= ").push_bind(db.now().0).push(")");
        }
        sql.push(")");
    }
    if let Some(workflow) = &filter.workflow {
        sql.push(" AND workflow = ").push_bind(workflow.clone());
    }
    if let Some(subject) = &filter.subject {
        sql.push(" AND subject = ").push_bind(subject.clone());
    }
    if let Some(prefix) = &filter.id_prefix {
        // Ids are hex: all that begin so lie between the prefix and the prefix with a `g`.
        sql.push(" AND id >= ").push_bind(prefix.clone());
        sql.push(" AND id < ").push_bind(format!("{prefix}g"));
    }
    if let Some((at, id)) = &filter.after {
        sql.push(" AND (created_at, id) < (").push_bind(at.0);
        sql.push(", ").push_bind(id.as_str().to_owned()).push(")");
    }
    // The few runs that wait, are in hand, or of a subject or prefix, are sorted; all others are read
    // in order.
    let few = in_hand
        || filter.subject.is_some()
        || filter.id_prefix.is_some()
        || !filter.waiting.is_empty();
    sql.push(if few {
        " ORDER BY +created_at DESC, +id DESC"
    } else {
        " ORDER BY created_at DESC, id DESC"
    });
    if filter.limit > 0 {
        sql.push(" LIMIT ").push_bind(number(filter.limit));
    }
    let rows = sql.build().fetch_all(&mut *db.reader().await?).await?;
    rows.iter().map(|row| Ok(Row::read(row)?.head)).collect()
}

pub(super) async fn due(db: &Sqlite, margin: Duration, limit: usize) -> Read<Vec<Head>> {
    let now = db.now();
    let query = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM run WHERE n IN (SELECT n FROM run INDEXED BY run_running \
         WHERE status = 1 AND coalesce(expires, updated_at) <= ?1 \
         UNION SELECT n FROM run WHERE not_before <= ?1) \
         AND (expires IS NULL OR expires <= ?2) ORDER BY min(\
         iif(status = 1 AND coalesce(expires, updated_at) <= ?1, coalesce(expires, updated_at), ?1), \
         iif(not_before <= ?1, not_before, ?1)), id LIMIT ?3"
    ));
    let query = query.bind(now.minus(margin).0).bind(now.0).bind(number(limit));
    let rows = query.fetch_all(&mut *db.reader().await?).await?;
    rows.iter().map(|row| Ok(Row::read(row)?.head)).collect()
}
