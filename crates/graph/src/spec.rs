//! What can be asked of a [`Runtime`](super::Runtime): what to start, how to claim, how to execute.

use std::{sync::Arc, time::Duration};

use super::{
    control::Control,
    event::Events,
    faults::Faults,
    graph::Graph,
    record::Envelope,
    state::State,
    store::{Head, Lease, RunId, StoredRecord},
};
use crate::base::Timestamp;

/// What to start. See [`Runtime::open`](super::Runtime::open).
pub struct NewSpec<I> {
    pub(super) workflow: Arc<str>,
    pub(super) version: u32,
    pub(super) id: Option<RunId>,
    pub(super) key: String,
    pub(super) subject: Option<String>,
    pub(super) order: i64,
    pub(super) input: I,
    pub(super) envelope: Option<Envelope>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) claim: bool,
}

impl<I> NewSpec<I> {
    /// A run of this workflow and version, with this input. Without a key it gets a random one.
    pub fn new(workflow: &str, version: u32, input: I) -> Self {
        Self {
            workflow: workflow.into(),
            version,
            id: None,
            key: String::new(),
            subject: None,
            order: 0,
            input,
            envelope: None,
            not_before: None,
            claim: false,
        }
    }

    /// Its key: a second opening with it finds the first one's run.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.id = Some(RunId::of(&self.workflow, &self.key));
        self
    }

    /// An id of the caller's choosing.
    #[must_use]
    pub fn id(mut self, id: RunId) -> Self {
        self.id = Some(id);
        self
    }

    /// What it is about, and its place among the runs about it.
    #[must_use]
    pub fn subject(mut self, subject: Option<String>, order: i64) -> Self {
        self.subject = subject;
        self.order = order;
        self
    }

    /// The message it comes from.
    #[must_use]
    pub fn envelope(mut self, envelope: Option<Envelope>) -> Self {
        self.envelope = envelope;
        self
    }

    /// When a sweep should look after it if nobody else has.
    #[must_use]
    pub fn not_before(mut self, at: Timestamp) -> Self {
        self.not_before = Some(at);
        self
    }

    /// Claims it in the same step if it is new.
    #[must_use]
    pub fn claim(mut self) -> Self {
        self.claim = true;
        self
    }
}

/// Which runs a claim takes. The default takes runs that are unfinished and due.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaimHow {
    /// Also those whose time has not come.
    pub early: bool,
    /// Also those that have ended.
    pub reopen: bool,
}

/// A run this process has claimed.
#[derive(Debug, Clone)]
pub struct LeasedRun {
    /// The right to write to it.
    pub lease: Lease,
    /// What it holds, when that is known without asking the store.
    pub(super) loaded: Option<(Head, Vec<StoredRecord>)>,
}

impl From<Lease> for LeasedRun {
    fn from(lease: Lease) -> Self {
        Self { lease, loaded: None }
    }
}

/// What [`Runtime::open`](super::Runtime::open) found or made.
#[derive(Debug, Clone)]
pub struct OpenedRun {
    /// The run's head, after all that was done.
    pub head: Head,
    /// Whether it was made just now.
    pub created: bool,
    /// The run in hand, if it is new and was to be claimed, and not born superseded.
    pub held: Option<LeasedRun>,
    /// Runs this opening superseded.
    pub superseded: Vec<RunId>,
}

/// Where to go on from. See [`Execute::reopen`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReopenFrom {
    /// The first step with a failed task, passed over or not; without one, where the run stands.
    Failed,
    /// The step in which this node ran last; all of its tasks run again.
    Node(String),
}

/// One execution. See [`Runtime::execute`](super::Runtime::execute).
pub struct Execute<S: State, D> {
    /// The graph.
    pub graph: Graph<S, D>,
    /// What its nodes need.
    pub deps: Arc<D>,
    /// Versions of the workflow whose runs may be continued; empty for any.
    pub versions: Vec<u32>,
    /// Where events go.
    pub events: Events,
    /// How to stop it.
    pub control: Control,
    /// Active time the run may take in all.
    pub timeout: Option<Duration>,
    /// Faults to inject.
    pub faults: Faults,
    /// Reopen it first: why, and from where. A run due for another visit to failed tasks, and one
    /// whose last execution failed, are reopened without being asked.
    pub reopen: Option<(String, ReopenFrom)>,
}

impl<S: State, D> Execute<S, D> {
    /// Of this graph, with these dependencies and no further wishes.
    pub fn new(graph: Graph<S, D>, deps: impl Into<Arc<D>>) -> Self {
        Self {
            graph,
            deps: deps.into(),
            versions: Vec::new(),
            events: Events::default(),
            control: Control::default(),
            timeout: None,
            faults: Faults::default(),
            reopen: None,
        }
    }
}
