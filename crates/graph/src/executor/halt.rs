//! Where an execution stops: given back, parked, or at the run's end.

use std::collections::HashSet;

use super::{Execution, Flushed, Halt, Stop};
use crate::{
    base::Timestamp,
    machine::Todo,
    record::{Body, Meta, Outcome},
    state::State,
    store::RunStatus,
};

impl<S: State, D: Send + Sync + 'static> Execution<S, D> {
    /// Stops here, to be taken up by any worker.
    pub(super) async fn give_back(&mut self) -> Halt<Stop> {
        if self.link.is_some() {
            // The outermost execution gives back the run, and drops this.
            return std::future::pending().await;
        }
        if let Some(journal) = &mut self.journal {
            journal.release().await?;
        }
        Ok(Stop::Drained)
    }

    /// Nothing can run: gives the run back until something can. `None` if an answer came in just now.
    pub(super) async fn pause(&mut self) -> Halt<Option<Stop>> {
        self.await_events().await?;
        let Todo::Wait(until) = self.machine.todo() else { return Ok(None) };
        let waiting = self.machine.waiting(&self.graph.sensitive);
        let Some(journal) = &mut self.journal else { return Ok(Some(Stop::Waiting(until))) };
        let settled = journal.settle(
            |head| {
                head.status = RunStatus::Parked;
                head.not_before = until;
                head.waiting = Some(waiting);
            },
            false,
            None,
        );
        let flushed = settled.await?;
        if journal.crashed() {
            return Err(Stop::Crashed);
        }
        match flushed {
            Flushed::Done => Ok(Some(Stop::Waiting(until))),
            Flushed::Moved(records) => {
                self.catch_up(records)?;
                Ok(None)
            }
        }
    }

    /// Notes which events the run waits for, and answers what can be answered now: the next write
    /// finds these answers as it does those of others.
    async fn await_events(&mut self) -> Halt<()> {
        if self.journal.is_none() || self.machine.awaited().next().is_none() {
            return Ok(());
        }
        // An answer must not be durable before its wait is.
        self.flush().await?;
        let waits: HashSet<String> = self.machine.awaited().map(|(id, _)| id.to_owned()).collect();
        let now = self.clock.now();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        Ok(journal.await_events(&waits, now).await?)
    }

    pub(super) async fn complete(&mut self) -> Halt<Stop> {
        if self.link.is_some() {
            // The end of its task says it.
            return Ok(Stop::Completed);
        }
        let revisit = self.revisit();
        let not_before = revisit.map(|(at, _)| at);
        let outcome = Outcome::Completed { revisit };
        self.record(Meta::Finished { outcome }, Body::None).await?;
        loop {
            let Some(journal) = &mut self.journal else { return Ok(Stop::Completed) };
            let settled = journal.settle(
                |head| {
                    head.status = RunStatus::Completed;
                    head.not_before = not_before;
                    head.error = None;
                },
                false,
                None,
            );
            let flushed = settled.await?;
            if journal.crashed() {
                return Err(Stop::Crashed);
            }
            match flushed {
                Flushed::Done => return Ok(Stop::Completed),
                Flushed::Moved(records) => self.catch_up(records)?,
            }
        }
    }

    /// When to come back to the tasks that failed and were passed over, and from which step.
    fn revisit(&self) -> Option<(Timestamp, u32)> {
        let first = self.machine.failures().first()?.step;
        let wait = self.machine.state()?.revisit(self.machine.visits())?;
        Some((self.clock.now().plus(wait), first))
    }
}
