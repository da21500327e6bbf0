//! What becomes of a run whose execution failed: tried again, handed back, or failed for good with a
//! dead letter. Each takes every run that is not settled, claimed or not.

use std::time::Duration;

use super::{Runs, UnsettledRun, metrics};
use crate::{
    base::{Fault, Result},
    graph::{
        self, ClaimHow, Envelope, Failure, Head, Meta, RunStatus, Stop,
        store::{Claimed, HeadChange, LetterReason, Waiting},
    },
};

impl Runs {
    /// Gives the run back until `wait` has passed. Its failure is `counted` unless something else than
    /// the run was at fault.
    ///
    /// # Errors
    /// If the store does not take it.
    pub async fn give_back(
        &self,
        run: UnsettledRun,
        failure: &Failure,
        wait: Duration,
        counted: bool,
    ) -> Result<()> {
        let at = self.now().plus(wait);
        match run {
            UnsettledRun::Executed(head, mut execution) => {
                let given = match counted {
                    true => execution.retry_later(failure, at).await,
                    false => execution.hand_back(failure, at).await,
                };
                if !self.is_recorded(&head, given).await? {
                    return Ok(());
                }
                // What is not at fault itself and goes on in a moment is not worth a word.
                if counted || failure.fault.retry_after.is_some() {
                    let why = format!("{} (the next attempt is at {at})", failure.fault);
                    self.show_logged(&head.id, (RunStatus::Queued, &why)).await;
                }
                Ok(())
            }
            UnsettledRun::Claimed(lease, head) => {
                let change = HeadChange {
                    status: RunStatus::Queued,
                    not_before: Some(at),
                    executions: head.executions + u32::from(counted),
                    error: Some(failure.fault.to_string()),
                    ..unchanged(&head)
                };
                self.runtime.note((&lease, &head), &[], change, None, false).await.map(drop)
            }
            // Nobody took it: it is where another worker looks for it.
            UnsettledRun::Unclaimed(_) => Ok(()),
        }
    }

    /// Notes in the head that the run waits for a worker of its version, and leaves it for `wait`.
    ///
    /// # Errors
    /// If the store does not take it.
    pub async fn await_version(&self, run: UnsettledRun, wait: Duration) -> Result<()> {
        match run {
            UnsettledRun::Unclaimed(head) => {
                self.runtime.await_version(&head, self.now().plus(wait)).await
            }
            UnsettledRun::Executed(..) | UnsettledRun::Claimed(..) => Err(Fault::permanent(
                "a run that was claimed is of a version that this worker knows",
            )),
        }
    }

    /// Notes in the head why the run waits, and leaves it for `wait`.
    ///
    /// # Errors
    /// If the store does not take it.
    pub async fn put_off(&self, run: UnsettledRun, why: &str, wait: Duration) -> Result<()> {
        match run {
            UnsettledRun::Unclaimed(head) => {
                let waiting = Waiting::Time { reason: Some(why.to_owned()) };
                self.runtime.put_off(&head, self.now().plus(wait), waiting).await
            }
            UnsettledRun::Executed(..) | UnsettledRun::Claimed(..) => {
                Err(Fault::permanent("a run that was claimed is not put off"))
            }
        }
    }

    /// Ends the run with a dead letter: recorded with the failure, then published, then confirmed.
    /// `message` is what the letter sends again if the run has not kept the message it came from.
    ///
    /// # Errors
    /// If the store or the queue does not take it; what was recorded is published later.
    pub async fn fail_with_dead_letter(
        &self,
        run: UnsettledRun,
        failure: &Failure,
        reason: LetterReason,
        message: Envelope,
    ) -> Result<()> {
        let (lease, head) = match run {
            UnsettledRun::Executed(head, mut execution) => {
                let counted = (execution.letters(), execution.executions() + 1);
                let origin = (execution.started_at(), execution.envelope().unwrap_or(message));
                let letter = self.letter_of(&head, counted, (failure, reason), origin);
                let failed = execution.fail(failure, Some(letter.clone())).await;
                if !self.is_recorded(&head, failed).await? {
                    return Ok(());
                }
                metrics::ended(&head, RunStatus::Failed, self.now());
                if !self.publish_dead_letter(&letter).await? {
                    // A sweep shows it, and confirms.
                    return Ok(());
                }
                let confirmed = execution.confirm_letter(&letter.id).await;
                return self.is_recorded(&head, confirmed).await.map(drop);
            }
            UnsettledRun::Claimed(lease, head) => (lease, head),
            UnsettledRun::Unclaimed(head) => {
                let how = ClaimHow { early: true, reopen: false };
                match self.runtime.claim(&head.id, how).await? {
                    Claimed::Yours(lease, head) => (lease, head),
                    _ => {
                        tracing::info!(run = %head.id, "not failed: another has it");
                        return Ok(());
                    }
                }
            }
        };
        let counted = (usize::try_from(head.version).unwrap_or(usize::MAX), head.executions + 1);
        let origin = (head.created_at, message);
        let letter = self.letter_of(&head, counted, (failure, reason), origin);
        let metas = [
            Meta::Finished { outcome: graph::Outcome::Failed(failure.clone()) },
            Meta::Letter { id: letter.id.clone() },
        ];
        let change = HeadChange {
            status: RunStatus::Failed,
            executions: head.executions + 1,
            error: Some(failure.fault.to_string()),
            ..unchanged(&head)
        };
        self.runtime.note((&lease, &head), &metas, change, Some(letter.clone()), false).await?;
        metrics::ended(&head, RunStatus::Failed, self.now());
        self.publish_dead_letter(&letter).await.map(drop)
    }

    /// Whether the store took the outcome of a run. One that was stopped, or is another's by now, is not
    /// this process's to settle.
    ///
    /// # Errors
    /// If the store does not take it.
    async fn is_recorded(&self, head: &Head, taken: std::result::Result<(), Stop>) -> Result<bool> {
        match taken {
            Ok(()) => Ok(true),
            Err(Stop::Fenced) => {
                tracing::info!(run = %head.id, "stopped, or another's, before it was settled");
                self.show_stopped(&head.id).await;
                Ok(false)
            }
            Err(Stop::StoreLost(fault)) => Err(fault),
            Err(stop) => Err(Fault::transient(format!("the outcome was not recorded ({stop:?})"))),
        }
    }
}

/// The part of the head that an append sets, as it is. A run that is noted about is not due.
pub(super) fn unchanged(head: &Head) -> HeadChange {
    HeadChange {
        status: head.status,
        not_before: None,
        waiting: None,
        executions: head.executions,
        active: head.active,
        error: head.error.clone(),
    }
}
