//! A workflow run by the program that embeds it: no queue, no worker, a store if it likes.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::broadcast;
use tokio_util::task::AbortOnDropHandle;

use super::Workflow;
use crate::{
    base::{Clock, Fault, Result},
    graph::{
        ClaimHow, EndedExecution, EventEnvelope, Events, Execute, Graph, GraphError, LeasedRun,
        NewSpec, RunId, Runtime, State, Stop, Store,
        store::{Claimed, Resumed},
    },
};

/// How many events a slow reader may be behind before it loses the oldest.
const EVENTS_KEPT: usize = 1024;

/// Runs a workflow in this process. Without a store nothing is kept and nothing can be resumed.
pub struct InProcess<W: Workflow> {
    graph: Graph<W::State, W::Deps>,
    deps: Arc<W::Deps>,
    runtime: Option<Runtime>,
}

/// A run under way. Dropping it stops the run, which a store then leaves to be claimed.
pub struct Running<S: State> {
    /// The run.
    pub id: RunId,
    /// What happens in it, from its first event on.
    pub events: broadcast::Receiver<EventEnvelope>,
    ended: AbortOnDropHandle<Result<EndedExecution<S>>>,
}

impl<S: State> Running<S> {
    /// Waits until the run ends, waits for somebody, or fails.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn end(self) -> Result<EndedExecution<S>> {
        self.ended.await.map_err(|error| Fault::permanent(format!("the run was lost: {error}")))?
    }
}

impl<W: Workflow> InProcess<W> {
    /// With these dependencies, without a store.
    ///
    /// # Errors
    /// If the graph is not well built.
    pub fn new(deps: W::Deps) -> Result<Self, GraphError> {
        Ok(Self { graph: W::graph()?, deps: Arc::new(deps), runtime: None })
    }

    /// The same with another graph: other policies, another entry, doubles for nodes.
    #[must_use]
    pub fn with_graph(mut self, graph: Graph<W::State, W::Deps>) -> Self {
        self.graph = graph;
        self
    }

    /// The same with runs kept in `store`.
    #[must_use]
    pub fn on(mut self, store: Arc<dyn Store>) -> Self {
        self.runtime = Some(Runtime::new(store, Clock::system(), "in process"));
        self
    }

    /// A run from this input, to its end.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn run(&self, input: <W::State as State>::Input) -> Result<EndedExecution<W::State>> {
        self.start(None, input).await?.end().await
    }

    /// Starts a run from this input, under this id or a new one.
    ///
    /// # Errors
    /// If the store fails, or has a run of this id.
    pub async fn start(
        &self,
        id: Option<RunId>,
        input: <W::State as State>::Input,
    ) -> Result<Running<W::State>> {
        let id = id.unwrap_or_else(RunId::random);
        let Some(runtime) = &self.runtime else {
            let (execute, events) = self.execute(&id, Clock::system());
            let graph = self.graph.clone();
            let ended = tokio::spawn(async move { Ok(graph.run(input, execute).await) });
            return Ok(Running { id, events, ended: AbortOnDropHandle::new(ended) });
        };
        let spec = NewSpec::new(W::NAME, W::VERSION, input).id(id.clone()).claim();
        let held = runtime.open(&self.graph, spec).await?.held;
        let held = held.ok_or_else(|| Fault::permanent(format!("there is a run {id} already")))?;
        Ok(self.go_on(runtime, held))
    }

    /// Answers an interrupt of a run, and lets the run go on.
    ///
    /// # Errors
    /// If nobody waits for that answer, the run is in other hands, or the store fails.
    pub async fn resume(
        &self,
        run: &RunId,
        interrupt: &str,
        answer: &impl Serialize,
    ) -> Result<Running<W::State>> {
        let runtime = self.runtime.as_ref();
        let runtime = runtime.ok_or_else(|| Fault::permanent("without a store nothing waits"))?;
        let answer = serde_json::value::to_raw_value(answer)
            .map_err(|e| Fault::permanent(format!("the answer has no JSON form: {e}")))?;
        match runtime.resume(run, interrupt, &answer).await? {
            Resumed::Accepted(_) => {}
            other => {
                let why = format!("run {run} takes no answer to `{interrupt}`: {other:?}");
                return Err(Fault::permanent(why));
            }
        }
        match runtime.claim(run, ClaimHow { early: true, reopen: false }).await? {
            Claimed::Yours(lease, _) => Ok(self.go_on(runtime, lease.into())),
            other => Err(Fault::transient(format!("run {run} cannot be claimed: {other:?}"))),
        }
    }

    fn execute(
        &self,
        id: &RunId,
        clock: Clock,
    ) -> (Execute<W::State, W::Deps>, broadcast::Receiver<EventEnvelope>) {
        let (to, from) = broadcast::channel(EVENTS_KEPT);
        let execute = Execute {
            events: Events::new(id.clone(), clock, to),
            timeout: Some(W::TIMEOUT),
            ..Execute::new(self.graph.clone(), self.deps.clone())
        };
        (execute, from)
    }

    fn go_on(&self, runtime: &Runtime, held: LeasedRun) -> Running<W::State> {
        let id = held.lease.run.clone();
        let (execute, events) = self.execute(&id, runtime.clock.clone());
        let runtime = runtime.clone();
        let ended = tokio::spawn(async move {
            let mut ended = runtime.execute(execute, held).await?;
            if let Stop::Failed(failure) = ended.stop.clone() {
                let settled = match failure.fault.is_transient() {
                    true => ended.retry_later(&failure, runtime.clock.now()).await,
                    false => ended.fail(&failure, None).await,
                };
                settled.map_err(|stop| Fault::transient(format!("not recorded: {stop:?}")))?;
            }
            Ok(ended)
        });
        Running { id, events, ended: AbortOnDropHandle::new(ended) }
    }
}
