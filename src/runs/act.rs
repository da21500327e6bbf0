//! Runs acted on from outside: answered, cancelled, forked, deleted.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{Error, Runs, metrics};
use crate::{
    graph::{
        RunId, RunStatus, StepRef,
        store::{Cancelled, Deleted, Resumed},
    },
    workflows::Inspected,
};

impl Runs {
    /// Answers an interrupt of the run whose id begins so, and wakes a worker. Without a name it is
    /// the only one that is open. The second answer is told the first.
    pub async fn resume(
        &self,
        id: &str,
        interrupt: Option<&str>,
        answer: &RawValue,
    ) -> Result<(), Error> {
        let (head, workflow) = self.found(id).await?;
        let run = &head.id;
        let interrupt = match interrupt {
            Some(interrupt) => interrupt.to_owned(),
            None => only_interrupt(&workflow.inspect(&self.runtime, run).await?)?,
        };
        match self.runtime.resume(run, &interrupt, answer).await? {
            Resumed::Accepted(_) => {
                self.wake(run, Duration::ZERO, None).await;
                Ok(())
            }
            Resumed::Already(first) => {
                let first = serde_json::from_slice(&first).map(|first| workflow.redact(first));
                Err(Error::Answered { interrupt, first: first.unwrap_or_default() })
            }
            Resumed::Unknown => {
                Err(Error::NotFound(format!("run {run} has no interrupt `{interrupt}`")))
            }
            Resumed::Final(status) => Err(Error::ended(run, status)),
        }
    }

    /// Stops the run whose id begins so.
    pub async fn cancel(&self, id: &str) -> Result<(), Error> {
        let head = self.find(id).await?;
        let run = head.id.clone();
        match self.runtime.cancel(&run, self.owner()).await? {
            Cancelled::Done => {
                metrics::ended(&head, RunStatus::Cancelled, self.now());
                self.show_logged(&run, (RunStatus::Cancelled, "")).await;
                Ok(())
            }
            Cancelled::Final(status) => Err(Error::ended(&run, status)),
            Cancelled::Missing => Err(Error::NotFound(format!("there is no run {run}"))),
        }
    }

    /// Copies the run whose id begins so up to a step (0: its start) into a new one, which is queued.
    /// It publishes nothing unless `publish`.
    pub async fn fork(
        &self,
        id: &str,
        step: impl Into<StepRef>,
        publish: bool,
    ) -> Result<RunId, Error> {
        let step = step.into();
        let (head, workflow) = self.found(id).await?;
        let fork = workflow.fork(&self.runtime, &head.id, step, publish).await;
        let fork = fork.map_err(|fault| Error::NotFound(fault.message))?;
        self.wake(&fork, Duration::ZERO, None).await;
        Ok(fork)
    }

    /// Deletes a run that has ended and that nobody holds; any run if `force`.
    pub async fn delete(&self, run: &RunId, force: bool) -> Result<Deleted, Error> {
        if !force {
            return Ok(self.store().delete_ended(run).await?);
        }
        let there = self.store().delete(run).await?;
        Ok(if there { Deleted::Done } else { Deleted::Missing })
    }
}

fn only_interrupt(seen: &Inspected) -> Result<String, Error> {
    let why = match seen.interrupts.as_slice() {
        [only] => return Ok(only.id.clone()),
        [] => format!("run {} waits for no answer", seen.head.id),
        several => {
            let ids: Vec<_> = several.iter().map(|asked| asked.id.as_str()).collect();
            format!("several interrupts are open: name one of {}", ids.join(", "))
        }
    };
    Err(Error::Conflict(why))
}
