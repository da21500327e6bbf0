//! What went wrong on a server, classified once.

use sqlx::postgres::PgDatabaseError;

use crate::db::DbError;

/// What a failed attempt means for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// Nothing was written, and the same may succeed at once: a deadlock, a lost race.
    Now,
    /// The connection broke; what was sent may have been committed.
    IfRepeatable,
    /// Not soon, or never.
    Not,
}

/// The code of an error the server sent.
pub(super) fn code(error: &sqlx::Error) -> Option<&str> {
    match error {
        sqlx::Error::Database(db) => Some(db.try_downcast_ref::<PgDatabaseError>()?.code()),
        _ => None,
    }
}

/// What a failed attempt means for the next one.
pub(super) fn again(error: &sqlx::Error) -> Again {
    match error {
        sqlx::Error::Io(_) => Again::IfRepeatable,
        sqlx::Error::Protocol(_) => Again::IfRepeatable,
        _ => code(error).map_or(Again::Not, again_after),
    }
}

fn again_after(code: &str) -> Again {
    match code {
        "40001" | "40P01" => Again::Now,
        // The server is going down, or ended this connection.
        "57P01" | "57P02" | "57P05" | "25P03" => Again::IfRepeatable,
        _ if code.starts_with("08") => Again::IfRepeatable,
        _ => Again::Not,
    }
}

/// Whether the connection is of no further use.
pub(super) fn breaks(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(_) => again(error) == Again::IfRepeatable,
        sqlx::Error::RowNotFound | sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
            false
        }
        _ => true,
    }
}

/// By the class of the SQLSTATE.
pub(crate) fn of_postgres(error: &PgDatabaseError) -> DbError {
    classified(error.code(), error.message())
}

fn classified(code: &str, message: &str) -> DbError {
    const POOLER: &str = "a pooler hands statements to other connections: set \
                          `store.postgres.prepared_statements = false`";
    let message = format!("{message} (SQLSTATE {code})");
    match code {
        "26000" | "42P05" => DbError::permanent(format!("{message}; {POOLER}")),
        // Poolers give this code to whatever they have to say, outages too.
        "08P01" if message.contains("startup parameter") => {
            DbError::permanent(format!("{message}; {POOLER}"))
        }
        "57014" => DbError::transient(format!(
            "{message}; raise `store.postgres.statement_timeout` if the server is not overloaded"
        )),
        // Read-only: a standby, or a primary that has just become one.
        "25006" | "55P03" | "25P03" => DbError::transient(message),
        "42501" => DbError::denied(format!("{message}; grant it to the role that connects")),
        // The password, the role or the database changed under the connections of this process.
        "3D000" => DbError::denied(message),
        _ if code.starts_with("28") => DbError::denied(message),
        "54000" | "54001" | "54011" | "54023" => DbError::permanent(message),
        _ if transient(code) => DbError::transient(message),
        _ => DbError::permanent(message),
    }
}

/// Connection lost, rolled back, out of resources, an operator at work, the system at fault.
fn transient(code: &str) -> bool {
    let class = code.get(..2).unwrap_or_default();
    matches!(class, "08" | "40" | "53" | "57" | "58")
}

#[cfg(test)]
mod tests {
    use verdict_graph::base::{Fault, FaultKind};

    use super::*;

    #[test]
    fn codes_are_sorted_into_what_may_pass_and_what_will_not() {
        for code in ["08006", "40001", "40P01", "53300", "53100", "57P01", "57P03", "25006"] {
            assert!(classified(code, "x").is_transient(), "{code}");
        }
        let pooler = classified("08P01", "unsupported startup parameter: options");
        assert!(!pooler.is_transient() && pooler.message().contains("prepared_statements"));
        for code in ["28P01", "3D000", "42501", "23505", "22021", "42P01", "XX001", "26000", ""] {
            assert!(!classified(code, "x").is_transient(), "{code}");
        }
    }

    /// R4: no job becomes a dead letter for what the server or its operator does.
    #[test]
    fn a_server_is_never_a_jobs_fault() {
        for code in ["08006", "40001", "53100", "53200", "53300", "57014", "57P01", "58030"] {
            assert_eq!(Fault::from(classified(code, "x")).kind, FaultKind::Outage, "{code}");
        }
        for code in ["25006", "28000", "28P01", "3D000", "42501"] {
            assert_eq!(Fault::from(classified(code, "x")).kind, FaultKind::Outage, "{code}");
        }
        for code in ["22021", "23505", "54000"] {
            assert_eq!(Fault::from(classified(code, "x")).kind, FaultKind::Permanent, "{code}");
        }
    }

    #[test]
    fn only_what_wrote_nothing_is_repeated_by_itself() {
        assert_eq!(again_after("40P01"), Again::Now);
        assert_eq!(again_after("57P01"), Again::IfRepeatable);
        assert_eq!(again_after("23505"), Again::Not);
    }
}
