//! The schema `verdict` of a database, versioned by a table in it.

use sqlx::Row as _;

use super::{Postgres, Repeat, Session, work};
use crate::db::DbError;

/// Step n leads from version n to version n + 1. Never change one that was released: add one.
const STEPS: &[&str] = &[
    include_str!("schema/1_store.sql"),
    include_str!("schema/2_waiting.sql"),
    include_str!("schema/3_lost_claims.sql"),
    include_str!("schema/4_events.sql"),
];

/// The version this build reads and writes.
pub const VERSION: i32 = STEPS.len() as i32;

/// Held by whoever changes the schema.
const LOCK: i64 = 0x7672_6474_0000_0001;

/// Brings the schema to [`VERSION`], in one transaction: of several processes opening a new database
/// at once, one does it and the others find it done. Answers the version before, if it was another.
pub(super) async fn migrate(db: &Postgres) -> Result<Option<i32>, DbError> {
    let found = db.call(Repeat::Harmless, work!(|session| find(session).await)).await?;
    if check(db, found)? == VERSION {
        return Ok(None);
    }
    let from = db.transaction(Repeat::Harmless, &[LOCK], work!(|session| bring_up(session).await));
    let from = check(db, from.await?)?;
    Ok((from < VERSION).then_some(from))
}

/// Refuses a schema that is older than [`VERSION`].
pub(super) async fn is_current(db: &Postgres) -> Result<Option<i32>, DbError> {
    let found = db.call(Repeat::Harmless, work!(|session| find(session).await)).await?;
    match check(db, found)? {
        VERSION => Ok(None),
        older => Err(db.named(DbError::permanent(format!(
            "its schema has version {older}, and this build needs {VERSION}: run `verdict migrate`, \
             or set `store.postgres.migrate = true`"
        )))),
    }
}

async fn bring_up(session: &mut Session<'_, '_>) -> Result<Found, sqlx::Error> {
    let found = find(session).await?;
    if let Found::Version(from) = found
        && from < VERSION
    {
        step(session, from).await?;
    }
    Ok(found)
}

async fn step(session: &mut Session<'_, '_>, from: i32) -> Result<(), sqlx::Error> {
    for (version, step) in (1..).zip(STEPS).skip(usize::try_from(from).unwrap_or_default()) {
        session.script(step).await?;
        let mark = sqlx::query("INSERT INTO verdict.migration (version) VALUES ($1)");
        session.run(mark.bind::<i32>(version)).await?;
    }
    Ok(())
}

enum Found {
    /// 0 when there is nothing yet.
    Version(i32),
    /// A schema of that name, without our table.
    Foreign,
}

async fn find(session: &mut Session<'_, '_>) -> Result<Found, sqlx::Error> {
    let there = sqlx::query(
        "SELECT to_regclass('verdict.migration') IS NOT NULL, to_regnamespace('verdict') IS NOT NULL",
    );
    let Some(row) = session.row(there).await? else { return Ok(Found::Foreign) };
    if !row.try_get::<bool, _>(0)? {
        let foreign = row.try_get::<bool, _>(1)? && !empty(session).await?;
        return Ok(if foreign { Found::Foreign } else { Found::Version(0) });
    }
    let version = sqlx::query("SELECT coalesce(max(version), 0) FROM verdict.migration");
    let row = session.row(version).await?;
    row.map_or(Ok(Found::Version(0)), |row| Ok(Found::Version(row.try_get(0)?)))
}

/// An administrator may have made the schema, empty, for a role that must not.
async fn empty(session: &mut Session<'_, '_>) -> Result<bool, sqlx::Error> {
    let sql = "SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('verdict') LIMIT 1";
    Ok(session.row(sqlx::query(sql)).await?.is_none())
}

/// The version, if this build can use the database at all.
fn check(db: &Postgres, found: Found) -> Result<i32, DbError> {
    match found {
        Found::Version(version) if version <= VERSION => Ok(version),
        Found::Version(version) => Err(db.named(DbError::permanent(format!(
            "it has schema version {version}, and this build knows versions up to {VERSION}: \
             use the newer build that wrote it, or name another database"
        )))),
        Found::Foreign => Err(db.named(DbError::permanent(
            "its schema `verdict` is another program's: name another database",
        ))),
    }
}
