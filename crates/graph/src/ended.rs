//! An execution that ended, and what becomes of a run that failed in it.

use std::time::Duration;

use super::{
    control::Stop,
    event::{Events, RunEvent},
    journal::{Flushed, Journal},
    machine::{Ended, RunMachine},
    record::{Body, Failure, Meta, Outcome, Record},
    state::State,
    store::{HeadChange, Letter, RunId, RunStatus},
    waiting::Waiting,
};
use crate::base::{Clock, Fault, Timestamp};

/// An execution that ended.
pub struct EndedExecution<S: State> {
    /// The run.
    pub run: RunId,
    /// How.
    pub stop: Stop,
    /// The run as it stands.
    pub machine: RunMachine<S>,
    /// All active time so far.
    pub active: Duration,
    pub(super) journal: Option<Journal>,
    pub(super) clock: Clock,
    pub(super) events: Events,
}

impl<S: State> EndedExecution<S> {
    /// The state after the last finished step. `None` of a run that has not started.
    pub fn state(&self) -> Option<&S> {
        self.machine.state().map(|state| &**state)
    }

    /// The state, if the run completed, in this execution or before.
    ///
    /// # Errors
    /// How it failed, or what it waits for.
    pub fn completed(&self) -> Result<&S, Fault> {
        let completed =
            matches!(self.machine.ended(), Some(Ended::Finished(Outcome::Completed { .. })));
        match (&self.stop, self.state()) {
            (Stop::Completed | Stop::Ended, Some(state)) if completed => Ok(state),
            (Stop::Failed(failure), _) => Err(failure.fault.clone()),
            (stop, _) => Err(Fault::transient(format!("run {} is not complete: {stop}", self.run))),
        }
    }

    /// How many executions have failed so far, by the run's head.
    pub fn executions(&self) -> u32 {
        self.journal.as_ref().map_or(0, Journal::executions)
    }

    /// Settles a failed execution that may be tried again: gives the run back until `not_before`.
    ///
    /// # Errors
    /// If the store refuses; the run is then another worker's, or will be.
    pub async fn retry_later(
        &mut self,
        failure: &Failure,
        not_before: Timestamp,
    ) -> Result<(), Stop> {
        self.give_back(failure, not_before, 1).await
    }

    /// Settles a failed execution without counting it: something else than the run is at fault.
    ///
    /// # Errors
    /// If the store refuses.
    pub async fn hand_back(
        &mut self,
        failure: &Failure,
        not_before: Timestamp,
    ) -> Result<(), Stop> {
        self.give_back(failure, not_before, 0).await
    }

    async fn give_back(
        &mut self,
        failure: &Failure,
        not_before: Timestamp,
        counted: u32,
    ) -> Result<(), Stop> {
        let error = failure.fault.to_string();
        let waiting = Waiting::after(&failure.fault);
        self.settle(None, |head| {
            // A limit is waited for like a time that a node names.
            head.status = match waiting {
                Waiting::Limit => RunStatus::Parked,
                _ => RunStatus::Queued,
            };
            head.not_before = Some(not_before);
            head.waiting = Some(waiting);
            head.executions += counted;
            head.error = Some(error);
        })
        .await
    }

    /// Settles a failed execution for good: the run has failed, and the letter, if there is one, is
    /// recorded with it. The lease stays until [`EndedExecution::confirm_letter`] if there is one.
    ///
    /// # Errors
    /// If the store refuses.
    pub async fn fail(&mut self, failure: &Failure, letter: Option<Letter>) -> Result<(), Stop> {
        let outcome = Outcome::Failed(failure.clone());
        let active_ms = u64::try_from(self.active.as_millis()).unwrap_or(u64::MAX);
        let told = outcome.clone();
        self.record(Meta::Finished { outcome }).await?;
        if let Some(letter) = &letter {
            self.record(Meta::Letter { id: letter.id.clone() }).await?;
        }
        let error = failure.fault.to_string();
        self.settle(letter, |head| {
            head.status = RunStatus::Failed;
            head.not_before = None;
            head.executions += 1;
            head.error = Some(error);
        })
        .await?;
        self.events.emit(|| RunEvent::RunFinished { outcome: told, active_ms });
        Ok(())
    }

    /// Records that the queue has the letter, and gives the lease up.
    ///
    /// # Errors
    /// If the store refuses; a sweep will confirm it.
    pub async fn confirm_letter(&mut self, id: &str) -> Result<(), Stop> {
        self.record(Meta::LetterConfirmed { id: id.to_owned() }).await?;
        self.settle(None, |_| {}).await
    }

    async fn record(&mut self, meta: Meta) -> Result<(), Stop> {
        let record = Record::new(self.clock.now(), meta, Body::None);
        if let Some(journal) = &mut self.journal {
            journal.record(&record).await.map_err(Stop::StoreLost)?;
        }
        self.machine.apply(record).map_err(|illegal| Stop::StoreLost(illegal.into()))
    }

    async fn settle(
        &mut self,
        letter: Option<Letter>,
        change: impl FnOnce(&mut HeadChange) + Clone,
    ) -> Result<(), Stop> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let hold = letter.is_some();
        loop {
            let flushed = journal.settle(change.clone(), hold, letter.clone()).await?;
            if journal.crashed() {
                return Err(Stop::Crashed);
            }
            // An answer that comes in now changes nothing about the failure.
            if let Flushed::Done = flushed {
                return Ok(());
            }
        }
    }
}
