//! Opening: runs are made by one statement for many, and only those that were there already, or
//! have a subject, are looked at.

use std::{collections::HashMap, sync::LazyLock};

use sqlx::SqliteConnection;

use super::{
    codec::{Row, columns},
    rows,
};
use crate::{
    db::{DbError, Lane, Rows, Tx},
    waves::waves,
};
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{Head, Lease, NewRun, Opened, RunId, RunStatus},
};

pub(super) struct Opens;

impl Lane for Opens {
    type Op = NewRun;
    type Answer = Opened;

    async fn run(tx: &mut Tx<'_>, ops: &[NewRun]) -> Result<Vec<Opened>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        // An id and a subject may be spelled alike; that only cuts one time too often.
        for wave in waves(ops, |op| (op.id.as_str(), op.subject.as_deref())) {
            let others = others(tx, wave).await?;
            if meet(wave, &others) {
                for alone in wave.chunks(1) {
                    let others = self::others(tx, alone).await?;
                    answers.extend(open(tx, alone, &others).await?);
                }
            } else {
                answers.extend(open(tx, wave, &others).await?);
            }
        }
        Ok(answers)
    }

    async fn run_alone(
        conn: &mut SqliteConnection,
        now: Timestamp,
        op: &NewRun,
    ) -> Result<Option<Opened>, DbError> {
        let Some(sql) = ALONE.get(op.records.len()).filter(|_| op.asks.is_empty()) else {
            return Ok(None);
        };
        let (head, lease) = rules::born(op, false, now);
        let query = rows::bind_new(sqlx::query(sql.as_str()), &head).bind(op.subject.as_deref());
        let query = rows::bind_few(query, &op.id, 0, &op.records);
        // All rows, not the first: the driver would stop there, and leave out what follows.
        let created = !query.fetch_all(conn).await?.is_empty();
        Ok(created.then(|| Opened { head, created, lease, superseded: Vec::new() }))
    }
}

/// The whole transaction of opening a run with that many records, as one text: it makes a run that
/// is not there yet and whose subject has no other.
static ALONE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let [before, row, after] = rows::CREATE;
    let sql = |records| {
        let insert = rows::insert_if_changed(records);
        format!(
            "BEGIN IMMEDIATE; {before} SELECT {row} WHERE NOT EXISTS \
             (SELECT 1 FROM run WHERE subject = ? AND status <> 5){after}; {insert} COMMIT"
        )
    };
    (0..=rows::FEW).map(sql).collect()
});

type Others = HashMap<RunId, Vec<Row>>;

/// Whether one opening may supersede a run that another one opens.
fn meet(wave: &[NewRun], others: &Others) -> bool {
    let touched = |row: &Row| wave.iter().any(|new| new.id == row.head.id);
    others.values().flatten().any(touched)
}

/// Opens different runs of different subjects.
async fn open(tx: &mut Tx<'_>, wave: &[NewRun], others: &Others) -> Result<Vec<Opened>, DbError> {
    let (heads, leases) = born(tx, wave, others);
    let created = rows::create(tx, &heads).await?;
    write_first(tx, wave, &created).await?;
    let mut found = find(tx, wave, &created).await?;
    let mut opened = Vec::with_capacity(wave.len());
    for ((new, head), lease) in wave.iter().zip(heads).zip(leases) {
        let there = found.remove(&new.id);
        let (head, lease, created) = match there {
            Some(head) => (head, None, false),
            None => (head, lease, true),
        };
        let superseded = supersede(tx, new, head.order, others.get(&new.id)).await?;
        opened.push(Opened { head, created, lease, superseded });
    }
    Ok(opened)
}

fn born(tx: &Tx<'_>, wave: &[NewRun], others: &Others) -> (Vec<Head>, Vec<Option<Lease>>) {
    let late = |new: &NewRun| {
        let others = others.get(&new.id).map(Vec::as_slice).unwrap_or_default();
        others.iter().any(|other| rules::outranks(&other.head, new.order))
    };
    wave.iter().map(|new| rules::born(new, late(new), tx.now())).unzip()
}

/// For each opening with a subject, those of the subject's other runs that may matter: the
/// unfinished ones, and the highest of those that are not superseded.
async fn others(tx: &mut Tx<'_>, wave: &[NewRun]) -> Result<Others, DbError> {
    static OTHERS: LazyLock<Rows> = LazyLock::new(|| {
        Rows::new(
            concat!("SELECT ", columns!(), " FROM run WHERE subject IN ("),
            "?",
            ") AND (status < 3 OR (status <> 5 AND place = (SELECT max(place) FROM run AS r \
             WHERE r.subject = run.subject AND r.status <> 5))) ORDER BY n",
        )
    });
    let with: Vec<(&str, &RunId)> =
        wave.iter().filter_map(|new| Some((new.subject.as_deref()?, &new.id))).collect();
    let openers: HashMap<&str, &RunId> = with.iter().copied().collect();
    let mut others = Others::new();
    for (sql, piece) in OTHERS.pieces(&with) {
        let query = piece.iter().fold(sqlx::query(sql), |query, (subject, _)| query.bind(*subject));
        for row in query.fetch_all(tx.conn()).await? {
            let row = Row::read(&row)?;
            let opener = row.head.subject.as_deref().and_then(|subject| openers.get(subject));
            match opener {
                Some(id) if **id != row.head.id => {
                    others.entry((*id).clone()).or_default().push(row);
                }
                _ => {}
            }
        }
    }
    Ok(others)
}

/// Writes the first records and interrupts of the runs just made.
async fn write_first(
    tx: &mut Tx<'_>,
    wave: &[NewRun],
    created: &HashMap<String, i64>,
) -> Result<(), DbError> {
    let (mut records, mut asks) = (Vec::new(), Vec::new());
    for new in wave {
        if let Some(n) = created.get(new.id.as_str()) {
            rows::put(&mut records, *n, 0, &new.records);
            asks.extend(new.asks.iter().map(|(id, answer)| (*n, id.as_str(), answer.as_ref())));
        }
    }
    rows::insert(tx, &records).await?;
    rows::ask(tx, &asks).await
}

/// The runs that were there already, with the higher of both orders.
async fn find(
    tx: &mut Tx<'_>,
    wave: &[NewRun],
    created: &HashMap<String, i64>,
) -> Result<HashMap<RunId, Head>, DbError> {
    let there: Vec<&NewRun> =
        wave.iter().filter(|new| !created.contains_key(new.id.as_str())).collect();
    let ids: Vec<&RunId> = there.iter().map(|new| &new.id).collect();
    let mut found = rows::find(tx, &ids).await?;
    let mut changed = Vec::new();
    for new in there {
        if let Some(row) = found.get_mut(&new.id)
            && rules::found(&mut row.head, new.order, tx.now())
        {
            changed.push(row.clone());
        }
    }
    rows::save(tx, &changed).await?;
    Ok(found.into_iter().map(|(id, row)| (id, row.head)).collect())
}

async fn supersede(
    tx: &mut Tx<'_>,
    new: &NewRun,
    order: i64,
    others: Option<&Vec<Row>>,
) -> Result<Vec<RunId>, DbError> {
    let (mut records, mut stopped) = (Vec::new(), Vec::new());
    for other in others.into_iter().flatten() {
        if rules::is_superseded_by(&other.head, order) {
            let mut row = other.clone();
            rows::put(&mut records, row.n, row.head.version, [&new.superseded]);
            rules::stop(&mut row.head, RunStatus::Superseded, tx.now());
            stopped.push(row);
        }
    }
    rows::insert(tx, &records).await?;
    rows::save(tx, &stopped).await?;
    Ok(stopped.into_iter().map(|row| row.head.id).collect())
}
