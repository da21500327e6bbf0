//! The schema of a database file, versioned by `PRAGMA user_version`.

use std::path::Path;

use sqlx::{Connection, Executor, Row, SqliteConnection};

use super::super::DbError;

/// Step n leads from version n to version n + 1. Never change one that was released: add one.
const STEPS: &[&str] = &[
    include_str!("schema/1_store.sql"),
    include_str!("schema/2_queue.sql"),
    include_str!("schema/3_waiting.sql"),
    include_str!("schema/4_lost_claims.sql"),
    include_str!("schema/5_events.sql"),
    include_str!("schema/6_dead_places.sql"),
];

/// Marks the file as ours ("vrdt").
const APPLICATION_ID: i32 = 0x7672_6474;

/// The version this build reads and writes.
pub const VERSION: i64 = STEPS.len() as i64;

/// Brings the file to [`VERSION`], in one immediate transaction: of several processes opening a
/// new file at once, one does it and the others find it done. Answers the version before, if it was
/// another.
pub(super) async fn migrate(
    conn: &mut SqliteConnection,
    path: &Path,
) -> Result<Option<i64>, DbError> {
    if check(conn, path).await? == VERSION {
        return Ok(None);
    }
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let from = check(&mut tx, path).await?;
    for step in STEPS.iter().skip(usize::try_from(from).unwrap_or_default()) {
        tx.execute(sqlx::raw_sql(*step)).await?;
    }
    let mark = format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={VERSION}");
    tx.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(mark))).await?;
    tx.commit().await?;
    Ok((from < VERSION).then_some(from))
}

/// The file's version, if this build can use the file at all.
async fn check(conn: &mut SqliteConnection, path: &Path) -> Result<i64, DbError> {
    let row = sqlx::query(
        "SELECT (SELECT user_version FROM pragma_user_version), \
                (SELECT application_id FROM pragma_application_id), \
                (SELECT count(*) FROM sqlite_schema)",
    )
    .fetch_one(conn)
    .await?;
    let (version, application, tables): (i64, i64, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let name = path.display();
    if application != i64::from(APPLICATION_ID) && (tables > 0 || application != 0) {
        return Err(DbError::permanent(format!(
            "{name} is the database of another program: name another file"
        )));
    }
    if version > VERSION {
        return Err(DbError::permanent(format!(
            "{name} has schema version {version}, and this build knows versions up to {VERSION}: \
             use the newer build that wrote it, or name another file"
        )));
    }
    Ok(version)
}
