//! The driver: asks the machine what to do, does it, and feeds what came of it back.
//!
//! It runs a step's tasks side by side on one shared state, records each the moment it ends, and
//! starts nothing that depends on a record before that record is durable.

mod step;

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    builder::Graph,
    context::RunInfo,
    event::{Events, RunEvent},
    journal::{Flushed, Journal, JournalError},
    machine::{Ended, RunMachine, Todo},
    plan,
    ran::Ran,
    record::{Body, Failure, Meta, Outcome, Record},
    state::{State, redact},
    store::{RunStatus, StoredRecord},
    testing::Faults,
};
use crate::base::{Clock, Fault, Timestamp};

/// How to stop an execution from outside.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Stop at the next record, and give the run back.
    pub drain: CancellationToken,
    /// Stop now, cutting short what runs, and give the run back.
    pub cancel: CancellationToken,
}

impl Control {
    /// For one execution: stopped with the others, and by itself without them.
    pub(super) fn child(&self) -> Self {
        Self { drain: self.drain.clone(), cancel: self.cancel.child_token() }
    }
}

/// How one execution ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// The run is at its end, and that is durable.
    Completed,
    /// A task failed and nothing passed it over. The failure is durable and the lease is held: it
    /// is for the caller to decide, and to [`settle`](Ran::fail), what becomes of the run.
    Failed(Failure),
    /// The run waits for an answer, or for a time; it was given back.
    Waiting(Option<Timestamp>),
    /// It was asked to stop, and the run was given back.
    Drained,
    /// The run is another worker's now, or was stopped: nothing was given back.
    Fenced,
    /// The store stopped answering.
    StoreLost(Fault),
    /// The run had ended before.
    Ended,
    /// A crash that a test asked for.
    Crashed,
}

/// Everything one execution works with.
pub(super) struct Execution<S: State, D> {
    pub(super) graph: Graph<S, D>,
    pub(super) deps: Arc<D>,
    pub(super) machine: RunMachine<S>,
    pub(super) journal: Option<Journal>,
    pub(super) info: Arc<RunInfo>,
    pub(super) events: Events,
    pub(super) control: Control,
    pub(super) clock: Clock,
    /// This process's name, for the first task it finishes.
    pub(super) signature: Option<Arc<str>>,
    pub(super) timeout: Option<Duration>,
    pub(super) faults: Faults,
    pub(super) began: Instant,
}

type Halt<T> = Result<T, Stop>;

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Fenced => Self::Fenced,
            JournalError::Lost(fault) => Self::StoreLost(fault),
        }
    }
}

impl<S: State, D: Send + Sync + 'static> Execution<S, D> {
    /// Runs until something stops it.
    pub(super) async fn run(mut self) -> Ran<S> {
        let (workflow, version) = (self.info.workflow.clone(), self.machine.version());
        self.events.emit(|| RunEvent::RunStarted { workflow, version });
        let stop = match self.drive().await {
            Ok(stop) | Err(stop) => stop,
        };
        // Whatever still works for this execution elsewhere should stop.
        self.control.cancel.cancel();
        let active = self.active();
        self.tell_end(&stop, active);
        super::summary::log(&self.info, &stop, &self.machine, active);
        Ran {
            stop,
            machine: self.machine,
            active,
            journal: self.journal,
            clock: self.clock,
            events: self.events,
        }
    }

    fn active(&self) -> Duration {
        self.journal.as_ref().map_or_else(|| self.began.elapsed(), Journal::active)
    }

    fn tell_end(&self, stop: &Stop, active: Duration) {
        let why = match stop {
            Stop::Completed => {
                let outcome = match self.machine.ended() {
                    Some(Ended::Finished(outcome)) => outcome.clone(),
                    _ => Outcome::Completed { revisit: None },
                };
                let active_ms = u64::try_from(active.as_millis()).unwrap_or(u64::MAX);
                return self.events.emit(|| RunEvent::RunFinished { outcome, active_ms });
            }
            // Told by whoever settles it.
            Stop::Failed(_) => return,
            Stop::Waiting(Some(until)) => format!("waits until {until}"),
            Stop::Waiting(None) => "waits for an answer".to_owned(),
            Stop::Drained => "handed back".to_owned(),
            Stop::Fenced => "taken over or stopped".to_owned(),
            Stop::StoreLost(fault) => format!("the store is lost: {fault}"),
            Stop::Ended => "had ended".to_owned(),
            Stop::Crashed => "crashed".to_owned(),
        };
        self.events.emit(|| RunEvent::RunPaused { why });
    }

    async fn drive(&mut self) -> Halt<Stop> {
        loop {
            if self.control.cancel.is_cancelled() {
                return self.give_back().await;
            }
            let todo = self.machine.todo();
            if matches!(todo, Todo::Run(_) | Todo::Complete)
                && let Some(node) = self.gate()
            {
                let name = after(&node);
                self.interrupt(None, node, name, raw_null()).await?;
                continue;
            }
            match todo {
                Todo::Ended => return Ok(Stop::Ended),
                Todo::Failed(failure) => {
                    self.flush().await?;
                    return Ok(Stop::Failed(failure));
                }
                Todo::Wait(until) => {
                    if let Some(stop) = self.pause(until).await? {
                        return Ok(stop);
                    }
                }
                Todo::Complete => {
                    return match self.rejected() {
                        Some(fault) => self.fail_step(fault).await,
                        None => self.complete().await,
                    };
                }
                Todo::CloseStep => {
                    if let Err(fault) = self.close_step().await? {
                        return self.fail_step(fault).await;
                    }
                }
                Todo::Run(tasks) => {
                    self.flush().await?;
                    if self.control.drain.is_cancelled() {
                        return self.give_back().await;
                    }
                    if let Err(fault) = self.may_go_on() {
                        return self.fail_step(fault).await;
                    }
                    if let Some(stop) = self.run_tasks(tasks).await? {
                        return Ok(stop);
                    }
                }
            }
        }
    }

    /// A failure of the step as a whole. Nothing of it is recorded: it is found again from the log.
    async fn fail_step(&mut self, fault: Fault) -> Halt<Stop> {
        self.flush().await?;
        let (step, _) = self.machine.tasks();
        Ok(Stop::Failed(Failure { step, node: None, fault }))
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        let (step, tasks) = self.machine.tasks();
        if step > self.graph.recursion_limit {
            let nodes = tasks.iter().map(|task| &*task.node).collect::<Vec<_>>().join(", ");
            return Err(Fault::permanent(format!(
                "the run has taken {} steps, its recursion limit; next would be {nodes}",
                self.graph.recursion_limit
            )));
        }
        self.rejected().map_or_else(|| self.over_time(), Err)
    }

    /// A node of the step before that somebody must let pass and was not asked about. It follows
    /// from the log alone, so no crash and no fork slips by it.
    fn gate(&self) -> Option<Arc<str>> {
        if self.graph.after.is_empty() {
            return None;
        }
        let (step, _) = self.machine.tasks();
        let ran = self.machine.history().iter().filter(|task| task.step + 1 == step);
        let mut gated = ran.map(|task| &task.node).filter(|node| self.graph.after.contains(*node));
        gated.find(|node| self.machine.answer(step, None, &after(node)).is_none()).cloned()
    }

    /// What somebody who was asked about the step before said no to.
    fn rejected(&self) -> Option<Fault> {
        let (step, _) = self.machine.tasks();
        let mut gated = self.graph.after.iter();
        let node = gated.find(|node| {
            let answer = self.machine.answer(step, None, &after(node));
            answer.is_some_and(|value| refuses(value))
        })?;
        Some(Fault::permanent(format!("what `{node}` did was rejected")))
    }

    fn over_time(&self) -> Result<(), Fault> {
        match self.timeout {
            Some(limit) if self.active() >= limit => {
                let limit = humantime::format_duration(limit);
                Err(Fault::permanent(format!("the run was active for longer than {limit}")))
            }
            _ => Ok(()),
        }
    }

    /// Appends a record: to the journal, then to the machine.
    async fn record(&mut self, meta: Meta, body: Body<S::Update>) -> Halt<()> {
        let record = Record { at: self.clock.now(), meta, body };
        if let Some(journal) = &mut self.journal {
            journal.record(&record).await.map_err(Stop::StoreLost)?;
        }
        self.machine.apply(record).map_err(|illegal| Stop::StoreLost(illegal.into()))
    }

    async fn flush(&mut self) -> Halt<()> {
        loop {
            let Some(journal) = &mut self.journal else { return Ok(()) };
            let flushed = journal.flush().await?;
            if journal.crashed() {
                return Err(Stop::Crashed);
            }
            match flushed {
                Flushed::Done => return Ok(()),
                Flushed::Moved(records) => self.catch_up(records)?,
            }
        }
    }

    /// Takes in what others appended meanwhile.
    fn catch_up(&mut self, records: Vec<StoredRecord>) -> Halt<()> {
        for stored in records {
            let record = Record::decode(self.machine.version() + 1, &stored);
            let record = record.map_err(|e| Stop::StoreLost(e.into()))?;
            self.machine.apply(record).map_err(|illegal| Stop::StoreLost(illegal.into()))?;
        }
        Ok(())
    }

    /// Stops here, to be taken up by any worker.
    async fn give_back(&mut self) -> Halt<Stop> {
        if let Some(journal) = &mut self.journal {
            journal.release().await?;
        }
        Ok(Stop::Drained)
    }

    /// Nothing can run: gives the run back until then. `None` if an answer came in just now.
    async fn pause(&mut self, until: Option<Timestamp>) -> Halt<Option<Stop>> {
        let Some(journal) = &mut self.journal else { return Ok(Some(Stop::Waiting(until))) };
        let settled = journal.settle(
            |head| {
                head.status = RunStatus::Parked;
                head.not_before = until;
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

    async fn complete(&mut self) -> Halt<Stop> {
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

    /// Merges, plans, records. The inner error is the step's: invariants broken, or a way nobody
    /// declared.
    async fn close_step(&mut self) -> Halt<Result<(), Fault>> {
        if let Err(invalid) = self.machine.merge() {
            return Ok(Err(invalid.into()));
        }
        let leaving = plan::leaving(&self.machine);
        let routed = match self.machine.state() {
            Some(state) if !self.machine.handled() => self.graph.routed(&leaving, state),
            _ => Ok(Vec::new()),
        };
        let routed = match routed {
            Ok(routed) => routed,
            Err(fault) => return Ok(Err(fault)),
        };
        let (step, _) = self.machine.tasks();
        self.record(Meta::StepFinished { step }, Body::Tasks(routed)).await?;
        let tasks = self.machine.tasks().1;
        self.events.emit(|| RunEvent::StepFinished {
            step,
            next: tasks.iter().map(|task| task.node.clone()).collect(),
        });
        Ok(Ok(()))
    }

    async fn interrupt(
        &mut self,
        index: Option<u32>,
        node: Arc<str>,
        name: String,
        request: Arc<RawValue>,
    ) -> Halt<()> {
        let id = self.machine.interrupt_id(index, &name);
        let (step, _) = self.machine.tasks();
        self.events.emit(|| RunEvent::Interrupted {
            id: id.clone(),
            node: node.clone(),
            request: redact(serde_json::from_str(request.get()).unwrap_or_default(), S::SENSITIVE),
        });
        if let Some(journal) = &mut self.journal {
            journal.ask(id.clone());
        }
        let meta = Meta::Interrupted { id, step, node, index, name };
        self.record(meta, Body::Value(request)).await
    }
}

/// `false`, or an object that says `"approve": false`.
fn refuses(answer: &RawValue) -> bool {
    match serde_json::from_str::<serde_json::Value>(answer.get()) {
        Ok(serde_json::Value::Bool(yes)) => !yes,
        Ok(value) => value.get("approve") == Some(&serde_json::Value::Bool(false)),
        Err(_) => false,
    }
}

/// The name of the gate behind a node.
fn after(node: &str) -> String {
    format!("after:{node}")
}

fn raw_null() -> Arc<RawValue> {
    RawValue::NULL.to_owned().into()
}
