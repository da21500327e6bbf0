//! The driver: asks the machine what to do, does it, and feeds what came of it back.
//!
//! It runs a step's tasks side by side on one shared state, records each the moment it ends, and
//! starts nothing that depends on a record before that record is durable.

mod halt;
mod inside;
mod step;

use std::{any::Any, sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{sync::mpsc, time::Instant};

use inside::{FromInside, Link};
pub(crate) use inside::{Nest, run_inside};

use super::{
    context::RunInfo,
    control::{Control, Stop},
    ended::EndedExecution,
    event::{Events, RunEvent},
    external::AwaitedEvent,
    faults::Faults,
    graph::Graph,
    journal::{Flushed, Journal},
    machine::{Ended, RunMachine, Todo},
    path::Path,
    plan,
    pulse::Pulse,
    record::{Body, Failure, Meta, Outcome, Record},
    spec::Execute,
    state::{State, redact},
    store::{RunId, StoredRecord},
};
use crate::base::{Clock, Fault};

/// Everything one execution works with.
pub(super) struct Execution<S: State, D> {
    pub(super) graph: Graph<S, D>,
    pub(super) deps: Arc<D>,
    pub(super) machine: RunMachine<S>,
    pub(super) journal: Option<Journal>,
    /// Of a subgraph: the way to the execution that writes.
    link: Option<Link>,
    /// What the subgraphs of this run tell.
    inbox: Option<mpsc::UnboundedReceiver<FromInside>>,
    /// The subgraph this is; empty of the workflow's own graph.
    path: Path,
    /// Of a subgraph: the state of the graph around it.
    around: Option<Arc<dyn Any + Send + Sync>>,
    /// Of a subgraph: where its task tells that it is alive.
    pulse: Option<Arc<Pulse>>,
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

/// What a run that is executed directly is written to, and in whose name.
pub(super) type Kept = (Journal, Arc<str>);

impl<S: State, D: Send + Sync + 'static> Execution<S, D> {
    /// Of the workflow's own graph. `kept`: where the run is written to, and this process's name.
    pub(super) fn new(
        execute: Execute<S, D>,
        machine: RunMachine<S>,
        (id, clock): (RunId, Clock),
        kept: Option<Kept>,
    ) -> Self {
        let info = RunInfo {
            id,
            workflow: machine.workflow().0.clone(),
            forked: machine.forked().cloned(),
            reopened: machine.reopened(),
        };
        let (journal, signature) = kept.unzip();
        Self {
            graph: execute.graph,
            deps: execute.deps,
            machine,
            journal,
            link: None,
            inbox: None,
            path: Path::default(),
            around: None,
            pulse: None,
            info: Arc::new(info),
            events: execute.events,
            control: execute.control.child(),
            clock,
            signature,
            timeout: execute.timeout,
            faults: execute.faults,
            began: Instant::now(),
        }
    }

    /// Runs until something stops it.
    pub(super) async fn run(mut self) -> EndedExecution<S> {
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
        EndedExecution {
            run: self.info.id.clone(),
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
        match stop {
            Stop::Completed => {
                let outcome = match self.machine.ended() {
                    Some(Ended::Finished(outcome)) => outcome.clone(),
                    _ => Outcome::Completed { revisit: None },
                };
                let active_ms = u64::try_from(active.as_millis()).unwrap_or(u64::MAX);
                self.events.emit(|| RunEvent::RunFinished { outcome, active_ms });
            }
            // Told by whoever settles it.
            Stop::Failed(_) => {}
            stop => self.events.emit(|| RunEvent::RunPaused { why: stop.to_string() }),
        }
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
                self.interrupt((None, node, name), raw_null(), None).await?;
                continue;
            }
            match todo {
                Todo::Ended => return Ok(Stop::Ended),
                Todo::Failed(failure) => {
                    self.flush().await?;
                    return Ok(Stop::Failed(failure));
                }
                Todo::Wait(_) => {
                    if let Some(stop) = self.pause().await? {
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
        let own = self.machine.history().iter().filter(|task| task.path.is_empty());
        let ran = own.filter(|task| task.step + 1 == step);
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

    async fn record(&mut self, meta: Meta, body: Body<S::Update>) -> Halt<()> {
        self.append(Record::new(self.clock.now(), meta, body)).await
    }

    /// Appends a record: to the journal, then to the machine.
    async fn append(&mut self, record: Record<S::Update>) -> Halt<()> {
        if let Some(link) = &mut self.link {
            link.record(&record).await?;
        }
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
        if let Some(journal) = &mut self.journal {
            journal.record(&record).await.map_err(Stop::StoreLost)?;
        }
        self.machine.apply(record).map_err(|illegal| Stop::StoreLost(illegal.into()))
    }

    async fn flush(&mut self) -> Halt<()> {
        if let Some(link) = &mut self.link {
            link.flush().await;
        }
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
        let held = match self.graph.upstream.is_empty() {
            true => Vec::new(),
            false => self.graph.held(&self.machine.upcoming(&routed)),
        };
        self.record(Meta::StepFinished { step, held }, Body::Tasks(routed)).await?;
        let tasks = self.machine.tasks().1;
        self.events.emit(|| RunEvent::StepFinished {
            step,
            next: tasks.iter().map(|task| task.node.clone()).collect(),
        });
        Ok(Ok(()))
    }

    async fn interrupt(
        &mut self,
        (index, node, name): (Option<u32>, Arc<str>, String),
        request: Arc<RawValue>,
        event: Option<AwaitedEvent>,
    ) -> Halt<()> {
        let mut id = self.machine.interrupt_id(index, &name);
        if let Some(link) = &self.link {
            id.insert_str(0, link.prefix());
        }
        let (step, _) = self.machine.tasks();
        self.events.emit(|| {
            let (id, node) = (id.clone(), node.clone());
            match &event {
                Some(AwaitedEvent { key, until }) => {
                    RunEvent::Parked { node, until: *until, reason: format!("event {key}") }
                }
                None => {
                    let request = serde_json::from_str(request.get()).unwrap_or_default();
                    RunEvent::Interrupted { id, node, request: redact(request, S::SENSITIVE) }
                }
            }
        });
        if let Some(journal) = &mut self.journal {
            journal.ask(id.clone());
        }
        let meta = Meta::Interrupted { id, step, node, index, name, event };
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
