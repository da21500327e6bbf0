//! What a request can fail with, and when to try again.

use std::{fmt, time::Duration};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use firestore::gcloud_sdk::tonic::{Code, Status};
use tokio::time::{Instant, sleep};

use verdict_graph::{base::Fault, store::StoreError};

/// Why a request did not do what it should.
#[derive(Debug)]
pub(super) enum Failure {
    /// What it was decided upon has changed since it was read. Nothing was written.
    Stale,
    /// No answer, or one that says to come again. A write may have been done.
    Unknown(String),
    /// The database refuses this process until somebody puts that right; whatever was asked for is
    /// not at fault.
    Denied(String),
    /// Refused, and always will be.
    Refused(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("it was changed by somebody else"),
            Self::Unknown(why) | Self::Denied(why) | Self::Refused(why) => f.write_str(why),
        }
    }
}

impl Failure {
    /// What an answer to a read means.
    pub(super) fn of_read(place: &str, status: &Status) -> Self {
        let said = status.message();
        match status.code() {
            Code::NotFound => Self::Denied(format!(
                "{place}: there is no such database; create it in Native mode, or correct \
                 `store.url`: {said}"
            )),
            Code::FailedPrecondition => Self::Denied(format!(
                "{place}: {said}; the database must be in Native mode and have the indexes of \
                 deploy/firestore/firestore.indexes.json"
            )),
            _ => Self::of_any(place, status),
        }
    }

    /// What an answer to a commit means.
    pub(super) fn of_commit(place: &str, status: &Status) -> Self {
        match status.code() {
            // Preconditions; a commit without a transaction that is aborted has done nothing.
            Code::NotFound | Code::AlreadyExists | Code::FailedPrecondition | Code::Aborted => {
                Self::Stale
            }
            _ => Self::of_any(place, status),
        }
    }

    fn of_any(place: &str, status: &Status) -> Self {
        let (code, said) = (status.code(), status.message());
        match code {
            Code::PermissionDenied => Self::Denied(format!(
                "{place}: permission denied; give this identity the role roles/datastore.user: \
                 {said}"
            )),
            Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => {
                Self::Refused(format!("{place}: {code:?}: {said}"))
            }
            // A token that cannot be had just now is no reason to give up what could be done.
            Code::Unauthenticated => Self::Unknown(format!(
                "{place}: not signed in; check the credentials of this process: {said}"
            )),
            Code::ResourceExhausted => {
                Self::Unknown(format!("{place}: a quota is used up: {said}"))
            }
            _ => Self::Unknown(format!("{place}: {code:?}: {said}")),
        }
    }

    /// What is kept in a document cannot be read.
    pub(super) fn unreadable(path: &str, why: impl fmt::Display) -> Self {
        Self::Refused(format!("the document {path} cannot be read: {why}"))
    }
}

/// What an operation came to that did not succeed.
#[derive(Debug)]
pub(super) struct Failed {
    transient: bool,
    message: String,
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> Self {
        if failed.transient {
            Self::Unavailable(failed.message)
        } else {
            Self::Broken(failed.message)
        }
    }
}

impl From<Failed> for Fault {
    fn from(failed: Failed) -> Self {
        if failed.transient {
            Self::outage(failed.message)
        } else {
            Self::permanent(failed.message)
        }
    }
}

/// The retries of one operation: how long they go on, and whether one of them may have been done
/// although its answer was lost.
pub(super) struct RetryBudget {
    ends: Instant,
    waits: ExponentialBackoff,
    doubt: bool,
}

impl RetryBudget {
    /// Goes on for `patience`; the last try may end a request's time later.
    pub(super) fn new(patience: Duration) -> Self {
        let waits = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(10))
            .with_max_delay(Duration::from_millis(500))
            .with_factor(1.5)
            .with_jitter()
            .without_max_times();
        Self { ends: Instant::now() + patience, waits: waits.build(), doubt: false }
    }

    /// Whether an earlier try may have been done.
    pub(super) fn in_doubt(&self) -> bool {
        self.doubt
    }

    /// Waits before the next try, if there is to be one.
    pub(super) async fn again(&mut self, failure: Failure) -> Result<(), Failed> {
        let why = match failure {
            Failure::Refused(message) => return Err(Failed { transient: false, message }),
            Failure::Denied(message) => return Err(Failed { transient: true, message }),
            Failure::Unknown(why) => {
                self.doubt = true;
                why
            }
            Failure::Stale => "Firestore: others kept changing the same documents".to_owned(),
        };
        if Instant::now() >= self.ends {
            return Err(Failed { transient: true, message: why });
        }
        sleep(self.waits.next().unwrap_or(Duration::from_millis(500))).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(failure: &Failure) -> &'static str {
        match failure {
            Failure::Stale => "stale",
            Failure::Unknown(_) => "unknown",
            Failure::Denied(_) => "denied",
            Failure::Refused(_) => "refused",
        }
    }

    #[test]
    fn answers_are_classified() {
        let cases = [
            (Code::Aborted, "unknown", "stale"),
            (Code::AlreadyExists, "unknown", "stale"),
            (Code::NotFound, "denied", "stale"),
            (Code::FailedPrecondition, "denied", "stale"),
            (Code::Unavailable, "unknown", "unknown"),
            (Code::DeadlineExceeded, "unknown", "unknown"),
            (Code::Cancelled, "unknown", "unknown"),
            (Code::Internal, "unknown", "unknown"),
            (Code::Unknown, "unknown", "unknown"),
            (Code::ResourceExhausted, "unknown", "unknown"),
            (Code::Unauthenticated, "unknown", "unknown"),
            (Code::PermissionDenied, "denied", "denied"),
            (Code::InvalidArgument, "refused", "refused"),
            (Code::Unimplemented, "refused", "refused"),
        ];
        for (code, read, commit) in cases {
            let status = Status::new(code, "it says");
            assert_eq!(kind(&Failure::of_read("place", &status)), read, "reading: {code:?}");
            assert_eq!(kind(&Failure::of_commit("place", &status)), commit, "writing: {code:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let says = |code| match Failure::of_read("place", &Status::new(code, "it says")) {
            Failure::Denied(why) => why,
            other => panic!("{other:?}"),
        };
        for (code, advice) in [
            (Code::NotFound, "Native mode"),
            (Code::FailedPrecondition, "deploy/firestore/firestore.indexes.json"),
            (Code::PermissionDenied, "roles/datastore.user"),
        ] {
            let why = says(code);
            assert!(why.starts_with("place: ") && why.contains(advice), "{why}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn trying_ends_and_a_lost_answer_is_remembered() {
        let mut retries = RetryBudget::new(Duration::from_secs(20));
        let began = Instant::now();
        retries.again(Failure::Stale).await.unwrap();
        assert!(!retries.in_doubt());
        retries.again(Failure::Unknown("lost".to_owned())).await.unwrap();
        assert!(retries.in_doubt());
        let failed = loop {
            if let Err(failed) = retries.again(Failure::Unknown("gone".to_owned())).await {
                break failed;
            }
        };
        assert!(began.elapsed() < Duration::from_secs(21));
        assert!(matches!(StoreError::from(failed), StoreError::Unavailable(why) if why == "gone"));
        let refused = retries.again(Failure::Refused("no".to_owned())).await.unwrap_err();
        assert!(matches!(StoreError::from(refused), StoreError::Broken(why) if why == "no"));
    }
}
