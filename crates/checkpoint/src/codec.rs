//! How a database's rows spell what the port says: shared by the stores that keep rows.

use crate::db::{DbError, DbErrorKind};
use verdict_graph::{
    base::Timestamp,
    rules,
    store::{HeadChange, Holder, RunId, RunStatus, StoreError, Waiting, WaitingFor},
};

/// A database's failure, as the port tells it.
pub(super) fn refused(error: DbError) -> StoreError {
    match error.kind() {
        DbErrorKind::Transient | DbErrorKind::Denied => {
            StoreError::Unavailable(error.message().to_owned())
        }
        DbErrorKind::Permanent => StoreError::Broken(error.message().to_owned()),
    }
}

pub(super) type Decoded<T> = Result<T, sqlx::Error>;

/// A number that cannot be negative.
pub(super) fn natural<T: TryFrom<i64>>(column: usize, number: i64) -> Decoded<T> {
    number.try_into().map_err(|_| unreadable(column, number))
}

/// A place in a list.
pub(super) fn nth<T: Copy>(list: &[T], column: usize, number: i64) -> Decoded<T> {
    let found = usize::try_from(number).ok().and_then(|at| list.get(at));
    found.copied().ok_or_else(|| unreadable(column, number))
}

fn unreadable(column: usize, number: i64) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} holds {number}, which means nothing").into())
}

pub(super) fn run_id(text: &str) -> Decoded<RunId> {
    text.parse().map_err(|e| sqlx::Error::Decode(Box::new(e)))
}

/// A random number, as it is kept.
pub(super) fn random(bytes: &[u8]) -> Decoded<u128> {
    let bytes = bytes.try_into().map_err(|e| sqlx::Error::Decode(Box::new(e)))?;
    Ok(u128::from_be_bytes(bytes))
}

pub(super) fn holder(owner: Option<String>, expires: Option<i64>) -> Option<Holder> {
    Some(Holder { owner: owner?, expires: Timestamp(expires?) })
}

/// What a run waits for. A kind that this build does not know is none.
pub(super) fn waiting(status: RunStatus, kind: Option<i64>, text: Option<&str>) -> Option<Waiting> {
    let kind = WaitingFor::ALL.get(usize::try_from(kind?).ok()?)?;
    rules::waits_in(status, Some(Waiting::stored(*kind, text)))
}

/// What a run waits for, as two columns.
pub(super) fn waiting_columns(change: &HeadChange) -> (Option<i64>, Option<String>) {
    let waiting = rules::waiting(change);
    waiting.map(|one| (code(&WaitingFor::ALL, &one.kind()), one.to_text())).unzip()
}

/// The number of a thing in its list.
pub(super) fn code<T: PartialEq>(list: &[T], thing: &T) -> i64 {
    list.iter().position(|one| one == thing).map_or(-1, number)
}

pub(super) fn status(status: RunStatus) -> i64 {
    code(&RunStatus::ALL, &status)
}

/// A database's integers are signed; nothing counted here comes near their end.
pub(super) fn number<T: TryInto<i64>>(number: T) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_in_databases_out_there_keep_their_meaning() {
        let words = RunStatus::ALL.map(RunStatus::as_str).join(" ");
        assert_eq!(words, "queued running parked completed failed superseded cancelled");
        assert_eq!(status(RunStatus::Running), 1, "the indexes say so too");
        let ended = |status: &RunStatus| status.is_final() == (code(&RunStatus::ALL, status) >= 3);
        assert!(RunStatus::ALL.iter().all(ended), "the indexes say so too");
    }
}
