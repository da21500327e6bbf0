//! Many runs acted on at once: selected first and counted, then one after the other.

use super::{Error, RunQuery, Runs};
use crate::graph::{Head, RunStatus, store::LetterState};

/// What to do with each run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum RunAction {
    /// Stop it.
    Cancel,
    /// Have a failed one go on at what failed: its dead letter is replayed.
    Retry,
}

impl RunAction {
    /// The past of it, for people.
    pub fn done(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Retry => "retried",
        }
    }

    fn fits(self, status: RunStatus) -> bool {
        match self {
            Self::Cancel => !status.is_final(),
            Self::Retry => status == RunStatus::Failed,
        }
    }
}

impl Runs {
    /// The runs that fit, of those that this can be done with.
    ///
    /// # Errors
    /// Also if the query asks for a status that it cannot be done with.
    pub async fn select(&self, action: RunAction, query: RunQuery) -> Result<Vec<Head>, Error> {
        let unfit = query.status.iter().find(|status| !action.fits(**status));
        if let Some(status) = unfit {
            let why = format!("runs that are {status} cannot be {}", action.done());
            return Err(Error::Invalid(why));
        }
        let mut query = query;
        if query.status.is_empty() {
            query.status = RunStatus::ALL.into_iter().filter(|one| action.fits(*one)).collect();
        }
        self.list(query).all().await
    }

    /// Does it with one run.
    pub async fn act(&self, action: RunAction, head: &Head) -> Result<(), Error> {
        match action {
            RunAction::Cancel => self.cancel(head.id.as_str()).await,
            RunAction::Retry => self.retry(head).await,
        }
    }

    async fn retry(&self, head: &Head) -> Result<(), Error> {
        let run = &head.id;
        let seen = self.show(run.as_str()).await?;
        let Some((letter, _)) = seen.letters.last() else {
            let why = format!("run {run} has no dead letter: what asked for it can ask again");
            return Err(Error::Conflict(why));
        };
        match self.close_letter(letter, LetterState::Replayed).await? {
            true => Ok(()),
            false => {
                Err(Error::Conflict(format!("letter {letter} of run {run} was replayed before")))
            }
        }
    }
}
