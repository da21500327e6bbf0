//! Reading and writing runs, records and interrupts, many at a time.

use std::collections::HashMap;

use sqlx::Row as _;

use super::codec::{COLUMNS, Row, columns, number, status};
use crate::{
    db::{
        DbError, Postgres,
        postgres::{Repeat, Session, Sql, work},
    },
    pack::Pack,
};
use verdict_graph::{base::Timestamp, store::StoredRecord};

/// A row and the server's time when it was read.
pub(super) type Seen = (Row, Timestamp);

/// The runs with these ids, where they are there.
pub(super) async fn find(
    session: &mut Session<'_, '_>,
    ids: &[&str],
) -> Result<HashMap<String, Seen>, sqlx::Error> {
    let sql =
        concat!("SELECT ", columns!(), ", verdict.now_ms() FROM verdict.run WHERE id = ANY($1)");
    let rows = session.rows(sqlx::query(sql).bind(ids)).await?;
    let seen = rows.iter().map(|row| {
        let seen = seen(row)?;
        Ok((seen.0.head.id.as_str().to_owned(), seen))
    });
    seen.collect()
}

pub(super) fn seen(row: &sqlx::postgres::PgRow) -> Result<Seen, sqlx::Error> {
    Ok((Row::read(row)?, Timestamp(row.try_get(COLUMNS)?)))
}

/// One run, now.
pub(super) async fn inspect(db: &Postgres, id: &str) -> Result<Option<Seen>, DbError> {
    db.call(Repeat::Harmless, work!(|session| Ok(find(session, &[id]).await?.remove(id)))).await
}

/// Single records on their way to runs: to which, and as which number.
#[derive(Default)]
pub(super) struct Records {
    runs: Vec<i64>,
    numbers: Vec<i64>,
    bodies: Vec<Vec<u8>>,
}

impl Records {
    /// Gives `record` the number behind `version`.
    pub(super) fn put(&mut self, run: i64, version: u64, record: &StoredRecord) {
        self.runs.push(run);
        self.numbers.push(number(version + 1));
        self.bodies.push(Pack::encode(std::slice::from_ref(record), &[]));
    }

    fn bind<'q>(&self, sql: Sql<'q>) -> Sql<'q> {
        sql.bind(&self.runs).bind(&self.numbers).bind(&self.bodies)
    }
}

/// The records of one append as its row has them; none when there are none.
pub(super) fn body(records: &[StoredRecord]) -> Option<Vec<u8>> {
    (!records.is_empty()).then(|| Pack::encode(records, &[]))
}

/// What can change in a head without an append, on the condition that the row is as it was read.
const SAVE: &str = "WITH saved AS (\
     UPDATE verdict.run AS r SET place = v.place, status = v.status, version = v.version, \
     epoch = v.epoch, owner = v.owner, expires = v.expires, not_before = v.not_before, \
     updated_at = v.updated_at, token = v.token, \
     waiting = CASE WHEN v.waits THEN r.waiting END, \
     waiting_text = CASE WHEN v.waits THEN r.waiting_text END, lost_claims = v.lost_claims \
     FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], \
     $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $18::boolean[], \
     $19::bigint[]) \
     AS v(n, revision, place, status, version, epoch, owner, expires, not_before, updated_at, token, \
     waits, lost_claims) \
     WHERE r.n = v.n AND r.xmin::text = v.revision RETURNING r.n), \
     added AS (INSERT INTO verdict.record (run, seq, body) SELECT x.run, x.seq, x.body \
     FROM unnest($12::bigint[], $13::bigint[], $14::bytea[]) AS x(run, seq, body) \
     JOIN saved ON saved.n = x.run), \
     answered AS (UPDATE verdict.ask AS a SET answer = $17 FROM saved \
     WHERE a.run = saved.n AND a.run = $15 AND a.id = $16) \
     SELECT n FROM saved";

/// An answer to an interrupt: the run's number, the interrupt, the value.
pub(super) type Answered<'r> = (i64, &'r str, &'r [u8]);

/// Writes heads back, with their new records and an answer. Answers whether all of them were still as
/// they were read; what was not is not written.
pub(super) async fn save(
    session: &mut Session<'_, '_>,
    rows: &[Row],
    records: &Records,
    answer: Option<Answered<'_>>,
) -> Result<bool, sqlx::Error> {
    let heads = || rows.iter().map(|row| &row.head);
    let all = |value: fn(&Row) -> i64| rows.iter().map(value).collect::<Vec<i64>>();
    let lease = |row: &Row| row.head.lease.clone();
    let sql = sqlx::query(SAVE)
        .bind(all(|row| row.n))
        .bind(rows.iter().map(|row| row.revision.as_str()).collect::<Vec<_>>())
        .bind(all(|row| row.head.order))
        .bind(all(|row| status(row.head.status)))
        .bind(all(|row| number(row.head.version)))
        .bind(all(|row| number(row.head.epoch)))
        .bind(rows.iter().map(|r| lease(r).map(|l| l.owner.into_bytes())).collect::<Vec<_>>())
        .bind(rows.iter().map(|r| lease(r).map(|l| l.expires.0)).collect::<Vec<_>>())
        .bind(heads().map(|head| head.not_before.map(|at| at.0)).collect::<Vec<_>>())
        .bind(all(|row| row.head.updated_at.0))
        .bind(rows.iter().map(|row| row.token.map(bytes)).collect::<Vec<_>>());
    let sql = records
        .bind(sql)
        .bind(answer.map(|(run, ..)| run))
        .bind(answer.map(|(_, id, _)| id.as_bytes()))
        .bind(answer.map(|(.., value)| value))
        .bind(heads().map(|head| head.waiting.is_some()).collect::<Vec<_>>())
        .bind(all(|row| i64::from(row.head.lost_claims)));
    Ok(session.rows(sql).await?.len() == rows.len())
}

/// [`save`] for one run, by itself.
pub(super) async fn change(
    db: &Postgres,
    repeat: Repeat,
    row: Row,
    records: &Records,
    answer: Option<Answered<'_>>,
) -> Result<bool, DbError> {
    let rows = &[row];
    db.call(repeat, work!(|session| save(session, rows, records, answer).await)).await
}

/// A random number, as it is kept.
pub(super) fn bytes(random: u128) -> Vec<u8> {
    random.to_be_bytes().to_vec()
}

/// How often a change is decided anew because the run changed meanwhile.
pub(super) const ROUNDS: usize = 100;

/// The error of a run that changed each time somebody was about to change it.
pub(super) fn contended(id: &str) -> DbError {
    DbError::transient(format!("run {id} kept changing under {ROUNDS} attempts to change it"))
}
