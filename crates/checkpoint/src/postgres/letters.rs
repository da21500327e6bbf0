//! Dead letters.

use bytes::Bytes;
use sqlx::{QueryBuilder, Row as _, postgres::PgRow};

use super::codec::{code, listed, number, optional, run_id, text, whole};
use crate::db::{
    DbError, Postgres,
    postgres::{Repeat, Sql, work},
};
use verdict_graph::{
    base::Timestamp,
    store::{Letter, LetterFilter, LetterReason, LetterState},
};

macro_rules! columns {
    () => {
        "(id, reason, state, confirmed, run, workflow, node, error, executions, first_at, last_at, \
         headers, payload)"
    };
}
pub(super) use columns;

/// What becomes of a letter `l` that comes again.
macro_rules! again {
    () => {
        "ON CONFLICT (id) DO UPDATE SET last_at = excluded.last_at, error = excluded.error, \
         executions = excluded.executions, \
         state = CASE WHEN l.state = 1 THEN 0 ELSE l.state END, \
         confirmed = l.confirmed AND l.state <> 1"
    };
}
pub(super) use again;

/// Binds a letter's columns.
pub(super) fn bind<'q>(sql: Sql<'q>, letter: &Letter) -> Result<Sql<'q>, sqlx::Error> {
    let headers =
        serde_json::to_vec(&letter.headers).map_err(|e| sqlx::Error::Encode(Box::new(e)))?;
    let owned = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
    Ok(sql
        .bind(letter.id.as_bytes().to_vec())
        .bind(code(&LetterReason::ALL, &letter.reason))
        .bind(code(&LetterState::ALL, &letter.state))
        .bind(letter.confirmed)
        .bind(letter.run.as_ref().map(|run| run.as_str().to_owned()))
        .bind(owned(&letter.workflow))
        .bind(owned(&letter.node))
        .bind(letter.error.as_bytes().to_vec())
        .bind(i64::from(letter.executions))
        .bind(letter.first_at.0)
        .bind(letter.last_at.0)
        .bind(headers)
        .bind(letter.payload.to_vec()))
}

/// Records a letter, or that it came again.
pub(super) async fn put(db: &Postgres, letter: &Letter) -> Result<(), DbError> {
    const PUT: &str = concat!(
        "INSERT INTO verdict.letter AS l ",
        columns!(),
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ",
        again!()
    );
    db.call(
        Repeat::Harmless,
        work!(|session| session.run(bind(sqlx::query(PUT), letter)?).await.map(drop)),
    )
    .await
}

pub(super) async fn confirm(db: &Postgres, id: &str) -> Result<bool, DbError> {
    let sql = "UPDATE verdict.letter SET confirmed = true WHERE id = $1";
    db.call(
        Repeat::Harmless,
        work!(|session| Ok(session.run(sqlx::query(sql).bind(id.as_bytes())).await? > 0)),
    )
    .await
}

pub(super) async fn settle(
    db: &Postgres,
    id: &str,
    (state, last_at): (LetterState, Option<Timestamp>),
) -> Result<Option<(LetterState, bool)>, DbError> {
    db.transaction(
        Repeat::Never,
        &[],
        work!(|session| {
            let sql = "UPDATE verdict.letter SET state = $2 WHERE id = $1 AND state = 0 AND $2 <> 0 \
                       AND ($3::bigint IS NULL OR last_at = $3)";
            let sql = sqlx::query(sql).bind(id.as_bytes()).bind(code(&LetterState::ALL, &state));
            let sql = sql.bind(last_at.map(|at| at.0));
            let settled = session.run(sql).await? > 0;
            let sql =
                sqlx::query("SELECT state FROM verdict.letter WHERE id = $1").bind(id.as_bytes());
            let now = session.row(sql).await?;
            Ok(now
                .map(|row| listed(&LetterState::ALL, &row, 0))
                .transpose()?
                .map(|state| (state, settled)))
        }),
    )
    .await
}

macro_rules! select {
    () => {
        "SELECT id, reason, state, confirmed, run, workflow, node, error, executions, first_at, \
         last_at, headers"
    };
}

fn read(row: &PgRow) -> Result<Letter, sqlx::Error> {
    let headers: &[u8] = row.try_get(11)?;
    Ok(Letter {
        id: text(row, 0)?,
        reason: listed(&LetterReason::ALL, row, 1)?,
        state: listed(&LetterState::ALL, row, 2)?,
        confirmed: row.try_get(3)?,
        run: row.try_get::<Option<&str>, _>(4)?.map(run_id).transpose()?,
        workflow: optional(row, 5)?,
        node: optional(row, 6)?,
        error: text(row, 7)?,
        executions: whole(row, 8)?,
        first_at: Timestamp(row.try_get(9)?),
        last_at: Timestamp(row.try_get(10)?),
        headers: serde_json::from_slice(headers).map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        payload: Bytes::new(),
    })
}

pub(super) async fn get(db: &Postgres, id: &str) -> Result<Option<Letter>, DbError> {
    db.call(
        Repeat::Harmless,
        work!(|session| {
            let sql = concat!(select!(), ", payload FROM verdict.letter WHERE id = $1");
            let Some(row) = session.row(sqlx::query(sql).bind(id.as_bytes())).await? else {
                return Ok(None);
            };
            let payload: Vec<u8> = row.try_get(12)?;
            Ok(Some(Letter { payload: payload.into(), ..read(&row)? }))
        }),
    )
    .await
}

pub(super) async fn list(db: &Postgres, filter: &LetterFilter) -> Result<Vec<Letter>, DbError> {
    db.call(
        Repeat::Harmless,
        work!(|session| {
            let mut sql = QueryBuilder::new(concat!(select!(), " FROM verdict.letter WHERE true"));
            if let Some(state) = &filter.state {
                sql.push(" AND state = ").push_bind(code(&LetterState::ALL, state));
            }
            match filter.confirmed {
                Some(true) => _ = sql.push(" AND confirmed"),
                Some(false) => _ = sql.push(" AND NOT confirmed"),
                None => {}
            }
            sql.push(" ORDER BY last_at DESC, id DESC");
            if filter.limit > 0 {
                sql.push(" LIMIT ").push_bind(number(filter.limit));
            }
            session.rows(sql.build()).await?.iter().map(read).collect()
        }),
    )
    .await
}
