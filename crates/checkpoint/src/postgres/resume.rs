//! What is written without a lease: answers to interrupts, and cancellations.

use bytes::Bytes;
use sqlx::Row as _;

use super::rows::{self, Records, Seen};
use crate::db::{
    DbError, Postgres,
    postgres::{Repeat, Session, work},
};
use verdict_graph::{
    rules,
    store::{Cancelled, Resumed, RunId, RunStatus, StoredRecord},
};

/// `None` when there is no such run.
pub(super) async fn resume(
    db: &Postgres,
    run: &RunId,
    interrupt: &str,
    value: &Bytes,
    record: &StoredRecord,
) -> Result<Option<Resumed>, DbError> {
    for _ in 0..rows::ROUNDS {
        let Some(((mut row, now), ask)) =
            db.call(Repeat::Harmless, work!(|session| look(session, run, interrupt).await)).await?
        else {
            return Ok(None);
        };
        if let Some(refused) = rules::refuse_answer(&row.head, ask) {
            return Ok(Some(refused));
        }
        let mut records = Records::default();
        records.put(row.n, row.head.version, record);
        let answer = (row.n, interrupt, &value[..]);
        let number = rules::resume(&mut row.head, now);
        if rows::change(db, Repeat::Never, row, &records, Some(answer)).await? {
            return Ok(Some(Resumed::Accepted(number)));
        }
    }
    Err(rows::restless(run.as_str()))
}

type Ask = Option<Option<Bytes>>;

/// The run, and then the interrupt as it stands: whoever changes it changes the run too.
async fn look(
    session: &mut Session<'_, '_>,
    run: &RunId,
    interrupt: &str,
) -> Result<Option<(Seen, Ask)>, sqlx::Error> {
    let Some(seen) = rows::find(session, &[run.as_str()]).await?.remove(run.as_str()) else {
        return Ok(None);
    };
    let ask = sqlx::query("SELECT answer FROM verdict.ask WHERE run = $1 AND id = $2");
    let ask = session.row(ask.bind(seen.0.n).bind(interrupt.as_bytes())).await?;
    let ask = ask.map(|row| row.try_get::<Option<Vec<u8>>, _>(0)).transpose()?;
    Ok(Some((seen, ask.map(|answer| answer.map(Bytes::from)))))
}

pub(super) async fn cancel(
    db: &Postgres,
    run: &RunId,
    record: &StoredRecord,
) -> Result<Cancelled, DbError> {
    for _ in 0..rows::ROUNDS {
        let Some((mut row, now)) = rows::look(db, run.as_str()).await? else {
            return Ok(Cancelled::Missing);
        };
        if row.head.status.is_final() {
            return Ok(Cancelled::Final(row.head.status));
        }
        let mut records = Records::default();
        records.put(row.n, row.head.version, record);
        rules::stop(&mut row.head, RunStatus::Cancelled, now);
        if rows::change(db, Repeat::Never, row, &records, None).await? {
            return Ok(Cancelled::Done);
        }
    }
    Err(rows::restless(run.as_str()))
}
