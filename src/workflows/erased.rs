//! A workflow without its types: what the worker, the command line and the server see.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, value::RawValue};

use super::{Admission, Event, Start, Workflow};
use crate::{
    base::{Fault, Result, Timestamp},
    graph::{
        Control, Drawing, EndedExecution, Envelope, Events, Execute, Failure, Graph, GraphError,
        Head, LeasedRun, NewSpec, OpenedRun, ReopenFrom, RunId, RunInfo, RunStatus, Runtime, State,
        StepRef, Stop, Timings, redact, store::Letter, testing::Faults,
    },
};

/// How to execute a run. See [`AnyWorkflow::execute`].
#[derive(Clone, Default)]
pub struct Options {
    /// Where events go.
    pub events: Events,
    /// How to stop it.
    pub control: Control,
    /// Active time it may take; the workflow's own default if unset.
    pub timeout: Option<Duration>,
    /// Open it again first: why, and from where.
    pub reopen: Option<(String, ReopenFrom)>,
    /// Faults to inject, for tests.
    pub faults: Faults,
}

/// An interrupt as listings show it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// The node that asks.
    pub node: Arc<str>,
    /// What is asked.
    pub request: Value,
    /// Since when.
    pub at: String,
}

/// A run looked at from outside. Sensitive fields are redacted.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// Its head.
    pub head: Head,
    /// Its state as JSON.
    pub state: Value,
    /// Its state as people read it, if the workflow has a form of its own.
    pub rendered: Option<String>,
    /// Tasks of the current step without a result: index, node, what they wait for.
    pub pending: Vec<(u32, Arc<str>, &'static str)>,
    /// Interrupts nobody has answered.
    pub interrupts: Vec<Asked>,
    /// Failures so far.
    pub failures: Vec<Failure>,
    /// Letters written about it, and whether the queue has them.
    pub letters: Vec<(String, bool)>,
    /// Its timings.
    pub timings: Timings,
    /// Its way through the graph.
    pub drawing: Drawing,
}

/// An execution without its types. See [`EndedExecution`].
#[async_trait]
pub trait AnyEndedExecution: Send {
    /// How it ended.
    fn stop(&self) -> &Stop;
    /// The state as JSON, sensitive fields included.
    fn state(&self) -> Value;
    /// Its timings.
    fn timings(&self) -> Timings;
    /// Executions that failed before this one.
    fn executions(&self) -> u32;
    /// Letters written about it before.
    fn letters(&self) -> usize;
    /// When it started.
    fn started_at(&self) -> Timestamp;
    /// The message it came from.
    fn envelope(&self) -> Option<Envelope>;
    /// See [`EndedExecution::retry_later`].
    async fn retry_later(&mut self, failure: &Failure, at: Timestamp) -> Result<(), Stop>;
    /// See [`EndedExecution::hand_back`].
    async fn hand_back(&mut self, failure: &Failure, at: Timestamp) -> Result<(), Stop>;
    /// See [`EndedExecution::fail`].
    async fn fail(&mut self, failure: &Failure, letter: Option<Letter>) -> Result<(), Stop>;
    /// See [`EndedExecution::confirm_letter`].
    async fn confirm_letter(&mut self, id: &str) -> Result<(), Stop>;
}

#[async_trait]
impl<S: State> AnyEndedExecution for EndedExecution<S> {
    fn stop(&self) -> &Stop {
        &self.stop
    }

    fn state(&self) -> Value {
        let state = self.machine.state();
        state.and_then(|state| serde_json::to_value(&**state).ok()).unwrap_or_default()
    }

    fn timings(&self) -> Timings {
        Timings::of(&self.machine, self.active)
    }

    fn executions(&self) -> u32 {
        EndedExecution::executions(self)
    }

    fn letters(&self) -> usize {
        self.machine.letters().len()
    }

    fn started_at(&self) -> Timestamp {
        self.machine.started_at()
    }

    fn envelope(&self) -> Option<Envelope> {
        self.machine.envelope().map(|envelope| (**envelope).clone())
    }

    async fn retry_later(&mut self, failure: &Failure, at: Timestamp) -> Result<(), Stop> {
        EndedExecution::retry_later(self, failure, at).await
    }

    async fn hand_back(&mut self, failure: &Failure, at: Timestamp) -> Result<(), Stop> {
        EndedExecution::hand_back(self, failure, at).await
    }

    async fn fail(&mut self, failure: &Failure, letter: Option<Letter>) -> Result<(), Stop> {
        EndedExecution::fail(self, failure, letter).await
    }

    async fn confirm_letter(&mut self, id: &str) -> Result<(), Stop> {
        EndedExecution::confirm_letter(self, id).await
    }
}

/// A workflow without its types.
#[async_trait]
pub trait AnyWorkflow: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;
    /// The versions whose runs it executes, its own first.
    fn versions(&self) -> Vec<u32>;
    /// The forge events it wants to see.
    fn events(&self) -> &'static [&'static str];
    /// A drawing of its graph.
    fn drawing(&self) -> Drawing;

    /// What the event comes to; the input as JSON.
    ///
    /// # Errors
    /// As [`Workflow::admit`].
    async fn admit(&self, event: &Event) -> Result<Admission<Arc<RawValue>>>;

    /// Opens the run that was admitted, or finds it. A new one is claimed, or, given a time
    /// instead, left for a worker, or from that time on for a sweep.
    ///
    /// # Errors
    /// If the store fails.
    async fn open(
        &self,
        runtime: &Runtime,
        start: Start<Arc<RawValue>>,
        envelope: Option<Envelope>,
        leave_until: Option<Timestamp>,
    ) -> Result<OpenedRun>;

    /// Executes a run this process has claimed. See [`Runtime::execute`].
    ///
    /// # Errors
    /// If the run cannot be loaded, or is of a version it does not continue.
    async fn execute(
        &self,
        runtime: &Runtime,
        held: LeasedRun,
        options: Options,
    ) -> Result<Box<dyn AnyEndedExecution>>;

    /// A look at a run.
    ///
    /// # Errors
    /// If there is no such run, or its log cannot be read.
    async fn inspect(&self, runtime: &Runtime, run: &RunId) -> Result<Inspected>;

    /// See [`Workflow::show`].
    ///
    /// # Errors
    /// As there, and if the run cannot be read.
    async fn show(&self, runtime: &Runtime, run: &RunId, stands: (RunStatus, &str)) -> Result<()>;

    /// See [`Workflow::overtaken`].
    ///
    /// # Errors
    /// If the run cannot be read.
    async fn overtaken(&self, by: &Runtime, run: &RunId, another: bool) -> Result<Option<String>>;

    /// The state after a step, as JSON, sensitive fields redacted.
    ///
    /// # Errors
    /// If there is no such run or step.
    async fn checkpoint(&self, runtime: &Runtime, run: &RunId, step: u32) -> Result<Value>;

    /// Something of a run, an answer to an interrupt say, with sensitive fields redacted.
    fn redact(&self, value: Value) -> Value;

    /// See [`Runtime::fork`].
    ///
    /// # Errors
    /// If there is no such run or step.
    async fn fork(
        &self,
        runtime: &Runtime,
        run: &RunId,
        step: StepRef,
        publish: bool,
    ) -> Result<RunId>;
}

/// A workflow with its graph compiled and its dependencies at hand.
pub struct Bound<W: Workflow> {
    graph: Graph<W::State, W::Deps>,
    deps: Arc<W::Deps>,
    timeout: Duration,
}

impl<W: Workflow> Bound<W> {
    /// Compiles the graph.
    ///
    /// # Errors
    /// If it is not well built.
    pub fn new(deps: W::Deps) -> Result<Self, GraphError> {
        Ok(Self { graph: W::graph()?, deps: Arc::new(deps), timeout: W::TIMEOUT })
    }

    /// The same with another graph, for tests with doubles.
    #[must_use]
    pub fn with_graph(mut self, graph: Graph<W::State, W::Deps>) -> Self {
        self.graph = graph;
        self
    }

    /// The same with another limit of active time.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

#[async_trait]
impl<W: Workflow> AnyWorkflow for Bound<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn versions(&self) -> Vec<u32> {
        std::iter::once(W::VERSION).chain(W::CONTINUES.iter().copied()).collect()
    }

    fn events(&self) -> &'static [&'static str] {
        W::EVENTS
    }

    fn drawing(&self) -> Drawing {
        Drawing::of(&self.graph)
    }

    async fn admit(&self, event: &Event) -> Result<Admission<Arc<RawValue>>> {
        Ok(match W::admit(&self.deps, event).await? {
            Admission::Cancel { subject } => Admission::Cancel { subject },
            Admission::Ignore { reason } => Admission::Ignore { reason },
            Admission::Start(Start { key, subject, order, settles, input }) => {
                let input = serde_json::value::to_raw_value(&input)
                    .map_err(|e| Fault::permanent(format!("the input has no JSON form: {e}")))?;
                Admission::Start(Start { key, subject, order, settles, input: input.into() })
            }
        })
    }

    async fn open(
        &self,
        runtime: &Runtime,
        start: Start<Arc<RawValue>>,
        envelope: Option<Envelope>,
        leave_until: Option<Timestamp>,
    ) -> Result<OpenedRun> {
        let input = super::read_input(W::NAME, &start.input)?;
        let spec = NewSpec::new(W::NAME, W::VERSION, input)
            .key(start.key)
            .subject(start.subject, start.order)
            .envelope(envelope);
        let spec = match leave_until {
            None => spec.claim(),
            Some(not_before) => spec.not_before(not_before),
        };
        runtime.open(&self.graph, spec).await
    }

    async fn execute(
        &self,
        runtime: &Runtime,
        held: LeasedRun,
        options: Options,
    ) -> Result<Box<dyn AnyEndedExecution>> {
        let execute = Execute {
            versions: self.versions(),
            events: options.events,
            control: options.control,
            timeout: Some(options.timeout.unwrap_or(self.timeout)),
            faults: options.faults,
            reopen: options.reopen,
            ..Execute::new(self.graph.clone(), self.deps.clone())
        };
        Ok(Box::new(runtime.execute(execute, held).await?))
    }

    async fn inspect(&self, runtime: &Runtime, run: &RunId) -> Result<Inspected> {
        let (head, machine) = runtime.inspect::<W::State>(run).await?;
        let hide = |value: Value| redact(value, self.graph.sensitive());
        let state = machine.state().and_then(|state| serde_json::to_value(&**state).ok());
        let asked = machine.interrupts().iter().filter(|open| open.event.is_none());
        let asked = asked.map(|open| Asked {
            id: open.id.clone(),
            node: open.node.clone(),
            request: hide(serde_json::from_str(open.request.get()).unwrap_or_default()),
            at: open.at.to_string(),
        });
        let pending = if machine.ended().is_some() {
            Vec::new()
        } else {
            machine.unfinished().map(|(i, node, waits)| (i, node.clone(), waits)).collect()
        };
        Ok(Inspected {
            state: hide(state.unwrap_or_default()),
            // A form of its own could show what JSON redacts.
            rendered: machine
                .state()
                .filter(|_| W::State::SENSITIVE.is_empty())
                .and_then(|state| W::render(state)),
            pending,
            interrupts: asked.collect(),
            failures: machine.failures(),
            letters: machine.letters().to_vec(),
            timings: Timings::of(&machine, head.active),
            drawing: Drawing::of(&self.graph).with_run(&machine),
            head,
        })
    }

    async fn show(&self, runtime: &Runtime, run: &RunId, stands: (RunStatus, &str)) -> Result<()> {
        let (head, machine) = runtime.inspect::<W::State>(run).await?;
        let Some(state) = machine.state() else { return Ok(()) };
        let run = RunInfo {
            id: run.clone(),
            workflow: head.workflow.as_str().into(),
            forked: machine.forked().cloned(),
            reopened: machine.reopened(),
        };
        W::show(&self.deps, &run, state, stands).await
    }

    async fn overtaken(&self, by: &Runtime, run: &RunId, another: bool) -> Result<Option<String>> {
        let (_, machine) = by.inspect::<W::State>(run).await?;
        Ok(machine.state().and_then(|state| W::overtaken(state, another)).map(str::to_owned))
    }

    async fn checkpoint(&self, runtime: &Runtime, run: &RunId, step: u32) -> Result<Value> {
        let state = runtime.checkpoint::<W::State>(run, step).await?;
        let state = serde_json::to_value(&*state).unwrap_or_default();
        Ok(redact(state, W::State::SENSITIVE))
    }

    fn redact(&self, value: Value) -> Value {
        redact(value, W::State::SENSITIVE)
    }

    async fn fork(
        &self,
        runtime: &Runtime,
        run: &RunId,
        step: StepRef,
        publish: bool,
    ) -> Result<RunId> {
        runtime.fork::<<W::State as State>::Update>(run, step, publish).await
    }
}
