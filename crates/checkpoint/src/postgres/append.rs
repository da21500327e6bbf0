//! Appending: one statement for many runs; only what it refused is looked at again.

use std::collections::{HashMap, HashSet};

use sqlx::Row as _;

use super::{
    codec::{millis, number, status},
    letters, rows,
    rows::{Seen, bytes},
};
use crate::{
    codec::waiting_columns,
    db::{
        DbError, Postgres,
        postgres::{Lane, Repeat, Session, Sql, work},
    },
    waves::waves,
};
use verdict_graph::{
    rules,
    store::{Append, Hold, StoreError},
};

pub(super) struct Appends;

type Answer = Result<u64, StoreError>;

/// The most records and bytes in one statement, unless one append alone has more.
const RECORDS: usize = 512;
const BYTES: usize = 32 << 20;

impl Lane for Appends {
    type Op = Append;
    type Answer = Answer;

    fn key(op: &Append) -> &str {
        op.lease.run.as_str()
    }

    async fn run(db: &Postgres, ops: &[Append]) -> Result<Vec<Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for wave in waves(ops, |op| (&op.lease.run, None)) {
            for piece in pieces(wave) {
                answers.extend(append(db, piece).await?);
            }
        }
        Ok(answers)
    }
}

/// Cuts where a statement would become too large, and around an append with a letter.
fn pieces(mut ops: &[Append]) -> Vec<&[Append]> {
    let mut pieces = Vec::new();
    while !ops.is_empty() {
        let (mut records, mut bytes) = (0, 0);
        let mut fits = |op: &Append| {
            records += op.records.len();
            bytes += size(op);
            op.letter.is_none() && records <= RECORDS && bytes <= BYTES
        };
        let len = ops.iter().position(|op| !fits(op)).unwrap_or(ops.len()).max(1);
        let (piece, rest) = ops.split_at(len);
        pieces.push(piece);
        ops = rest;
    }
    pieces
}

fn size(op: &Append) -> usize {
    let records = op.records.iter();
    records.map(|record| record.meta.len() + record.payload.as_ref().map_or(0, |p| p.len())).sum()
}

/// The heads are checked and set, and what belongs to those that were is inserted.
macro_rules! append {
    () => {
        "WITH t AS MATERIALIZED (SELECT verdict.now_ms() AS now), \
         head AS (UPDATE verdict.run AS r SET status = v.status, version = v.after, \
         not_before = v.not_before, executions = v.executions, active = v.active, error = v.error, \
         owner = CASE WHEN v.ttl IS NOT NULL THEN r.owner END, expires = t.now + v.ttl, \
         batch = v.batch, batch_version = v.after, updated_at = t.now, \
         waiting = v.waiting, waiting_text = v.waiting_text, \
         lost_claims = 0 \
         FROM t, unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], \
         $6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::bigint[], $11::bytea[], \
         $12::bytea[], $15::bigint[], $16::bytea[]) WITH ORDINALITY AS v(id, epoch, expected, \
         after, status, not_before, executions, active, error, ttl, batch, body, waiting, \
         waiting_text, i) \
         WHERE r.id = v.id AND r.epoch = v.epoch AND r.version = v.expected AND r.owner IS NOT NULL \
         AND r.batch IS DISTINCT FROM v.batch RETURNING r.n, v.after, v.body, v.i), \
         added AS (INSERT INTO verdict.record (run, seq, body) \
         SELECT n, after, body FROM head WHERE body IS NOT NULL), \
         asked AS (INSERT INTO verdict.ask (run, id) SELECT head.n, x.id \
         FROM unnest($13::bigint[], $14::bytea[]) AS x(i, id) JOIN head ON head.i = x.i \
         ON CONFLICT (run, id) DO UPDATE SET answer = NULL)"
    };
}

const PLAIN: &str = concat!(append!(), " SELECT i FROM head");

/// The same, and a letter if the one head was set.
const WITH_LETTER: &str = concat!(
    append!(),
    ", lettered AS (INSERT INTO verdict.letter AS l ",
    letters::columns!(),
    " SELECT $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29 FROM head ",
    letters::again!(),
    ") SELECT i FROM head"
);

/// Appends to different runs.
async fn append(db: &Postgres, ops: &[Append]) -> Result<Vec<Answer>, DbError> {
    let mut answers: HashMap<&str, Answer> = HashMap::with_capacity(ops.len());
    let mut pending: Vec<&Append> = ops.iter().collect();
    for _ in 0..rows::ROUNDS {
        let all = &pending[..];
        let taken = db.call(Repeat::Harmless, work!(|session| write(session, all).await)).await?;
        let (done, refused): (Vec<_>, Vec<_>) =
            (1..).zip(pending).partition(|(place, _)| taken.contains(place));
        answers.extend(done.into_iter().map(|(_, op)| (Appends::key(op), Ok(version_after(op)))));
        pending = refused.into_iter().map(|(_, op)| op).collect();
        if !pending.is_empty() {
            let ids: &[&str] = &pending.iter().map(|op| Appends::key(op)).collect::<Vec<_>>();
            let found =
                db.call(Repeat::Harmless, work!(|session| rows::find(session, ids).await)).await?;
            pending.retain(|op| {
                let refusal = refusal(&found, op);
                let again = refusal.is_none();
                answers.extend(refusal.map(|refusal| (Appends::key(op), refusal)));
                again
            });
        }
        if pending.is_empty() {
            return Ok(ops.iter().filter_map(|op| answers.remove(Appends::key(op))).collect());
        }
    }
    Err(rows::contended(pending.first().map_or("", |op| Appends::key(op))))
}

fn version_after(op: &Append) -> u64 {
    op.expected + op.records.len() as u64
}

/// Why an append was not done, or what it was answered when it was. Nothing when it may be done now.
fn refusal(found: &HashMap<String, Seen>, op: &Append) -> Option<Answer> {
    match found.get(op.lease.run.as_str()) {
        None => Some(Err(StoreError::Missing(op.lease.run.clone()))),
        Some((row, _)) => rules::settled(&row.head, row.last, op),
    }
}

/// Answers the places, from 1, of the appends that were done.
async fn write(
    session: &mut Session<'_, '_>,
    ops: &[&Append],
) -> Result<HashSet<i64>, sqlx::Error> {
    let letter = ops.first().and_then(|op| op.letter.as_deref());
    let sql = if letter.is_some() { WITH_LETTER } else { PLAIN };
    let mut sql = bind(sqlx::query(sql), ops);
    if let Some(letter) = letter {
        sql = letters::bind(sql, letter)?;
    }
    session.rows(sql).await?.iter().map(|row| row.try_get(0)).collect()
}

fn bind<'q>(sql: Sql<'q>, ops: &[&Append]) -> Sql<'q> {
    let all = |value: fn(&Append) -> i64| ops.iter().map(|op| value(op)).collect::<Vec<i64>>();
    let waits = ops.iter().map(|op| waiting_columns(&op.head));
    let (waiting, waiting_texts): (Vec<_>, Vec<_>) =
        waits.map(|(kind, text)| (kind, text.map(String::into_bytes))).unzip();
    let (mut ask_places, mut ask_ids) = (Vec::new(), Vec::new());
    for (place, op) in (1_i64..).zip(ops) {
        let asks: HashSet<&[u8]> = op.asks.iter().map(String::as_bytes).collect();
        ask_places.extend(asks.iter().map(|_| place));
        ask_ids.extend(asks);
    }
    sql.bind(ops.iter().map(|op| op.lease.run.as_str()).collect::<Vec<_>>())
        .bind(all(|op| number(op.lease.epoch)))
        .bind(all(|op| number(op.expected)))
        .bind(all(|op| number(version_after(op))))
        .bind(all(|op| status(op.head.status)))
        .bind(ops.iter().map(|op| op.head.not_before.map(|at| at.0)).collect::<Vec<_>>())
        .bind(all(|op| i64::from(op.head.executions)))
        .bind(all(|op| number(op.head.active.as_nanos())))
        .bind(ops.iter().map(|op| op.head.error.as_deref().map(str::as_bytes)).collect::<Vec<_>>())
        .bind(ops.iter().map(|op| ttl(op.hold)).collect::<Vec<_>>())
        .bind(ops.iter().map(|op| bytes(op.batch)).collect::<Vec<_>>())
        .bind(ops.iter().map(|op| rows::body(&op.records)).collect::<Vec<_>>())
        .bind(ask_places)
        .bind(ask_ids)
        .bind(waiting)
        .bind(waiting_texts)
}

fn ttl(hold: Hold) -> Option<i64> {
    match hold {
        Hold::Keep(ttl) => Some(millis(ttl)),
        Hold::Release => None,
    }
}
