//! Opening: runs are made by one statement for many; only those that were there already, or whose
//! subject has others, are looked at.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::future::try_join_all;
use sqlx::Row as _;

use super::{
    codec::{columns, millis, number, status},
    rows::{self, Records, Seen, bytes},
};
use crate::{
    db::{
        DbError, Postgres,
        postgres::{Lane, Repeat, Session, work},
    },
    waves::waves,
};
use verdict_graph::{
    base::{Timestamp, hash_hex},
    rules,
    store::{Head, Lease, NewRun, Opened, RunId, RunStatus},
};

pub(super) struct Opens;

/// An opening under a random number of its own, by which it knows what it made.
pub(super) struct Opening {
    new: NewRun,
    token: u128,
    /// The runs it set out to supersede, each as it would leave it: nobody knows which attempt was
    /// done when its answer is lost.
    stopped: Mutex<Vec<Head>>,
}

impl Opening {
    pub(super) fn new(new: NewRun) -> Self {
        Self { new, token: fastrand::u128(..), stopped: Mutex::default() }
    }

    fn stopped(&self) -> MutexGuard<'_, Vec<Head>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The advisory lock under which nobody else opens a run of the subject.
    fn lock(&self) -> Option<i64> {
        let hash = hash_hex(&[b"verdict subject", self.new.subject.as_deref()?.as_bytes()]);
        let bits = hash.get(..16).and_then(|hex| u64::from_str_radix(hex, 16).ok());
        bits.map(u64::cast_signed)
    }
}

impl Lane for Opens {
    type Op = Opening;
    type Answer = Opened;

    fn key(op: &Opening) -> &str {
        op.new.subject.as_deref().unwrap_or(op.new.id.as_str())
    }

    async fn run(db: &Postgres, ops: &[Opening]) -> Result<Vec<Opened>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        // An id and a subject may be spelled alike; that only cuts one time too often.
        for wave in waves(ops, |op| (op.new.id.as_str(), op.new.subject.as_deref())) {
            let made = make(db, wave).await?;
            let opened = wave.iter().map(|op| async {
                match made.get(op.new.id.as_str()) {
                    Some(now) => {
                        let (head, lease) = rules::born(&op.new, false, *now);
                        Ok(Opened { head, created: true, lease, superseded: Vec::new() })
                    }
                    None => beside(db, op).await,
                }
            });
            answers.extend(try_join_all(opened).await?);
        }
        Ok(answers)
    }
}

/// Makes those runs that are not there yet and whose subject has no other. Answers when.
async fn make(db: &Postgres, wave: &[Opening]) -> Result<HashMap<String, Timestamp>, DbError> {
    let locks: Vec<i64> = wave.iter().filter_map(Opening::lock).collect();
    let late = &vec![false; wave.len()][..];
    if locks.is_empty() {
        db.call(Repeat::Harmless, work!(|session| create(session, wave, late, false).await)).await
    } else {
        db.transaction(
            Repeat::Harmless,
            &locks,
            work!(|session| create(session, wave, late, false).await),
        )
        .await
    }
}

const CREATE: &str = "WITH t AS MATERIALIZED (SELECT verdict.now_ms() AS now), \
     made AS (INSERT INTO verdict.run (id, workflow, workflow_version, format, key, subject, place, \
     status, version, epoch, owner, expires, not_before, token, created_at, updated_at) \
     SELECT v.id, v.workflow, v.workflow_version, v.format, v.key, v.subject, v.place, v.status, \
     v.version, v.epoch, v.owner, t.now + v.ttl, v.not_before, v.token, t.now, t.now \
     FROM t, unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], \
     $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bytea[], $12::bigint[], \
     $13::bigint[], $14::bytea[]) AS v(id, workflow, workflow_version, format, key, subject, place, \
     status, version, epoch, owner, ttl, not_before, token) \
     WHERE $15 OR v.subject IS NULL OR NOT EXISTS \
     (SELECT 1 FROM verdict.run AS o WHERE o.subject = v.subject AND o.status <> 5) \
     ON CONFLICT (id) DO NOTHING RETURNING id, n), \
     added AS (INSERT INTO verdict.record (run, seq, body) SELECT made.n, x.seq, x.body \
     FROM unnest($16::text[], $17::bigint[], $18::bytea[]) AS x(id, seq, body) \
     JOIN made ON made.id = x.id), \
     asked AS (INSERT INTO verdict.ask (run, id, answer) SELECT made.n, x.ask, x.answer \
     FROM unnest($19::text[], $20::bytea[], $21::bytea[]) AS x(id, ask, answer) \
     JOIN made ON made.id = x.id) \
     SELECT made.id, t.now FROM made, t";

/// Makes the runs that are not there yet, `late` ones superseded, and unless told otherwise only
/// where the subject has no other. Answers which, and when.
async fn create(
    session: &mut Session<'_, '_>,
    ops: &[Opening],
    late: &[bool],
    beside_others: bool,
) -> Result<HashMap<String, Timestamp>, sqlx::Error> {
    // The times are the server's to fill in.
    let born = ops.iter().zip(late).map(|(op, late)| rules::born(&op.new, *late, Timestamp(0)).0);
    let heads: Vec<Head> = born.collect();
    let all = |value: fn(&Head) -> i64| heads.iter().map(value).collect::<Vec<i64>>();
    let texts = |value: fn(&Head) -> &str| {
        heads.iter().map(|head| value(head).as_bytes()).collect::<Vec<&[u8]>>()
    };
    let held = |op: &Opening, head: &Head| {
        op.new.claim.as_ref().filter(|_| head.lease.is_some()).map(|by| millis(by.ttl))
    };
    let owner = |head: &Head| head.lease.as_ref().map(|holder| holder.owner.clone().into_bytes());
    let (mut records, mut asks) = <((Vec<_>, Vec<_>, Vec<_>), (Vec<_>, Vec<_>, Vec<_>))>::default();
    for op in ops {
        if let Some(body) = rows::body(&op.new.records) {
            records.0.push(op.new.id.as_str());
            records.1.push(number(op.new.records.len()));
            records.2.push(body);
        }
        for (ask, answer) in &op.new.asks {
            asks.0.push(op.new.id.as_str());
            asks.1.push(ask.as_bytes());
            asks.2.push(answer.as_deref());
        }
    }
    let sql = sqlx::query(CREATE)
        .bind(heads.iter().map(|head| head.id.as_str()).collect::<Vec<_>>())
        .bind(texts(|head| &head.workflow))
        .bind(all(|head| i64::from(head.workflow_version)))
        .bind(all(|head| i64::from(head.format)))
        .bind(texts(|head| &head.key))
        .bind(heads.iter().map(|h| h.subject.as_deref().map(str::as_bytes)).collect::<Vec<_>>())
        .bind(all(|head| head.order))
        .bind(all(|head| status(head.status)))
        .bind(all(|head| number(head.version)))
        .bind(all(|head| number(head.epoch)))
        .bind(heads.iter().map(owner).collect::<Vec<_>>())
        .bind(ops.iter().zip(&heads).map(|(op, head)| held(op, head)).collect::<Vec<_>>())
        .bind(heads.iter().map(|h| h.not_before.map(|at| at.0)).collect::<Vec<_>>())
        .bind(ops.iter().map(|op| bytes(op.token)).collect::<Vec<_>>())
        .bind(beside_others);
    let sql = sql.bind(records.0).bind(records.1).bind(records.2);
    let made = session.rows(sql.bind(asks.0).bind(asks.1).bind(asks.2)).await?;
    made.iter().map(|row| Ok((row.try_get(0)?, Timestamp(row.try_get(1)?)))).collect()
}

/// Opens a run that is there, or whose subject has others.
async fn beside(db: &Postgres, op: &Opening) -> Result<Opened, DbError> {
    let locks: Vec<i64> = op.lock().into_iter().collect();
    for _ in 0..rows::ROUNDS {
        if let Some(opened) = db
            .transaction(
                Repeat::Harmless,
                &locks,
                work!(|session| {
                    let (own, others) = related(session, op).await?;
                    open(session, op, own, others).await
                }),
            )
            .await?
        {
            return Ok(opened);
        }
    }
    Err(rows::restless(op.new.id.as_str()))
}

/// The run, if it is there, and those others of its subject that may matter: the unfinished ones, and
/// the highest of those that are not superseded. All of them locked.
async fn related(
    session: &mut Session<'_, '_>,
    op: &Opening,
) -> Result<(Option<Seen>, Vec<Seen>), sqlx::Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        ", verdict.now_ms() FROM verdict.run WHERE id = ANY(ARRAY(\
         SELECT $1::text UNION SELECT r.id FROM verdict.run AS r WHERE r.subject = $2 AND \
         (r.status < 3 OR (r.status <> 5 AND r.place = (SELECT max(o.place) FROM verdict.run AS o \
         WHERE o.subject = $2 AND o.status <> 5))))) ORDER BY n FOR UPDATE"
    );
    let subject = op.new.subject.as_deref().map(str::as_bytes);
    let sql = sqlx::query(sql).bind(op.new.id.as_str()).bind(subject);
    let rows = session.rows(sql).await?;
    let seen = rows.iter().map(rows::seen).collect::<Result<Vec<Seen>, _>>()?;
    let (mut own, others): (Vec<_>, _) =
        seen.into_iter().partition(|(row, _)| row.head.id == op.new.id);
    Ok((own.pop(), others))
}

/// `None` when somebody made the run meanwhile.
async fn open(
    session: &mut Session<'_, '_>,
    op: &Opening,
    own: Option<Seen>,
    others: Vec<Seen>,
) -> Result<Option<Opened>, sqlx::Error> {
    let mut changed = Vec::new();
    let mut superseded = superseded_before(session, op).await?;
    let (head, created, lease) = match own {
        // Made by an attempt whose answer was lost.
        Some((row, _)) if row.token == Some(op.token) => {
            return Ok(Some(healed(row.head, superseded)));
        }
        Some((mut row, now)) => {
            if rules::found(&mut row.head, op.new.order, now) {
                changed.push(row.clone());
            }
            (row.head, false, None)
        }
        None => {
            let late = others.iter().any(|(row, _)| rules::outranks(&row.head, op.new.order));
            let made = create(session, std::slice::from_ref(op), &[late], true).await?;
            let Some(now) = made.into_values().next() else { return Ok(None) };
            let (head, lease) = rules::born(&op.new, late, now);
            (head, true, lease)
        }
    };
    let Some(now) = supersede(session, op, head.order, others, changed).await? else {
        return Ok(None);
    };
    superseded.extend(now);
    Ok(Some(Opened { head, created, lease, superseded }))
}

fn healed(head: Head, superseded: Vec<RunId>) -> Opened {
    let lease = (head.epoch == 1 && head.lease.is_some())
        .then(|| Lease { run: head.id.clone(), epoch: head.epoch });
    Opened { head, created: true, lease, superseded }
}

/// What an attempt whose answer was lost has superseded: of the runs it set out to stop, those that
/// are as it would have left them.
async fn superseded_before(
    session: &mut Session<'_, '_>,
    op: &Opening,
) -> Result<Vec<RunId>, sqlx::Error> {
    let stopped = op.stopped().clone();
    if stopped.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = stopped.iter().map(|head| head.id.as_str()).collect();
    let seen = rows::find(session, &ids).await?;
    let left = |head: &Head| (head.status, head.epoch, head.version);
    let done = |head: &&Head| {
        seen.get(head.id.as_str()).is_some_and(|(row, _)| left(&row.head) == left(head))
    };
    Ok(stopped.iter().filter(done).map(|head| head.id.clone()).collect())
}

/// Stops the others of a lower order, and writes these and what changed already.
async fn supersede(
    session: &mut Session<'_, '_>,
    op: &Opening,
    order: i64,
    others: Vec<Seen>,
    mut changed: Vec<super::codec::Row>,
) -> Result<Option<Vec<RunId>>, sqlx::Error> {
    let (mut records, mut stopped) = (Records::default(), Vec::new());
    for (mut row, now) in others {
        if rules::is_superseded_by(&row.head, order) {
            records.put(row.n, row.head.version, &op.new.superseded);
            rules::stop(&mut row.head, RunStatus::Superseded, now);
            stopped.push(row.head.id.clone());
            op.stopped().push(row.head.clone());
            changed.push(row);
        }
    }
    let saved = changed.is_empty() || rows::save(session, &changed, &records, None).await?;
    Ok(saved.then_some(stopped))
}
