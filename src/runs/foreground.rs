//! A run driven by the process that asks for it, which waits for its end. Nobody waits on a queue
//! here: a permanent failure ends the run without a dead letter, any other leaves it to be started
//! again.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, value::RawValue};
use tokio::time::sleep;

use super::{Drive, Error, Runs, admit::ExecutedBy, drive::Reopen};
use crate::{
    base::Timestamp,
    graph::{
        ClaimHow, Head, LeasedRun, OpenedRun, ReopenFrom, RunId, RunStatus, Stop, Timings,
        store::{Claimed, Holder},
    },
    workflows::{AnyEndedExecution, AnyWorkflow, Inspected},
};

/// How often a run that another process works on is asked for.
const CLAIM_INTERVAL: Duration = Duration::from_millis(200);

/// How long a failed run is left to the command that started it before a sweep may take it up.
const SWEEP_DELAY: Duration = Duration::from_secs(3600);

/// A run opened here, or found. See [`Runs::open`].
pub struct Opened {
    workflow: Arc<dyn AnyWorkflow>,
    begun: OpenedRun,
}

/// A run that was driven here, or found at its end.
pub struct Driven {
    /// The run.
    pub run: RunId,
    /// How its last execution here ended; [`Stop::Completed`] for a run found at its end.
    pub stop: Stop,
    /// Its state, as JSON.
    pub state: Value,
    /// Its timings.
    pub timings: Timings,
    /// When it ended, of a run that was found at its end.
    pub recorded: Option<Timestamp>,
}

impl Runs {
    /// Opens a run of this workflow and claims it, or finds the one with its key.
    pub async fn open(
        &self,
        workflow: &str,
        input: Arc<RawValue>,
        key: Option<String>,
    ) -> Result<Opened, Error> {
        let workflow = self.workflow(workflow)?.clone();
        let opened = self.admit_job(&workflow, (input, key), None, ExecutedBy::Caller).await;
        Ok(Opened { begun: opened?, workflow })
    }

    /// The run whose id begins so, to be driven here.
    pub async fn opened(&self, id: &str) -> Result<Opened, Error> {
        let (head, workflow) = self.found(id).await?;
        let workflow = workflow.clone();
        let begun = OpenedRun { head, created: false, held: None, superseded: Vec::new() };
        Ok(Opened { workflow, begun })
    }

    /// Drives a run that was opened here until it ends, waits, fails or is stopped. A run that failed
    /// or was stopped before goes on; one that is complete is shown as it is. While another process
    /// works on it this waits, and calls `waiting` once.
    pub async fn drive(
        &self,
        opened: Opened,
        drive: Drive,
        waiting: impl Fn(&RunId, &Holder),
    ) -> Result<Driven, Error> {
        let Opened { workflow, begun: OpenedRun { head, held, .. } } = opened;
        let run = head.id.clone();
        let mut claimed = match held {
            Some(held) => Some((held, None)),
            None => self.claim(head, &drive, &waiting).await?,
        };
        while let Some((held, reopen)) = claimed {
            let execution = self.execute(&workflow, held, reopen, &drive).await?;
            if *execution.stop() != Stop::Ended {
                return Ok(self.ended(run, execution).await);
            }
            // Somebody claimed it to reopen it and died before its log said so.
            claimed = self.claim(self.head(&run).await?, &drive, &waiting).await?;
        }
        let Inspected { head, state, timings, .. } = workflow.inspect(&self.runtime, &run).await?;
        let completed = head.status == RunStatus::Completed;
        let stop = if completed { Stop::Completed } else { Stop::Drained };
        let recorded = completed.then_some(head.updated_at);
        Ok(Driven { run, stop, state, timings, recorded })
    }

    /// Claims a run that is there: waits while a living process works on it. `None` if it is
    /// complete, or this process is to stop.
    async fn claim(
        &self,
        mut head: Head,
        drive: &Drive,
        waiting: &impl Fn(&RunId, &Holder),
    ) -> Result<Option<(LeasedRun, Option<Reopen>)>, Error> {
        let mut waits = false;
        while head.status != RunStatus::Completed {
            let reopen = head.status.is_final();
            let how = ClaimHow { early: true, reopen };
            match self.runtime.claim(&head.id, how).await? {
                Claimed::Yours(lease, _) => {
                    let why = reopen.then(|| ("asked for again".to_owned(), ReopenFrom::Failed));
                    return Ok(Some((lease.into(), why)));
                }
                Claimed::LeaseHeld(holder) if !waits => {
                    waits = true;
                    waiting(&head.id, &holder);
                }
                _ => {}
            }
            let pause = drive.control.drain.run_until_cancelled(sleep(CLAIM_INTERVAL));
            if pause.await.is_none() {
                return Ok(None);
            }
            head = self.head(&head.id).await?;
        }
        Ok(None)
    }

    async fn ended(&self, run: RunId, mut execution: Box<dyn AnyEndedExecution>) -> Driven {
        let stop = execution.stop().clone();
        let settled = match &stop {
            // Not due before long: a sweep is welcome to it, but this command goes first.
            Stop::Failed(failure) if failure.fault.is_transient() => {
                execution.retry_later(failure, self.now().plus(SWEEP_DELAY)).await
            }
            Stop::Failed(failure) => {
                let failed = execution.fail(failure, None).await;
                let error = failure.fault.to_string();
                self.show_logged(&run, (RunStatus::Failed, &error)).await;
                failed
            }
            _ => Ok(()),
        };
        if let Err(stop) = settled {
            tracing::warn!(error = %stop, "the failure could not be recorded");
        }
        let (state, timings) = (execution.state(), execution.timings());
        Driven { run, stop, state, timings, recorded: None }
    }
}
