//! Between rows and the port's types.

use std::time::Duration;

use sqlx::{Row as _, sqlite::SqliteRow};

use crate::{
    base::Timestamp,
    checkpoint::rules::LastBatch,
    graph::store::{Head, Holder, LetterReason, LetterState, RunId, RunStatus},
};

type Decoded<T> = Result<T, sqlx::Error>;

/// The columns of a run, in the order [`Row::read`] takes them.
macro_rules! columns {
    () => {
        "n, id, workflow, workflow_version, format, key, subject, place, status, version, epoch, \
         owner, expires, not_before, executions, active, error, created_at, updated_at, batch, \
         batch_version"
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
        let head = Head {
            id: run_id(row.try_get(1)?)?,
            workflow: row.try_get(2)?,
            workflow_version: whole(row, 3)?,
            format: whole(row, 4)?,
            key: row.try_get(5)?,
            subject: row.try_get(6)?,
            order: row.try_get(7)?,
            status: listed(&RunStatus::ALL, row, 8)?,
            version: whole(row, 9)?,
            epoch: whole(row, 10)?,
            lease: holder(row.try_get(11)?, row.try_get(12)?),
            not_before: row.try_get::<Option<i64>, _>(13)?.map(Timestamp),
            executions: whole(row, 14)?,
            active: Duration::from_nanos(whole(row, 15)?),
            error: row.try_get(16)?,
            created_at: Timestamp(row.try_get(17)?),
            updated_at: Timestamp(row.try_get(18)?),
        };
        let batch = row.try_get::<Option<&[u8]>, _>(19)?;
        let last = match batch {
            Some(batch) => Some((u128::from_be_bytes(bytes16(batch)?), whole(row, 20)?)),
            None => None,
        };
        Ok(Self { n: row.try_get(0)?, head, last })
    }
}

fn holder(owner: Option<String>, expires: Option<i64>) -> Option<Holder> {
    Some(Holder { owner: owner?, expires: Timestamp(expires?) })
}

fn bytes16(bytes: &[u8]) -> Decoded<[u8; 16]> {
    bytes.try_into().map_err(|e| sqlx::Error::Decode(Box::new(e)))
}

pub(super) fn run_id(text: &str) -> Decoded<RunId> {
    text.parse().map_err(|e| sqlx::Error::Decode(Box::new(e)))
}

/// A number that cannot be negative.
pub(super) fn whole<T: TryFrom<i64>>(row: &SqliteRow, column: usize) -> Decoded<T> {
    let number = row.try_get::<i64, _>(column)?;
    number.try_into().map_err(|_| unreadable(column, number))
}

/// A place in a list.
pub(super) fn listed<T: Copy>(list: &[T], row: &SqliteRow, column: usize) -> Decoded<T> {
    let number = row.try_get::<i64, _>(column)?;
    let found = usize::try_from(number).ok().and_then(|at| list.get(at));
    found.copied().ok_or_else(|| unreadable(column, number))
}

fn unreadable(column: usize, number: i64) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} holds {number}, which means nothing").into())
}

/// The number of a thing in its list.
pub(super) fn code<T: PartialEq>(list: &[T], thing: &T) -> i64 {
    list.iter().position(|one| one == thing).map_or(-1, number)
}

pub(super) fn status(status: RunStatus) -> i64 {
    code(&RunStatus::ALL, &status)
}

/// SQLite's integers are signed; nothing counted here comes near their end.
pub(super) fn number<T: TryInto<i64>>(number: T) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Persisted as their places: only ever add at the end.
pub(super) const REASONS: [LetterReason; 6] = [
    LetterReason::Undecodable,
    LetterReason::UnknownWorkflow,
    LetterReason::UnsupportedVersion,
    LetterReason::Permanent,
    LetterReason::AttemptsExhausted,
    LetterReason::BrokerLimit,
];

/// Persisted as their places: only ever add at the end.
pub(super) const STATES: [LetterState; 3] =
    [LetterState::Open, LetterState::Replayed, LetterState::Discarded];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_in_files_out_there_keep_their_meaning() {
        let words = RunStatus::ALL.map(RunStatus::as_str).join(" ");
        assert_eq!(words, "queued running parked completed failed superseded cancelled");
        assert_eq!(status(RunStatus::Running), 1, "the partial index says so too");
        let ended = |status: &RunStatus| status.is_final() == (code(&RunStatus::ALL, status) >= 3);
        assert!(RunStatus::ALL.iter().all(ended), "the partial index says so too");
    }
}
