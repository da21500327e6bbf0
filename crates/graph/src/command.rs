//! What a node answers with.

use std::{marker::PhantomData, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::external::AwaitedEvent;
use crate::base::{Fault, Timestamp};

/// The name of the end of the graph, as a target of edges and branches.
pub const END: &str = "END";

/// The beginning of the graph, for edges, branches and fan-outs that lead on from it.
pub const START: &str = "START";

/// One task of a step: a node, and the input it was sent if it was sent one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Dispatch {
    /// The node to run.
    pub node: Arc<str>,
    /// What it finds as its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<RawValue>>,
    /// Why the input has no JSON form: whoever dispatches this fails.
    #[serde(skip)]
    pub(super) unfit: Option<Arc<str>>,
}

impl Dispatch {
    /// The input as a `T`; `None` without one, or when it is none.
    pub fn read_input<T: DeserializeOwned>(&self) -> Option<T> {
        self.input.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Runs `node` with the state alone. Several such dispatches to one node in one step are one
    /// task.
    pub fn to(node: impl Into<Arc<str>>) -> Self {
        Self { node: node.into(), input: None, unfit: None }
    }

    /// Runs `node` with an input of its own; every such dispatch is a task. If the input cannot be
    /// written as JSON, the node or branch that answers with this dispatch fails and says so. With a
    /// [`Target`] the compiler checks the input's type.
    pub fn with(node: impl Into<Arc<str>>, input: &impl Serialize) -> Self {
        match serde_json::value::to_raw_value(input) {
            Ok(raw) => Self { node: node.into(), input: Some(raw.into()), unfit: None },
            Err(error) => {
                Self { node: node.into(), input: None, unfit: Some(error.to_string().into()) }
            }
        }
    }
}

/// A node whose tasks are sent inputs of type `I`: its name and that type, in one place. See
/// [`GraphBuilder::task`](super::GraphBuilder::task).
///
/// ```
/// # use verdict_graph::{Dispatch, Target};
/// const COUNT: Target<String> = Target::new("count");
/// let sent: Dispatch = COUNT.dispatch(&"fox".to_owned());
/// # assert_eq!(sent, Dispatch::with("count", &"fox"));
/// ```
#[derive(Debug)]
pub struct Target<I> {
    name: &'static str,
    input: PhantomData<fn(I)>,
}

impl<I> Clone for Target<I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Target<I> {}

impl<I> Target<I> {
    /// The node of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, input: PhantomData }
    }

    /// The node's name.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<I: Serialize> Target<I> {
    /// One task of the node, with this input.
    pub fn dispatch(self, input: &I) -> Dispatch {
        Dispatch::with(self.name, input)
    }
}

impl PartialEq for Dispatch {
    fn eq(&self, other: &Self) -> bool {
        let text = |send: &Self| send.input.as_ref().map(|raw| raw.get().to_owned());
        self.node == other.node && text(self) == text(other)
    }
}

/// A node's answer: an update, where to go instead of its edges, or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "U: Serialize", deserialize = "U: DeserializeOwned"))]
pub struct Command<U> {
    /// What to merge at the barrier.
    #[serde(default = "none", skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub update: Option<U>,
    /// The tasks to run next, in place of the node's edges; an empty list ends this branch. Only
    /// nodes declared with [`GraphBuilder::dispatches`](super::GraphBuilder::dispatches) may be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto: Option<Vec<Dispatch>>,
}

fn none<U>() -> Option<U> {
    None
}

/// An update that is there is one, even if its form is `null`.
fn some<'de, U: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<U>, D::Error> {
    U::deserialize(from).map(Some)
}

impl<U> Command<U> {
    /// Changes nothing.
    pub fn nothing() -> Self {
        Self { update: None, goto: None }
    }

    /// Goes to these tasks and changes nothing.
    pub fn goto(dispatches: impl IntoIterator<Item = Dispatch>) -> Self {
        Self { update: None, goto: Some(dispatches.into_iter().collect()) }
    }

    /// The same, with this update.
    #[must_use]
    pub fn with(mut self, update: U) -> Self {
        self.update = Some(update);
        self
    }
}

impl<U> From<U> for Command<U> {
    fn from(update: U) -> Self {
        Self { update: Some(update), goto: None }
    }
}

/// Why a node did not answer.
#[derive(Debug, Clone)]
pub enum NodeError {
    /// It failed.
    Fault(Fault),
    /// It waits for an answer from outside. Made by [`Context::interrupt`](super::Context::interrupt).
    Interrupt {
        /// Its name among the interrupts of this task.
        name: String,
        /// What is asked.
        request: Arc<RawValue>,
    },
    /// It waits for an event from outside. Made by
    /// [`Context::wait_for_event`](super::Context::wait_for_event).
    Event(AwaitedEvent),
    /// It waits for a time. Made by [`Context::park`](super::Context::park).
    Park {
        /// When to run it again.
        until: Timestamp,
        /// Why, for people.
        reason: String,
    },
    /// Its subgraph waits. Made by subgraphs.
    #[doc(hidden)]
    Suspended(Suspension),
}

/// What a subgraph waits for.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Suspension {
    /// The earliest time, and why; otherwise for answers.
    pub(super) wait: Option<(Timestamp, String)>,
    /// The answers it knew of.
    pub(super) answers: usize,
}

impl<E: Into<Fault>> From<E> for NodeError {
    fn from(fault: E) -> Self {
        Self::Fault(fault.into())
    }
}
