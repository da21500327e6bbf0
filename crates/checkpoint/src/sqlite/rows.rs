//! Reading and writing runs, records and interrupts, many at a time.

use std::{collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use sqlx::{Row as _, Sqlite, query::Query, sqlite::SqliteArguments};

use super::codec::{Row, columns, number, status};
use crate::db::{DbError, Rows, Tx};
use verdict_graph::{
    base::Timestamp,
    store::{Head, Holder, RunId, StoreError, StoredRecord},
};

pub(super) type Sql<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Record numbers share a row id with their run's number.
const RECORD_BITS: u32 = 24;

/// Refuses more records than a run can have.
pub(super) fn check_count(records: u64) -> Result<(), StoreError> {
    if records < 1 << RECORD_BITS {
        return Ok(());
    }
    let most = 1 << RECORD_BITS;
    Err(StoreError::Broken(format!("a run with {records} records is too long: at most {most}")))
}

/// The row id of record `seq` of run number `n`.
pub(super) fn place(n: i64, seq: u64) -> i64 {
    (n << RECORD_BITS) | number(seq)
}

/// The last row id records of run number `n` may have.
pub(super) fn last_place(n: i64) -> i64 {
    place(n, (1 << RECORD_BITS) - 1)
}

/// The runs with these ids, where they are there.
pub(super) async fn find(tx: &mut Tx<'_>, ids: &[&RunId]) -> Result<HashMap<RunId, Row>, DbError> {
    static FIND: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new(concat!("SELECT ", columns!(), " FROM run WHERE id IN ("), "?", ")")
    });
    let mut found = HashMap::with_capacity(ids.len());
    for (sql, piece) in FIND.pieces(ids) {
        let query = piece.iter().fold(sqlx::query(sql), |query, id| query.bind(id.as_str()));
        for row in query.fetch_all(tx.conn()).await? {
            let row = Row::read(&row)?;
            found.insert(row.head.id.clone(), row);
        }
    }
    Ok(found)
}

/// One run.
pub(super) async fn find_one(tx: &mut Tx<'_>, id: &RunId) -> Result<Option<Row>, DbError> {
    Ok(find(tx, &[id]).await?.remove(id))
}

/// Writes heads back: all of them that can change but the last batch.
pub(super) async fn save(tx: &mut Tx<'_>, rows: &[Row]) -> Result<(), DbError> {
    static SAVE: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new(
            "UPDATE run SET place = v.column2, status = v.column3, version = v.column4, \
             epoch = v.column5, owner = v.column6, expires = v.column7, not_before = v.column8, \
             updated_at = v.column9, waiting = iif(v.column10, waiting, NULL), \
             waiting_text = iif(v.column10, waiting_text, NULL), lost_claims = v.column11 \
             FROM (VALUES ",
            "(?,?,?,?,?,?,?,?,?,?,?)",
            ") AS v WHERE run.n = v.column1",
        )
    });
    for (sql, piece) in SAVE.pieces(rows) {
        let bind = |query: Sql<'static>, row: &Row| {
            let head = &row.head;
            let query = query.bind(row.n).bind(head.order).bind(status(head.status));
            let query = query.bind(number(head.version)).bind(number(head.epoch));
            bind_lease(query, head.lease.as_ref())
                .bind(millis(head.not_before))
                .bind(head.updated_at.0)
                .bind(head.waiting.is_some())
                .bind(head.lost_claims)
        };
        piece.iter().fold(sqlx::query(sql), bind).execute(tx.conn()).await?;
    }
    Ok(())
}

fn bind_lease<'q>(query: Sql<'q>, lease: Option<&Holder>) -> Sql<'q> {
    query.bind(lease.map(|holder| holder.owner.clone())).bind(lease.map(|holder| holder.expires.0))
}

pub(super) fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

/// How a run is made. The second is one row of values; between it and the third a condition fits.
pub(super) const CREATE: [&str; 3] = [
    "INSERT INTO run (id, workflow, workflow_version, format, key, subject, place, status, \
     version, epoch, owner, expires, not_before, executions, active, created_at, updated_at) ",
    "?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,?,?",
    " ON CONFLICT (id) DO NOTHING RETURNING id, n",
];

/// Binds the values of [`CREATE`].
pub(super) fn bind_new<'q>(query: Sql<'q>, head: &Head) -> Sql<'q> {
    let query = query
        .bind(head.id.as_str().to_owned())
        .bind(head.workflow.clone())
        .bind(head.workflow_version)
        .bind(head.format)
        .bind(head.key.clone())
        .bind(head.subject.clone())
        .bind(head.order)
        .bind(status(head.status))
        .bind(number(head.version))
        .bind(number(head.epoch));
    bind_lease(query, head.lease.as_ref())
        .bind(millis(head.not_before))
        .bind(head.created_at.0)
        .bind(head.updated_at.0)
}

/// Makes the runs that are not there yet; answers the numbers of those it made.
pub(super) async fn create(
    tx: &mut Tx<'_>,
    heads: &[Head],
) -> Result<HashMap<String, i64>, DbError> {
    static CREATES: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new(&format!("{} VALUES ", CREATE[0]), &format!("({})", CREATE[1]), CREATE[2])
    });
    let mut created = HashMap::with_capacity(heads.len());
    for (sql, piece) in CREATES.pieces(heads) {
        let query = piece.iter().fold(sqlx::query(sql), bind_new);
        for row in query.fetch_all(tx.conn()).await? {
            created.insert(row.try_get(0)?, row.try_get(1)?);
        }
    }
    Ok(created)
}

/// The most records a statement of a lone operation takes.
pub(super) const FEW: usize = 8;

/// Inserts so many records of one run behind its head, if the statement before changed it. Takes
/// number, meta and payload of each, and then the run's id.
pub(super) fn insert_if_changed(records: usize) -> String {
    if records == 0 {
        return String::new();
    }
    let rows = vec!["(?,?,?)"; records].join(",");
    format!(
        "INSERT INTO record (place, meta, payload) \
         SELECT (r.n << {RECORD_BITS}) + v.column1, v.column2, v.column3 \
         FROM run AS r, (VALUES {rows}) AS v WHERE changes() = 1 AND r.id = ?;"
    )
}

/// Binds what [`insert_if_changed`] takes.
pub(super) fn bind_few<'q>(
    query: Sql<'q>,
    run: &RunId,
    version: u64,
    records: &[StoredRecord],
) -> Sql<'q> {
    let bind = |query: Sql<'q>, (seq, record): (u64, &StoredRecord)| {
        let payload = record.payload.as_ref().map(|payload| payload.to_vec());
        query.bind(number(seq)).bind(record.meta.to_vec()).bind(payload)
    };
    (version + 1..).zip(records).fold(query, bind).bind(run.as_str().to_owned())
}

/// Records with the row ids they get.
pub(super) type Placed<'r> = Vec<(i64, &'r StoredRecord)>;

/// Gives `records` the row ids behind `version`.
pub(super) fn put<'r>(
    placed: &mut Placed<'r>,
    n: i64,
    version: u64,
    records: impl IntoIterator<Item = &'r StoredRecord>,
) {
    placed.extend((version + 1..).map(|seq| place(n, seq)).zip(records));
}

/// Writes records.
pub(super) async fn insert(
    tx: &mut Tx<'_>,
    records: &[(i64, &StoredRecord)],
) -> Result<(), DbError> {
    static INSERT: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new("INSERT INTO record (place, meta, payload) VALUES ", "(?,?,?)", "")
    });
    for (sql, piece) in INSERT.pieces(records) {
        let query = piece.iter().fold(sqlx::query(sql), |query, (place, record)| {
            query.bind(place).bind(&record.meta[..]).bind(record.payload.as_deref())
        });
        query.execute(tx.conn()).await?;
    }
    Ok(())
}

/// An interrupt of run number `.0`, open or answered.
pub(super) type Ask<'r> = (i64, &'r str, Option<&'r Bytes>);

/// Writes interrupts; one opened again loses its answer.
pub(super) async fn ask(tx: &mut Tx<'_>, asks: &[Ask<'_>]) -> Result<(), DbError> {
    static ASK: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new("INSERT OR REPLACE INTO ask (run, id, answer) VALUES ", "(?,?,?)", "")
    });
    for (sql, piece) in ASK.pieces(asks) {
        let query = piece.iter().fold(sqlx::query(sql), |query, (n, id, answer)| {
            query.bind(n).bind(*id).bind(answer.map(|answer| &answer[..]))
        });
        query.execute(tx.conn()).await?;
    }
    Ok(())
}
