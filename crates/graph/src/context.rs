//! What a node is given.

use std::{any::Any, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    command::{Dispatch, NodeError},
    event::{Events, RunEvent},
    executor::Nest,
    external::{self, Awaited, AwaitedEvent},
    machine::ForkedFrom,
    path::Path,
    pulse::Pulse,
    record::Failure,
    state::{State, redact},
    store::RunId,
};
use crate::base::{Fault, Result, Timestamp, invalid_input};

/// A run, as its nodes know it.
#[derive(Debug, Clone)]
pub struct RunInfo {
    /// The run.
    pub id: RunId,
    /// Its workflow's name.
    pub workflow: Arc<str>,
    /// Where it was copied from; publish nothing unless that says so.
    pub forked: Option<ForkedFrom>,
    /// How often it was reopened.
    pub reopened: u32,
}

/// What all tasks of one step share.
pub(super) struct Step<S: State, D> {
    pub(super) state: Arc<S>,
    pub(super) deps: Arc<D>,
    pub(super) run: Arc<RunInfo>,
    pub(super) step: u32,
    pub(super) tasks: Arc<[Dispatch]>,
    pub(super) failures: Vec<Failure>,
    pub(super) events: Events,
    pub(super) cancel: CancellationToken,
    pub(super) path: Path,
    /// In a subgraph: the state of the graph around it.
    pub(super) around: Option<Arc<dyn Any + Send + Sync>>,
    /// For the subgraphs among the step's tasks.
    pub(super) nest: Option<Nest>,
}

/// Answers to a task's interrupts, by the interrupt's name.
pub(super) type Answers = Vec<(String, Arc<RawValue>)>;

/// What one try of one task is given: the state, its input, the dependencies, and the ways to
/// report progress, to ask somebody, and to learn that it should stop.
pub struct Context<S: State, D> {
    pub(super) shared: Arc<Step<S, D>>,
    pub(super) answers: Option<Arc<Answers>>,
    pub(super) index: u32,
    pub(super) attempt: u32,
    /// Where it tells that it is alive, if anybody listens.
    pub(super) pulse: Option<Arc<Pulse>>,
    /// Its subgraph failed in an execution before, and is to be reopened.
    pub(super) redo: bool,
}

impl<S: State, D> Clone for Context<S, D> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            answers: self.answers.clone(),
            index: self.index,
            attempt: self.attempt,
            pulse: self.pulse.clone(),
            redo: self.redo,
        }
    }
}

impl<S: State, D> Context<S, D> {
    /// The state after the last step, the same for all tasks of this one.
    pub fn state(&self) -> &S {
        &self.shared.state
    }

    /// In a subgraph, the state of the graph around it, as its task sees it, if it is a `T`. What a
    /// subgraph reads there need not be part of its input, which each of its runs records.
    pub fn around<T: State>(&self) -> Option<&T> {
        self.shared.around.as_deref()?.downcast_ref()
    }

    /// What the workflow's nodes need from outside.
    pub fn deps(&self) -> &D {
        &self.shared.deps
    }

    /// The same, to keep.
    pub fn deps_arc(&self) -> Arc<D> {
        self.shared.deps.clone()
    }

    /// The run.
    pub fn run(&self) -> &RunInfo {
        &self.shared.run
    }

    /// The step, from 1.
    pub fn step(&self) -> u32 {
        self.shared.step
    }

    /// The task's place in its step, from 0.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Which try this is in this execution, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The node's name.
    pub fn node(&self) -> &Arc<str> {
        // The index was taken from these tasks.
        &self.shared.tasks[self.index as usize].node
    }

    /// The input this task was sent.
    ///
    /// # Errors
    /// Permanent if it was sent none, or one of another shape.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        let raw = self.shared.tasks[self.index as usize].input.as_ref();
        let raw = raw
            .ok_or_else(|| Fault::permanent(format!("node `{}` was sent no input", self.node())))?;
        serde_json::from_str(raw.get()).map_err(|e| {
            let (node, why) = (self.node(), invalid_input(&e));
            Fault::permanent(format!("node `{node}` was sent an unfit input: {why}"))
        })
    }

    /// The subgraph the node is in; empty in the workflow's own graph.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// A key that stays the same however often this task runs, and differs from every other's. Give
    /// it to whoever can recognise a repeated request.
    pub fn idempotency_key(&self) -> String {
        let inside = if self.path().is_empty() { "" } else { "/" };
        let (run, path) = (&self.run().id, self.path());
        format!("{run}-{path}{inside}{}-{}-{}", self.step(), self.node(), self.index)
    }

    /// Failures so far that did not end the run, the oldest first.
    pub fn failures(&self) -> &[Failure] {
        &self.shared.failures
    }

    /// Cancelled when the run should stop: its lease is lost, it is over time, or somebody said so.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.shared.cancel
    }

    /// Restarts the idle timeout of the node, and of those around its subgraph.
    pub fn alive(&self) {
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
    }

    /// Tells whoever watches the run what the node is at, under a name of its own. It is a sign of
    /// life, too: see [`Context::alive`].
    pub fn progress(&self, name: &str, value: &impl Serialize) {
        self.alive();
        self.shared.events.emit(|| RunEvent::Progress {
            step: self.step(),
            node: self.node().clone(),
            index: self.index,
            name: name.to_owned(),
            value: redact(serde_json::to_value(value).unwrap_or_default(), S::SENSITIVE),
        });
    }

    /// Asks somebody outside, by name, and answers what they said. Until they did, the error ends
    /// this try (pass it on with `?`), and the node runs again from its beginning once they have:
    /// whatever it does before asking should bear being done twice.
    ///
    /// # Errors
    /// The interrupt itself, or permanent if the answer is of another shape.
    pub fn interrupt<T: DeserializeOwned>(
        &self,
        name: &str,
        request: &impl Serialize,
    ) -> Result<T, NodeError> {
        if let Some(value) = self.answer(name) {
            return serde_json::from_str(value.get()).map_err(|e| {
                let (node, why) = (self.node(), invalid_input(&e));
                Fault::permanent(format!("node `{node}`: the answer to `{name}` is unfit: {why}"))
                    .into()
            });
        }
        let request = serde_json::value::to_raw_value(request)
            .map_err(|e| Fault::permanent(format!("the request `{name}` is no JSON: {e}")))?;
        Err(NodeError::Interrupt { name: name.to_owned(), request: request.into() })
    }

    /// Waits for an event from outside, by its key, at most until then, and answers its payload or
    /// that none came. The event may have come before, as long as it is kept; one that the run
    /// received in an earlier step is not received again. Until then the error ends this try (pass it
    /// on with `?`), as with [`Context::interrupt`]. A task waits for a key once: asked again, it gets
    /// the same answer.
    ///
    /// # Errors
    /// The wait itself, or permanent if the key is none or the payload is of another shape.
    pub fn wait_for_event<T: DeserializeOwned>(
        &self,
        key: &str,
        until: Timestamp,
    ) -> Result<Awaited<T>, NodeError> {
        let Some(answer) = self.answer(&AwaitedEvent::name(key)) else {
            external::check("key", key)?;
            return Err(NodeError::Event(AwaitedEvent { key: key.into(), until }));
        };
        external::read(answer).map_err(|why| {
            let node = self.node();
            Fault::permanent(format!("node `{node}`: the event `{key}` is unfit: {why}")).into()
        })
    }

    fn answer(&self, name: &str) -> Option<&RawValue> {
        let answers = self.answers.iter().flat_map(|answers| answers.iter());
        answers.into_iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The error that makes this task wait for a time and then run again.
    pub fn park(&self, until: Timestamp, reason: impl Into<String>) -> NodeError {
        NodeError::Park { until, reason: reason.into() }
    }
}
