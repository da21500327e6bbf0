//! From nothing to a run that has ended or waits, in one call.

use std::time::Duration;

use serde::Serialize;

use super::{
    control::Stop,
    ended::EndedExecution,
    event::Events,
    machine::{Ended, OpenInterrupt, RunMachine},
    memory::Memory,
    record::Outcome,
    runtime::Runtime,
    spec::{ClaimHow, Execute, NewSpec},
    state::State,
    store::{Claimed, Resumed, RunId, Store},
};
use crate::base::{Clock, Fault, Result};

impl Runtime {
    /// On this store, by the machine's clock, in the name of this process.
    pub fn on(store: impl Store) -> Self {
        let owner = format!("pid {}", std::process::id());
        Self::new(std::sync::Arc::new(store), Clock::system(), &owner)
    }

    /// On a store of its own in memory.
    pub fn in_memory() -> Self {
        Self::on(Memory::new(Clock::system()))
    }

    /// Opens the run, or finds the one with its key, and works on it until it ends, waits or fails;
    /// see [`Runtime::proceed`].
    ///
    /// ```
    /// # use verdict_graph::prelude::*;
    /// # #[derive(Clone, serde::Serialize)]
    /// # struct Sum(u32);
    /// # impl State for Sum {
    /// #     type Input = u32;
    /// #     type Update = u32;
    /// #     fn new(input: u32) -> Self { Self(input) }
    /// #     fn merge(&mut self, update: u32) { self.0 += update; }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Fault> {
    /// # let mut graph = GraphBuilder::<Sum, ()>::new();
    /// # graph.node("add", |_| async { Ok(2) });
    /// # graph.entry("add").edge("add", END);
    /// # let graph = graph.compile()?;
    /// let runtime = Runtime::in_memory();
    /// let ran = runtime.run(NewSpec::new("sum", 1, 40).key("today"), graph.with(())).await?;
    /// assert_eq!(ran.completed()?.0, 42);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Runtime::proceed`], and if the input has no JSON form.
    pub async fn run<S: State, D: Send + Sync + 'static>(
        &self,
        spec: NewSpec<S::Input>,
        execute: Execute<S, D>,
    ) -> Result<EndedExecution<S>> {
        let opened = self.open(&execute.graph, spec.claim()).await?;
        match opened.held {
            Some(held) => self.settled(self.execute(execute, held).await?).await,
            None => self.proceed(&opened.head.id, execute).await,
        }
    }

    /// Works on the run until it ends, waits or fails. Of one that has ended, or whose time has not
    /// come, it answers what there is. A failure that another try may cure leaves the run queued: to
    /// proceed is that try. Any other is recorded as the run's end.
    ///
    /// # Errors
    /// If there is no such run, another process works on it (transient), its log cannot be read, or
    /// the store fails.
    pub async fn proceed<S: State, D: Send + Sync + 'static>(
        &self,
        run: &RunId,
        execute: Execute<S, D>,
    ) -> Result<EndedExecution<S>> {
        let reopen = execute.reopen.is_some();
        match self.claim(run, ClaimHow { early: reopen, reopen }).await? {
            Claimed::Yours(lease, _) => self.settled(self.execute(execute, lease).await?).await,
            Claimed::Missing => Err(Fault::permanent(format!("there is no run {run}"))),
            Claimed::LeaseHeld(holder) => Err(Fault::transient(format!(
                "run {run} is held by {} until {}",
                holder.owner, holder.expires
            ))),
            Claimed::NotBefore(at) => self.as_it_is(run, |_| Stop::Waiting(Some(at))).await,
            Claimed::Final(_) => self.as_it_is(run, ended).await,
        }
    }

    /// Answers the open interrupt of this name, or of this id where several have it, and proceeds.
    ///
    /// # Errors
    /// Permanent if no such interrupt is open, several have that name, or somebody answered it in
    /// the meantime; and as [`Runtime::proceed`].
    pub async fn answer<S: State, D: Send + Sync + 'static>(
        &self,
        run: &RunId,
        interrupt: &str,
        value: &impl Serialize,
        execute: Execute<S, D>,
    ) -> Result<EndedExecution<S>> {
        let value = serde_json::value::to_raw_value(value)
            .map_err(|e| Fault::permanent(format!("the answer has no JSON form: {e}")))?;
        let (_, machine) = self.inspect::<S>(run).await?;
        let id = chosen(run, machine.interrupts(), interrupt)?;
        match self.resume(run, id, &value).await? {
            Resumed::Accepted(_) => self.proceed(run, execute).await,
            Resumed::Already(first) => {
                let first = String::from_utf8_lossy(&first);
                Err(Fault::permanent(format!(
                    "interrupt `{id}` of run {run} was answered before, with {first}"
                )))
            }
            Resumed::Unknown => Err(unknown(run, machine.interrupts(), interrupt)),
            Resumed::Final(status) => {
                Err(Fault::permanent(format!("run {run} is {status}: nothing is asked any more")))
            }
        }
    }

    async fn settled<S: State>(&self, mut ran: EndedExecution<S>) -> Result<EndedExecution<S>> {
        if let Stop::Failed(failure) = ran.stop.clone() {
            let settled = if failure.fault.is_transient() {
                let wait = failure.fault.retry_after.unwrap_or_default();
                ran.retry_later(&failure, self.clock.now().plus(wait)).await
            } else {
                ran.fail(&failure, None).await
            };
            settled.or_else(|stop| match stop {
                // Somebody stopped it or took it over meanwhile: how it failed is still the answer.
                Stop::Fenced => Ok(()),
                stop => Err(Fault::transient(format!("run {} was not settled: {stop}", ran.run))),
            })?;
        }
        Ok(ran)
    }

    async fn as_it_is<S: State>(
        &self,
        run: &RunId,
        stop: impl FnOnce(&RunMachine<S>) -> Stop,
    ) -> Result<EndedExecution<S>> {
        let (head, machine) = self.inspect::<S>(run).await?;
        Ok(EndedExecution {
            run: run.clone(),
            stop: stop(&machine),
            machine,
            active: head.active.max(Duration::ZERO),
            journal: None,
            clock: self.clock.clone(),
            events: Events::default(),
        })
    }
}

fn ended<S: State>(machine: &RunMachine<S>) -> Stop {
    match machine.ended() {
        Some(Ended::Finished(Outcome::Failed(failure))) => Stop::Failed(failure.clone()),
        _ => Stop::Ended,
    }
}

/// The id of the interrupt of this name, or with this id.
fn chosen<'a>(run: &RunId, open: &'a [OpenInterrupt], name: &str) -> Result<&'a str> {
    let asked = || open.iter().filter(|interrupt| interrupt.event.is_none());
    if let Some(exact) = asked().find(|interrupt| interrupt.id == name) {
        return Ok(&exact.id);
    }
    let named: Vec<&str> =
        asked().filter(|i| i.name == name).map(|interrupt| &*interrupt.id).collect();
    match named[..] {
        [id] => Ok(id),
        [] => Err(unknown(run, open, name)),
        _ => {
            let ids = named.join(", ");
            Err(Fault::permanent(format!(
                "run {run} has several open interrupts named `{name}`: answer by id, one of {ids}"
            )))
        }
    }
}

fn unknown(run: &RunId, open: &[OpenInterrupt], name: &str) -> Fault {
    let ids = open.iter().map(|interrupt| &*interrupt.id).collect::<Vec<_>>().join(", ");
    let there = if ids.is_empty() { "none is".to_owned() } else { format!("open are {ids}") };
    Fault::permanent(format!("run {run} has no open interrupt `{name}`: {there}"))
}
