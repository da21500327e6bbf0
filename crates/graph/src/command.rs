//! What a node answers with.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::base::{Fault, Result, Timestamp};

/// The name of the end of the graph, as a target of edges and branches.
pub const END: &str = "END";

/// One task of a step: a node, and the input it was sent if it was sent one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Send {
    /// The node to run.
    pub node: Arc<str>,
    /// What it finds as its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Arc<RawValue>>,
}

impl Send {
    /// Runs `node` with the state alone. Several such sends to one node in one step are one task.
    pub fn to(node: impl Into<Arc<str>>) -> Self {
        Self { node: node.into(), input: None }
    }

    /// Runs `node` with an input of its own; every such send is a task.
    ///
    /// # Errors
    /// Permanent if the input cannot be written as JSON.
    pub fn with(node: impl Into<Arc<str>>, input: &impl Serialize) -> Result<Self> {
        let raw = serde_json::value::to_raw_value(input)
            .map_err(|e| Fault::permanent(format!("a send's input is no JSON: {e}")))?;
        Ok(Self { node: node.into(), input: Some(raw.into()) })
    }
}

impl PartialEq for Send {
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
    /// nodes declared with [`GraphBuilder::sends`](super::GraphBuilder::sends) may be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goto: Option<Vec<Send>>,
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
    pub fn goto(sends: impl IntoIterator<Item = Send>) -> Self {
        Self { update: None, goto: Some(sends.into_iter().collect()) }
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
    /// It waits for a time. Made by [`Context::park`](super::Context::park).
    Park {
        /// When to run it again.
        until: Timestamp,
        /// Why, for people.
        reason: String,
    },
}

impl<E: Into<Fault>> From<E> for NodeError {
    fn from(fault: E) -> Self {
        Self::Fault(fault.into())
    }
}
