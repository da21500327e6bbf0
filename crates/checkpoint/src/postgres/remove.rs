//! Deletion and retention.

use std::time::Duration;

use sqlx::{Row as _, postgres::PgRow};

use super::{
    codec::{columns, millis, number},
    rows,
};
use crate::db::{
    DbError, Postgres,
    postgres::{Repeat, Session, work},
};
use verdict_graph::{
    rules,
    store::{Deleted, RunId},
};

pub(super) async fn delete(db: &Postgres, run: &RunId) -> Result<bool, DbError> {
    Ok(db
        .transaction(
            Repeat::Never,
            &[],
            work!(|session| {
                let sql = sqlx::query("DELETE FROM verdict.run WHERE id = $1 RETURNING n");
                let gone = session.rows(sql.bind(run.as_str())).await?;
                clear(session, &gone).await
            }),
        )
        .await?
        > 0)
}

const LOCKED: &str =
    concat!("SELECT ", columns!(), ", verdict.now_ms() FROM verdict.run WHERE id = $1 FOR UPDATE");

/// Decides under the row's lock.
pub(super) async fn delete_ended(db: &Postgres, run: &RunId) -> Result<Deleted, DbError> {
    db.transaction(
        Repeat::Never,
        &[],
        work!(|session| {
            let locked = session.row(sqlx::query(LOCKED).bind(run.as_str())).await?;
            let Some(locked) = locked else { return Ok(Deleted::Missing) };
            let (row, now) = rows::seen(&locked)?;
            if let Some(spared) = rules::spared(&row.head, now) {
                return Ok(spared);
            }
            let sql = sqlx::query("DELETE FROM verdict.run WHERE n = $1 RETURNING n");
            let gone = session.rows(sql.bind(row.n)).await?;
            clear(session, &gone).await?;
            Ok(Deleted::Done)
        }),
    )
    .await
}

/// Removes what belonged to runs that are gone: a statement of its own, so that it sees what was
/// appended before they went.
async fn clear(session: &mut Session<'_, '_>, gone: &[PgRow]) -> Result<u64, sqlx::Error> {
    let runs = gone.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    if !runs.is_empty() {
        let sql = "WITH asks AS (DELETE FROM verdict.ask WHERE run = ANY($1)) \
                   DELETE FROM verdict.record WHERE run = ANY($1)";
        session.run(sqlx::query(sql).bind(&runs)).await?;
    }
    Ok(runs.len() as u64)
}

const LETTERS: &str = "DELETE FROM verdict.letter WHERE id = ANY(ARRAY(SELECT id FROM verdict.letter \
     WHERE state <> 0 AND last_at <= verdict.now_ms() - $1 ORDER BY last_at, id LIMIT $2))";

/// Nobody waits for a run that is just being changed: it has not outlived anything.
const RUNS: &str = "DELETE FROM verdict.run WHERE n = ANY(ARRAY(SELECT n FROM verdict.run AS r \
     WHERE ended_at <= verdict.now_ms() - $1 AND NOT EXISTS (SELECT 1 FROM verdict.letter AS l \
     WHERE l.run = r.id AND l.state = 0) ORDER BY ended_at, id LIMIT $2 \
     FOR UPDATE SKIP LOCKED)) RETURNING n";

pub(super) async fn expire(db: &Postgres, age: Duration, limit: usize) -> Result<u64, DbError> {
    db.transaction(
        Repeat::Never,
        &[],
        work!(|session| {
            let (age, limit) = (millis(age), number(limit));
            session.run(sqlx::query(LETTERS).bind(age).bind(limit)).await?;
            let gone = session.rows(sqlx::query(RUNS).bind(age).bind(limit)).await?;
            clear(session, &gone).await
        }),
    )
    .await
}
