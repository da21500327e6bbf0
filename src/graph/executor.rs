//! The driver: asks the machine what to do, does it, and feeds what came of it back.
//!
//! It runs a step's tasks side by side on one shared state, records each the moment it ends, and
//! starts nothing that depends on a record before that record is durable.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    builder::Graph,
    command::{Command, NodeError},
    context::{Context, RunInfo, Step},
    event::{Events, RunEvent},
    journal::{Flushed, Journal, JournalError},
    machine::{Ended, RunMachine, Todo},
    node::OnError,
    plan,
    record::{Body, Failure, Meta, Outcome, Record},
    state::{State, redact},
    store::{Letter, RunStatus, StoredRecord},
    task::{Answered, First, first_poll, see_through, twice},
    testing::{Faults, Injected},
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

/// An execution that ended.
pub struct Ran<S: State> {
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
        let wait = self.machine.state()?.revisit(self.machine.reopened())?;
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

    /// Runs tasks of the current step until all have ended.
    async fn run_tasks(&mut self, tasks: Vec<u32>) -> Halt<Option<Stop>> {
        let mut running = JoinSet::new();
        if self.start_tasks(tasks, &mut running).await? {
            return self.cut_short(&mut running).await;
        }
        let mut let_go = false;
        while !running.is_empty() {
            // What has ended is durable before anything is waited for.
            self.flush().await?;
            if let_go {
                running.shutdown().await;
                return self.give_back().await.map(Some);
            }
            match self.wait(&mut running).await? {
                Waited::Answered(answers) => {
                    let mut cancelled = false;
                    for answered in answers {
                        cancelled |= self.take(answered).await?;
                    }
                    if cancelled {
                        return self.cut_short(&mut running).await;
                    }
                    // Only a new record lets go; until one comes the tasks go on.
                    let_go = self.control.drain.is_cancelled();
                }
                Waited::Again => {}
                Waited::Cancelled => {
                    running.shutdown().await;
                    return self.give_back().await.map(Some);
                }
                Waited::OverTime(fault) => {
                    running.shutdown().await;
                    return self.fail_step(fault).await.map(Some);
                }
            }
        }
        Ok(None)
    }

    /// A failure that cancels its siblings.
    async fn cut_short(&mut self, running: &mut JoinSet<Answered<S>>) -> Halt<Option<Stop>> {
        running.shutdown().await;
        self.flush().await?;
        Ok(self.machine.failure().map(Stop::Failed))
    }

    /// Starts tasks, and takes in those that end at once. Answers whether a failure cancels the
    /// others.
    async fn start_tasks(
        &mut self,
        tasks: Vec<u32>,
        running: &mut JoinSet<Answered<S>>,
    ) -> Halt<bool> {
        let shared = self.shared();
        for index in tasks {
            let name = &shared.tasks[index as usize].node;
            let Some(node) = self.graph.nodes.get(name).cloned() else {
                let fault = Fault::permanent(format!(
                    "the log names node `{name}`, which this version of the workflow has not got"
                ));
                return Err(Stop::StoreLost(fault));
            };
            if !self.let_in(index, name).await? {
                continue;
            }
            let (step, started) = (shared.step, Instant::now());
            let told = name.clone();
            self.events.emit(|| RunEvent::NodeStarted { step, node: told, index });
            let context = self.context(&shared, index);
            let first = match self.faults.at(name) {
                Injected::Nothing => first_poll(&node, context.clone()),
                Injected::Failure(fault) => First::Answered(Err(fault.into())),
                Injected::Repeat => First::Pending(twice(&node, &context)),
            };
            match first {
                First::Answered(result) if !may_retry(&result) => {
                    let took = started.elapsed();
                    drop(context);
                    let answered = Answered { index, attempts: 1, took, result };
                    if self.take(answered).await? {
                        return Ok(true);
                    }
                }
                first => {
                    running.spawn(see_through(node, context, first, started));
                }
            }
        }
        Ok(false)
    }

    fn shared(&self) -> Arc<Step<S, D>> {
        let (step, tasks) = self.machine.tasks();
        // A machine with tasks has a state.
        #[expect(clippy::expect_used, reason = "`todo` answered Run, so the run has started")]
        let state = self.machine.state().expect("a run with tasks has a state").clone();
        Arc::new(Step {
            state,
            deps: self.deps.clone(),
            run: self.info.clone(),
            step,
            tasks: tasks.clone(),
            failures: self.machine.failures(),
            events: self.events.clone(),
            cancel: self.control.cancel.clone(),
        })
    }

    fn context(&self, shared: &Arc<Step<S, D>>, index: u32) -> Context<S, D> {
        let answers = self.machine.has_answers().then(|| self.machine.answers_of(index).into());
        Context { shared: shared.clone(), answers, index, attempt: 1 }
    }

    /// Whether the task may run: not if somebody must say so first, or said no.
    async fn let_in(&mut self, index: u32, name: &Arc<str>) -> Halt<bool> {
        if !self.graph.before.contains(name) {
            return Ok(true);
        }
        let (step, _) = self.machine.tasks();
        match self.machine.answer(step, Some(index), "before") {
            None => {
                let request = raw_null();
                self.interrupt(Some(index), name.clone(), "before".to_owned(), request).await?;
                Ok(false)
            }
            Some(answer) if refuses(answer) => {
                let result = Err(Fault::permanent(format!("node `{name}` was rejected")).into());
                let took = Duration::ZERO;
                self.take(Answered { index, attempts: 1, took, result }).await?;
                Ok(false)
            }
            Some(_) => Ok(true),
        }
    }

    async fn wait(&mut self, running: &mut JoinSet<Answered<S>>) -> Halt<Waited<S>> {
        let far = Instant::now() + Duration::from_secs(86_400);
        let renew_at = self.journal.as_ref().map_or(far, Journal::renew_at);
        let left = self.timeout.map(|limit| limit.saturating_sub(self.active()));
        let deadline = left.map_or(far, |left| Instant::now() + left);
        tokio::select! {
            biased;
            () = self.control.cancel.cancelled() => Ok(Waited::Cancelled),
            joined = running.join_next() => {
                let mut answers = Vec::new();
                let mut next = joined;
                while let Some(joined) = next {
                    // A panic was caught inside; only an abort gets here, and those are ours.
                    answers.extend(joined);
                    next = running.try_join_next();
                }
                Ok(Waited::Answered(answers))
            }
            () = sleep_until(renew_at) => {
                if let Some(journal) = &mut self.journal {
                    journal.renew().await?;
                }
                Ok(Waited::Again)
            }
            () = sleep_until(deadline) => match self.over_time() {
                Err(fault) => Ok(Waited::OverTime(fault)),
                Ok(()) => Ok(Waited::Again),
            }
        }
    }

    /// Takes a task's answer in. Answers whether its siblings are to be cancelled.
    async fn take(&mut self, answered: Answered<S>) -> Halt<bool> {
        let Answered { index, attempts, took, result } = answered;
        let (step, tasks) = self.machine.tasks();
        let name = tasks[index as usize].node.clone();
        let (command, fault) = match result {
            Ok(command) => match self.check(&name, &command) {
                Ok(()) => (Some(command), None),
                Err(fault) => (None, Some(fault)),
            },
            Err(NodeError::Fault(fault)) => (None, Some(fault)),
            Err(NodeError::Interrupt { name: asked, request }) => {
                self.interrupt(Some(index), name, asked, request).await?;
                return Ok(false);
            }
            Err(NodeError::Park { until, reason }) => {
                let (node, told) = (name.clone(), reason.clone());
                self.events.emit(|| RunEvent::Parked { node, until, reason: told });
                let meta = Meta::Parked { step, node: name, index, until, reason };
                self.record(meta, Body::None).await?;
                return Ok(false);
            }
        };
        let (command, cancels) = match (&fault, command) {
            (Some(fault), None) => self.instead(&name, fault),
            (_, command) => (command, false),
        };
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.tell_task(step, &name, (index, attempts, us), command.as_ref(), fault.as_ref());
        let by = self.signature.take();
        let meta = Meta::TaskFinished { step, node: name, index, attempts, us, by, fault };
        self.record(meta, command.map_or(Body::None, Body::Command)).await?;
        Ok(cancels)
    }

    /// Whether the command may stand: its update valid, its targets declared.
    fn check(&self, node: &str, command: &Command<S::Update>) -> Result<(), Fault> {
        if let Some(sends) = &command.goto {
            self.graph.check_sends(node, sends)?;
        }
        match (&command.update, self.machine.state()) {
            (Some(update), Some(state)) => Ok(state.validate(update)?),
            _ => Ok(()),
        }
    }

    /// What a failed node's policy puts in its place, and whether its siblings are cancelled.
    fn instead(&self, node: &str, fault: &Fault) -> (Option<Command<S::Update>>, bool) {
        let Some(node) = self.graph.nodes.get(node) else { return (None, false) };
        match &node.on_error {
            OnError::Fail => (None, node.cancels_siblings),
            OnError::Continue(update) => {
                let command = Command::from(update(fault));
                let valid = self.check(&node.name, &command).is_ok();
                (valid.then_some(command), false)
            }
            OnError::Handler(handler) => {
                let send = super::command::Send::to(handler.clone());
                (Some(Command::goto([send])), false)
            }
        }
    }

    fn tell_task(
        &self,
        step: u32,
        node: &Arc<str>,
        (index, attempts, us): (u32, u32, u64),
        command: Option<&Command<S::Update>>,
        fault: Option<&Fault>,
    ) {
        let logged = tracing::enabled!(target: "verdict::transitions", tracing::Level::DEBUG);
        if !logged && !self.events.heard() {
            return;
        }
        let update = command.and_then(|command| command.update.as_ref());
        let update = update
            .map(|update| redact(serde_json::to_value(update).unwrap_or_default(), S::SENSITIVE));
        if logged {
            let update = update.as_ref().map(tracing::field::display);
            let run = &self.info.id;
            tracing::debug!(target: "verdict::transitions", %run, step, %node, index, update);
        }
        self.events.emit(|| RunEvent::NodeFinished {
            step,
            node: node.clone(),
            index,
            attempts,
            us,
            update,
            fault: fault.cloned(),
        });
    }
}

/// What a wait for running tasks brought.
enum Waited<S: State> {
    Answered(Vec<Answered<S>>),
    Again,
    Cancelled,
    OverTime(Fault),
}

fn may_retry<U>(result: &Result<Command<U>, NodeError>) -> bool {
    matches!(result, Err(NodeError::Fault(fault)) if fault.is_transient())
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

impl<S: State> Ran<S> {
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
        let error = failure.fault.to_string();
        self.settle(None, |head| {
            head.status = RunStatus::Queued;
            head.not_before = Some(not_before);
            head.executions += 1;
            head.error = Some(error);
        })
        .await
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
        let error = failure.fault.to_string();
        self.settle(None, |head| {
            head.status = RunStatus::Queued;
            head.not_before = Some(not_before);
            head.error = Some(error);
        })
        .await
    }

    /// Settles a failed execution for good: the run has failed, and the letter, if there is one, is
    /// recorded with it. The lease stays until [`Ran::confirm_letter`] if there is one.
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
        let record = Record { at: self.clock.now(), meta, body: Body::None };
        if let Some(journal) = &mut self.journal {
            journal.record(&record).await.map_err(Stop::StoreLost)?;
        }
        self.machine.apply(record).map_err(|illegal| Stop::StoreLost(illegal.into()))
    }

    async fn settle(
        &mut self,
        letter: Option<Letter>,
        change: impl FnOnce(&mut super::store::HeadChange) + Clone,
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
