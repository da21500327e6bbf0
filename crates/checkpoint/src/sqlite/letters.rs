//! Dead letters.

use bytes::Bytes;
use sqlx::{QueryBuilder, Row as _, sqlite::SqliteRow};

use super::codec::{code, listed, number, run_id, whole};
use crate::db::{DbError, Lane, Sqlite, Tx};
use verdict_graph::{
    base::Timestamp,
    store::{Letter, LetterFilter, LetterReason, LetterState},
};

pub(super) struct Puts;

impl Lane for Puts {
    type Op = Letter;
    type Answer = ();

    async fn run(tx: &mut Tx<'_>, ops: &[Letter]) -> Result<Vec<()>, DbError> {
        for letter in ops {
            put(tx, letter).await?;
        }
        Ok(vec![(); ops.len()])
    }
}

/// Records a letter, or that it came again.
pub(super) async fn put(tx: &mut Tx<'_>, letter: &Letter) -> Result<(), DbError> {
    let headers = serde_json::to_string(&letter.headers)
        .map_err(|e| DbError::permanent(format!("letter {}: {e}", letter.id)))?;
    sqlx::query(
        "INSERT INTO letter (id, reason, state, confirmed, run, workflow, node, error, executions, \
         first_at, last_at, headers, payload) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) \
         ON CONFLICT (id) DO UPDATE SET last_at = excluded.last_at, error = excluded.error, \
         executions = excluded.executions, state = iif(state = 1, 0, state), \
         confirmed = iif(state = 1, 0, confirmed)",
    )
    .bind(&letter.id[..])
    .bind(code(&LetterReason::ALL, &letter.reason))
    .bind(code(&LetterState::ALL, &letter.state))
    .bind(letter.confirmed)
    .bind(letter.run.as_ref().map(|run| run.as_str()))
    .bind(letter.workflow.as_deref())
    .bind(letter.node.as_deref())
    .bind(&letter.error[..])
    .bind(letter.executions)
    .bind(letter.first_at.0)
    .bind(letter.last_at.0)
    .bind(headers)
    .bind(&letter.payload[..])
    .execute(tx.conn())
    .await?;
    Ok(())
}

pub(super) struct Confirmations;

impl Lane for Confirmations {
    type Op = String;
    type Answer = bool;

    async fn run(tx: &mut Tx<'_>, ops: &[String]) -> Result<Vec<bool>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for id in ops {
            let query = sqlx::query("UPDATE letter SET confirmed = 1 WHERE id = ?").bind(&id[..]);
            answers.push(query.execute(tx.conn()).await?.rows_affected() > 0);
        }
        Ok(answers)
    }
}

pub(super) struct Settlements;

impl Lane for Settlements {
    type Op = (String, LetterState, Option<Timestamp>);
    type Answer = Option<(LetterState, bool)>;

    async fn run(tx: &mut Tx<'_>, ops: &[Self::Op]) -> Result<Vec<Self::Answer>, DbError> {
        let mut answers = Vec::with_capacity(ops.len());
        for (id, state, last_at) in ops {
            answers.push(settle(tx, id, (*state, *last_at)).await?);
        }
        Ok(answers)
    }
}

async fn settle(
    tx: &mut Tx<'_>,
    id: &str,
    (state, last_at): (LetterState, Option<Timestamp>),
) -> Result<Option<(LetterState, bool)>, DbError> {
    let query = sqlx::query(
        "UPDATE letter SET state = ?2
         WHERE id = ?1 AND state = 0 AND ?2 <> 0 AND (?3 IS NULL OR last_at = ?3)",
    );
    let query = query.bind(id).bind(code(&LetterState::ALL, &state)).bind(last_at.map(|at| at.0));
    let settled = query.execute(tx.conn()).await?.rows_affected() > 0;
    let now = sqlx::query("SELECT state FROM letter WHERE id = ?").bind(id);
    let now = now.fetch_optional(tx.conn()).await?;
    Ok(now.map(|row| listed(&LetterState::ALL, &row, 0)).transpose()?.map(|state| (state, settled)))
}

const BARE: &str = "SELECT id, reason, state, confirmed, run, workflow, node, error, executions, \
                    first_at, last_at, headers FROM letter WHERE true";

fn read(row: &SqliteRow) -> Result<Letter, sqlx::Error> {
    let headers: &str = row.try_get(11)?;
    Ok(Letter {
        id: row.try_get(0)?,
        reason: listed(&LetterReason::ALL, row, 1)?,
        state: listed(&LetterState::ALL, row, 2)?,
        confirmed: row.try_get(3)?,
        run: row.try_get::<Option<&str>, _>(4)?.map(run_id).transpose()?,
        workflow: row.try_get(5)?,
        node: row.try_get(6)?,
        error: row.try_get(7)?,
        executions: whole(row, 8)?,
        first_at: Timestamp(row.try_get(9)?),
        last_at: Timestamp(row.try_get(10)?),
        headers: serde_json::from_str(headers).map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        payload: Bytes::new(),
    })
}

pub(super) async fn get(db: &Sqlite, id: &str) -> Result<Option<Letter>, DbError> {
    let query = sqlx::query(
        "SELECT id, reason, state, confirmed, run, workflow, node, error, executions, first_at, \
         last_at, headers, payload FROM letter WHERE id = ?",
    );
    let row = query.bind(id).fetch_optional(&mut *db.reader().await?).await?;
    let Some(row) = row else { return Ok(None) };
    let payload: Vec<u8> = row.try_get(12)?;
    Ok(Some(Letter { payload: payload.into(), ..read(&row)? }))
}

pub(super) async fn list(db: &Sqlite, filter: &LetterFilter) -> Result<Vec<Letter>, DbError> {
    let mut sql = QueryBuilder::new(BARE);
    if let Some(state) = &filter.state {
        sql.push(" AND state = ").push_bind(code(&LetterState::ALL, state));
    }
    if let Some(confirmed) = filter.confirmed {
        sql.push(" AND confirmed = ").push_bind(confirmed);
    }
    sql.push(" ORDER BY last_at DESC, id DESC");
    if filter.limit > 0 {
        sql.push(" LIMIT ").push_bind(number(filter.limit));
    }
    let rows = sql.build().fetch_all(&mut *db.reader().await?).await?;
    rows.iter().map(|row| Ok(read(row)?)).collect()
}
