//! Between rows and the port's types.

use std::time::Duration;

use sqlx::{Row as _, postgres::PgRow};

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
         batch_version, token, xmin::text, waiting, waiting_text, lost_claims"
    };
}
pub(super) use columns;

/// How many [`columns`] there are: what follows them in a row has this number.
pub(super) const COLUMNS: usize = 26;

/// A run's row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Its number, under which the other tables know it.
    pub n: i64,
    pub head: Head,
    pub last: LastBatch,
    /// What whoever made or claimed it last left.
    pub token: Option<u128>,
    /// Changes whenever the row does.
    pub revision: String,
}

impl Row {
    pub(super) fn read(row: &PgRow) -> Decoded<Self> {
        let status = listed(&RunStatus::ALL, row, 8)?;
        let head = Head {
            id: run_id(row.try_get(1)?)?,
            workflow: text(row, 2)?,
            workflow_version: whole(row, 3)?,
            format: whole(row, 4)?,
            key: text(row, 5)?,
            subject: optional(row, 6)?,
            order: row.try_get(7)?,
            status,
            version: whole(row, 9)?,
            epoch: whole(row, 10)?,
            lease: holder(optional(row, 11)?, row.try_get(12)?),
            not_before: row.try_get::<Option<i64>, _>(13)?.map(Timestamp),
            waiting: waiting(status, row.try_get(23)?, optional(row, 24)?.as_deref()),
            executions: whole(row, 14)?,
            lost_claims: whole(row, 25)?,
            active: Duration::from_nanos(whole(row, 15)?),
            error: optional(row, 16)?,
            created_at: Timestamp(row.try_get(17)?),
            updated_at: Timestamp(row.try_get(18)?),
        };
        let last = match row.try_get::<Option<&[u8]>, _>(19)? {
            Some(batch) => Some((random(batch)?, whole(row, 20)?)),
            None => None,
        };
        let token = row.try_get::<Option<&[u8]>, _>(21)?.map(random).transpose()?;
        Ok(Self { n: row.try_get(0)?, head, last, token, revision: row.try_get(22)? })
    }
}

/// Text, kept as bytes: here, text may not hold every character.
pub(super) fn text(row: &PgRow, column: usize) -> Decoded<String> {
    utf8(row.try_get(column)?)
}

pub(super) fn optional(row: &PgRow, column: usize) -> Decoded<Option<String>> {
    row.try_get::<Option<Vec<u8>>, _>(column)?.map(utf8).transpose()
}

fn utf8(bytes: Vec<u8>) -> Decoded<String> {
    String::from_utf8(bytes).map_err(|e| sqlx::Error::Decode(Box::new(e)))
}

/// A number that cannot be negative.
pub(super) fn whole<T: TryFrom<i64>>(row: &PgRow, column: usize) -> Decoded<T> {
    natural(column, row.try_get(column)?)
}

/// A place in a list.
pub(super) fn listed<T: Copy>(list: &[T], row: &PgRow, column: usize) -> Decoded<T> {
    nth(list, column, row.try_get(column)?)
}

/// A span of time that can be added to any moment near now.
pub(super) fn millis(span: Duration) -> i64 {
    number(span.as_millis()).min(1 << 53)
}
