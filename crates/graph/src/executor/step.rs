//! One step: its tasks started, waited for, and taken in.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    Execution, Halt, Stop,
    inside::{FromInside, Link, Nest},
    raw_null, refuses,
};
use crate::{
    base::Fault,
    command::{Command, Dispatch, NodeError, Suspension},
    context::{Context, Step},
    event::RunEvent,
    external::AwaitedEvent,
    faults::Injected,
    journal::Journal,
    meter,
    node::OnError,
    pulse::Pulse,
    record::{Body, Meta},
    state::{State, redact},
    task::{Answered, First, first_poll, see_through, twice},
};

impl<S: State, D: std::marker::Send + Sync + 'static> Execution<S, D> {
    /// Runs tasks of the current step until all have ended.
    pub(super) async fn run_tasks(&mut self, tasks: Vec<u32>) -> Halt<Option<Stop>> {
        let mut running = JoinSet::new();
        if self.start_tasks(tasks, &mut running).await? {
            return self.cut_short(&mut running).await;
        }
        let (mut let_go, mut flushes) = (false, Vec::new());
        while !running.is_empty() {
            // What has ended is durable before anything is waited for.
            self.flush().await?;
            for flushed in flushes.drain(..) {
                // Nobody waits any more where this fails.
                let _: Result<(), ()> = oneshot::Sender::send(flushed, ());
            }
            if let_go {
                running.shutdown().await;
                return self.give_back().await.map(Some);
            }
            match self.wait(&mut running).await? {
                Waited::Answered(answers) => {
                    // What a subgraph recorded came before its answer.
                    self.receive(None, &mut flushes).await?;
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
                Waited::Inside(message) => {
                    let recorded = self.receive(Some(message), &mut flushes).await?;
                    let_go = recorded && self.control.drain.is_cancelled();
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
            let context = self.context(&shared, index, node.idle_timeout);
            let first = match self.faults.at(&self.path, name) {
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

    fn shared(&mut self) -> Arc<Step<S, D>> {
        let nest = self.nest();
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
            path: self.path.clone(),
            around: self.around.clone(),
            nest,
            events: self.events.clone(),
            cancel: self.control.cancel.clone(),
        })
    }

    fn context(
        &self,
        shared: &Arc<Step<S, D>>,
        index: u32,
        idle_timeout: Option<Duration>,
    ) -> Context<S, D> {
        let answers = self.machine.has_answers().then(|| self.machine.answers_of(index).into());
        let redo = self.machine.redoes(index);
        let own = idle_timeout.map(|_| Arc::new(Pulse::inside(self.pulse.clone())));
        let pulse = own.or_else(|| self.pulse.clone());
        Context { shared: shared.clone(), answers, index, attempt: 1, pulse, redo }
    }

    /// What the subgraphs of this graph need; the way to the outermost execution begins here.
    fn nest(&mut self) -> Option<Nest> {
        if !self.graph.nested {
            return None;
        }
        let link = match &self.link {
            Some(link) => link.clone(),
            None => {
                let compress = self.journal.as_ref().is_some_and(Journal::compresses);
                let (link, inbox) = Link::new(compress);
                self.inbox = Some(inbox);
                link
            }
        };
        let (clock, faults) = (self.clock.clone(), self.faults.clone());
        Some(Nest { link, clock, faults, reopened: self.machine.reopened() })
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
                let gate = (Some(index), name.clone(), "before".to_owned());
                self.interrupt(gate, request, None).await?;
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
            Some(message) = next(&mut self.inbox) => Ok(Waited::Inside(message)),
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
        let task = tasks[index as usize].clone();
        let name = task.node.clone();
        let (command, fault) = match result {
            Ok(command) => match self.check(&name, &command) {
                Ok(()) => (Some(command), None),
                Err(fault) => (None, Some(fault)),
            },
            Err(NodeError::Fault(fault)) => (None, Some(fault)),
            Err(NodeError::Interrupt { name: asked, request }) => {
                self.interrupt((Some(index), name, asked), request, None).await?;
                return Ok(false);
            }
            Err(NodeError::Event(event)) => {
                let waits = (Some(index), name, AwaitedEvent::name(&event.key));
                self.interrupt(waits, raw_null(), Some(event)).await?;
                return Ok(false);
            }
            Err(NodeError::Suspended(Suspension { wait, answers })) => {
                self.machine.suspend(index, wait, answers);
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
            (Some(fault), None) => self.instead(&task, fault),
            (_, command) => (command, false),
        };
        meter::task_ended(&self.info.workflow, self.path.name(&name), took, fault.is_some());
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.tell_task(step, &name, (index, attempts, us), command.as_ref(), fault.as_ref());
        let by = self.signature.take();
        let meta = Meta::TaskFinished { step, node: name, index, attempts, us, by, fault };
        self.record(meta, command.map_or(Body::None, Body::Command)).await?;
        Ok(cancels)
    }

    /// Whether the command may stand: its update valid, its targets declared.
    fn check(&self, node: &str, command: &Command<S::Update>) -> Result<(), Fault> {
        if let Some(dispatches) = &command.goto {
            self.graph.check_dispatches(node, dispatches)?;
        }
        match (&command.update, self.machine.state()) {
            (Some(update), Some(state)) => Ok(state.validate(update)?),
            _ => Ok(()),
        }
    }

    /// What its node's policy puts in a failed task's place, and whether its siblings are cancelled.
    fn instead(&self, task: &Dispatch, fault: &Fault) -> (Option<Command<S::Update>>, bool) {
        let Some(node) = self.graph.nodes.get(&task.node) else { return (None, false) };
        match &node.on_error {
            OnError::Fail => (None, node.cancels_siblings),
            OnError::Continue(update) => {
                let command = Command::from(update(task, fault));
                let valid = self.check(&node.name, &command).is_ok();
                (valid.then_some(command), false)
            }
            OnError::Handler(handler) => {
                let dispatch = Dispatch::to(handler.clone());
                (Some(Command::goto([dispatch])), false)
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
    Inside(FromInside),
    Again,
    Cancelled,
    OverTime(Fault),
}

fn may_retry<U>(result: &Result<Command<U>, NodeError>) -> bool {
    matches!(result, Err(NodeError::Fault(fault)) if fault.is_transient())
}

async fn next(inbox: &mut Option<UnboundedReceiver<FromInside>>) -> Option<FromInside> {
    inbox.as_mut()?.recv().await
}
