//! Appending: heads are checked and set by one statement for many runs; only what it refused is
//! looked at again.

use std::{collections::HashMap, sync::LazyLock};

use sqlx::{Row as _, SqliteConnection};

use super::{
    codec::{number, status},
    letters,
    rows::{self, Sql},
};
use crate::{
    codec::waiting_columns,
    db::{DbError, Lane, Rows, Tx},
    waves::waves,
};
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{Append, Hold, StoreError},
};

pub(super) struct Appends;

type Answer = Result<u64, StoreError>;

impl Lane for Appends {
    type Op = Append;
    type Answer = Answer;

    async fn run(tx: &mut Tx<'_>, ops: &[Append]) -> Result<Vec<Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for wave in waves(ops, |op| (&op.lease.run, None)) {
            answers.extend(append(tx, wave).await?);
        }
        Ok(answers)
    }

    async fn run_alone(
        conn: &mut SqliteConnection,
        now: Timestamp,
        op: &Append,
    ) -> Result<Option<Answer>, DbError> {
        let Some(sql) = ALONE.get(op.records.len()).map(String::as_str) else { return Ok(None) };
        if op.letter.is_some() || !op.asks.is_empty() {
            return Ok(None);
        }
        let query = bind_head(sqlx::query(sql), op, now);
        let query = rows::bind_few(query, &op.lease.run, op.expected, &op.records);
        // All rows, not the first: the driver would stop there, and leave out what follows.
        let taken = query.fetch_all(conn).await?;
        Ok((!taken.is_empty()).then(|| Ok(version_after(op))))
    }
}

const SET: [&str; 3] = [
    "UPDATE run SET status = v.column5, version = v.column4, not_before = v.column6, \
     executions = v.column7, active = v.column8, error = v.column9, \
     owner = iif(v.column10 IS NULL, NULL, owner), expires = v.column10, \
     batch = v.column11, batch_version = v.column4, updated_at = v.column12, \
     waiting = v.column13, waiting_text = v.column14, \
     lost_claims = 0 FROM (VALUES ",
    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    ") AS v WHERE run.id = v.column1 AND run.epoch = v.column2 AND run.version = v.column3 \
     AND run.owner IS NOT NULL AND run.batch IS NOT v.column11 RETURNING id, n",
];

/// The whole transaction of an append of that many records, as one text.
static ALONE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let set = SET.concat();
    let sql = |records| {
        let insert = rows::insert_if_changed(records);
        format!("BEGIN IMMEDIATE; {set}; {insert} COMMIT")
    };
    (0..=rows::FEW).map(sql).collect()
});

/// Appends to different runs.
async fn append(tx: &mut Tx<'_>, wave: &[Append]) -> Result<Vec<Answer>, DbError> {
    let taken = set_heads(tx, wave).await?;
    let (mut records, mut asks) = (Vec::new(), Vec::new());
    for op in wave {
        if let Some(n) = taken.get(op.lease.run.as_str()) {
            rows::put(&mut records, *n, op.expected, &op.records);
            asks.extend(op.asks.iter().map(|id| (*n, id.as_str(), None)));
        }
    }
    rows::insert(tx, &records).await?;
    rows::ask(tx, &asks).await?;
    let mut answers = Vec::with_capacity(wave.len());
    for op in wave {
        if !taken.contains_key(op.lease.run.as_str()) {
            answers.push(refusal(tx, op).await?);
            continue;
        }
        if let Some(letter) = &op.letter {
            letters::put(tx, letter).await?;
        }
        answers.push(Ok(version_after(op)));
    }
    Ok(answers)
}

fn version_after(op: &Append) -> u64 {
    op.expected + op.records.len() as u64
}

/// Sets the heads of the runs whose append may be done; answers those runs' numbers.
async fn set_heads(tx: &mut Tx<'_>, wave: &[Append]) -> Result<HashMap<String, i64>, DbError> {
    static SETS: LazyLock<Rows> = LazyLock::new(|| Rows::new(SET[0], SET[1], SET[2]));
    let now = tx.now();
    let mut taken = HashMap::with_capacity(wave.len());
    for (sql, piece) in SETS.pieces(wave) {
        let query = piece.iter().fold(sqlx::query(sql), |query, op| bind_head(query, op, now));
        for row in query.fetch_all(tx.conn()).await? {
            taken.insert(row.try_get(0)?, row.try_get(1)?);
        }
    }
    Ok(taken)
}

fn bind_head<'q>(query: Sql<'q>, op: &Append, now: Timestamp) -> Sql<'q> {
    let (waiting, waiting_text) = waiting_columns(&op.head);
    query
        .bind(op.lease.run.as_str().to_owned())
        .bind(number(op.lease.epoch))
        .bind(number(op.expected))
        .bind(number(version_after(op)))
        .bind(status(op.head.status))
        .bind(rows::millis(op.head.not_before))
        .bind(op.head.executions)
        .bind(number(op.head.active.as_nanos()))
        .bind(op.head.error.clone())
        .bind(expiry(op.hold, now))
        .bind(op.batch.to_be_bytes().to_vec())
        .bind(now.0)
        .bind(waiting)
        .bind(waiting_text)
}

fn expiry(hold: Hold, now: Timestamp) -> Option<i64> {
    match hold {
        Hold::Keep(ttl) => Some(now.plus(ttl).0),
        Hold::Release => None,
    }
}

/// Why an append was not done, or what it was answered when it was.
async fn refusal(tx: &mut Tx<'_>, op: &Append) -> Result<Answer, DbError> {
    let Some(row) = rows::find_one(tx, &op.lease.run).await? else {
        return Ok(Err(StoreError::Missing(op.lease.run.clone())));
    };
    rules::settled(&row.head, row.last, op).ok_or_else(|| {
        DbError::permanent(format!("an append to run {} was refused for no reason", row.head.id))
    })
}
