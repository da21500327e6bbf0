//! What went wrong in a database, classified once.

use std::path::Path;

use verdict_graph::base::Fault;

/// What may be done about a [`DbError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DbErrorKind {
    /// Locked, full or out of reach: trying again may help, and nothing was written.
    Transient,
    /// The place refuses this process: a password, a permission, a read-only disk. Trying again helps
    /// once somebody has put that right; whatever was asked for is not at fault.
    Denied,
    /// Corrupt, foreign, too new, or refused: trying again cannot help.
    Permanent,
}

/// A database's failure. Its message names the file and, where there is something to do, says it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DbError {
    kind: DbErrorKind,
    message: String,
}

impl DbError {
    /// A failure that another try may cure.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { kind: DbErrorKind::Transient, message: message.into() }
    }

    /// The place refuses this process.
    pub fn denied(message: impl Into<String>) -> Self {
        Self { kind: DbErrorKind::Denied, message: message.into() }
    }

    /// A failure that no further try can cure.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self { kind: DbErrorKind::Permanent, message: message.into() }
    }

    /// What may be done about it.
    pub fn kind(&self) -> DbErrorKind {
        self.kind
    }

    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        self.kind == DbErrorKind::Transient
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error, naming the database it happened on, unless it does already.
    #[must_use]
    pub(crate) fn on(self, path: &Path) -> Self {
        self.of(&path.display().to_string())
    }

    /// As [`DbError::on`], for a database that is no file.
    #[must_use]
    pub(crate) fn of(mut self, name: &str) -> Self {
        if !self.message.contains(name) {
            self.message = format!("database {name}: {}", self.message);
        }
        self
    }
}

impl From<DbError> for Fault {
    fn from(error: DbError) -> Self {
        match error.kind {
            DbErrorKind::Transient | DbErrorKind::Denied => Fault::outage(error.message),
            DbErrorKind::Permanent => Fault::permanent(error.message),
        }
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        #[cfg(feature = "postgres")]
        if let sqlx::Error::Database(db) = &error
            && let Some(db) = db.try_downcast_ref()
        {
            return super::postgres::error::of_postgres(db);
        }
        match &error {
            sqlx::Error::Database(db) => match sqlite_code(db.as_ref()) {
                Some(code) => of_sqlite(code, db.message()),
                None => Self::permanent(db.message()),
            },
            sqlx::Error::PoolTimedOut => Self::transient("no connection came free in time"),
            sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed => {
                Self::transient(error.to_string())
            }
            sqlx::Error::PoolClosed => Self::permanent("it has been closed"),
            _ => Self::permanent(error.to_string()),
        }
    }
}

fn sqlite_code(error: &dyn sqlx::error::DatabaseError) -> Option<u32> {
    error.code()?.parse().ok()
}

/// By SQLite's primary result code.
fn of_sqlite(code: u32, message: &str) -> DbError {
    const RESTORE: &str = "restore it from a backup, or move it away to start afresh";
    match code & 0xff {
        5 | 6 => DbError::transient(format!("locked by another process ({message})")),
        7 => DbError::transient("out of memory"),
        10 => DbError::transient(format!("reading or writing failed ({message})")),
        13 => DbError::transient("no room left: free disk space or raise its limit"),
        14 => DbError::transient(format!("{message}: check that its folder can be written to")),
        3 | 8 => DbError::denied(format!("{message}: make the file and its folder writable")),
        15 => DbError::transient(format!("locked by another process ({message})")),
        11 => DbError::permanent(format!("the file is corrupt ({message}): {RESTORE}")),
        26 => DbError::permanent("the file is no SQLite database: name another file"),
        _ => DbError::permanent(message),
    }
}

#[cfg(test)]
mod tests {
    use verdict_graph::base::FaultKind;

    use super::*;

    #[test]
    fn result_codes_are_sorted_into_what_may_pass_and_what_will_not() {
        for code in [5, 5 | 2 << 8, 6, 10, 10 | 3 << 8, 13, 14] {
            assert!(of_sqlite(code, "x").is_transient(), "{code}");
        }
        for code in [1, 3, 8, 8 | 4 << 8, 11, 18, 19, 26] {
            assert!(!of_sqlite(code, "x").is_transient(), "{code}");
        }
    }

    /// R4: no job becomes a dead letter for what the machine or the disk does.
    #[test]
    fn a_disk_is_never_a_jobs_fault() {
        // Permission, busy, locked, no memory, read-only, I/O, full, cannot open, locking protocol.
        for code in [3, 5, 6, 7, 8, 8 | 4 << 8, 10, 10 | 3 << 8, 13, 14, 14 | 2 << 8, 15] {
            assert_eq!(Fault::from(of_sqlite(code, "x")).kind, FaultKind::Outage, "{code}");
        }
        let io = || std::io::Error::from_raw_os_error(24);
        for error in [sqlx::Error::Io(io()), sqlx::Error::PoolTimedOut, sqlx::Error::WorkerCrashed]
        {
            let shown = error.to_string();
            assert_eq!(Fault::from(DbError::from(error)).kind, FaultKind::Outage, "{shown}");
        }
        // What a statement brought along.
        for code in [18, 19, 20] {
            assert_eq!(Fault::from(of_sqlite(code, "x")).kind, FaultKind::Permanent, "{code}");
        }
    }

    #[test]
    fn the_file_is_named_once() {
        let path = Path::new("a.db");
        let error = DbError::transient("locked").on(path).on(path);
        assert_eq!(error.message(), "database a.db: locked");
    }
}
