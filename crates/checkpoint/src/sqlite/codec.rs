//! Between rows and the port's types.

use std::time::Duration;

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::codec::{Decoded, holder, natural, nth, random, waiting};
pub(super) use crate::codec::{code, number, run_id, status};
use verdict_graph::{
    base::Timestamp,
    rules::LastBatch,
    store::{Head, RunStatus},
};

/// The columns of a run, in the order [`Row::read`] takes them.
macro_rules! columns {
    () => {
        "n, id, workflow, workflow_version, format, key, subject, place, status, version, epoch, \
         owner, expires, not_before, executions, active, error, created_at, updated_at, batch, \
         batch_version, waiting, waiting_text, lost_claims"
    };
}
pub(super) use columns;

/// A run's row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its number, under which the other tables know it.
    pub n: i64,
    pub head: Head,
    pub last: LastBatch,
}

impl Row {
    pub(super) fn read(row: &SqliteRow) -> Decoded<Self> {
        let status = listed(&RunStatus::ALL, row, 8)?;
        let head = Head {
            id: run_id(row.try_get(1)?)?,
            workflow: row.try_get(2)?,
            workflow_version: whole(row, 3)?,
            format: whole(row, 4)?,
            key: row.try_get(5)?,
            subject: row.try_get(6)?,
            order: row.try_get(7)?,
            status,
            version: whole(row, 9)?,
            epoch: whole(row, 10)?,
            lease: holder(row.try_get(11)?, row.try_get(12)?),
            not_before: row.try_get::<Option<i64>, _>(13)?.map(Timestamp),
            waiting: waiting(status, row.try_get(21)?, row.try_get(22)?),
            executions: whole(row, 14)?,
            lost_claims: whole(row, 23)?,
            active: Duration::from_nanos(whole(row, 15)?),
            error: row.try_get(16)?,
            created_at: Timestamp(row.try_get(17)?),
            updated_at: Timestamp(row.try_get(18)?),
        };
        let batch = row.try_get::<Option<&[u8]>, _>(19)?;
        let last = match batch {
            Some(batch) => Some((random(batch)?, whole(row, 20)?)),
            None => None,
        };
        Ok(Self { n: row.try_get(0)?, head, last })
    }
}

/// A number that cannot be negative.
pub(super) fn whole<T: TryFrom<i64>>(row: &SqliteRow, column: usize) -> Decoded<T> {
    natural(column, row.try_get(column)?)
}

/// A place in a list.
pub(super) fn listed<T: Copy>(list: &[T], row: &SqliteRow, column: usize) -> Decoded<T> {
    nth(list, column, row.try_get(column)?)
}
