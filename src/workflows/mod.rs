//! The workflows: what one is, what the worker sees of it, and the list of them all.
//!
//! A workflow bundles its types behind [`Workflow`]: state, dependencies, graph, and [`admit`],
//! which turns an event into a run. The worker knows none of those types; it sees
//! [`AnyWorkflow`], which [`Bound`] makes of any workflow and its dependencies.
//!
//! To add one: a folder here with its `Workflow`, and a line where the composition root fills the
//! [`Registry`]. What several of them do alike stands beside the folders: `ask` (a model or a person
//! is asked), `message` (conversations), [`InProcess`] (a run for a program that embeds a workflow).
//!
//! [`admit`]: Workflow::admit

mod ask;
pub mod delivery;
mod erased;
mod in_process;
mod message;
pub mod orchestrator;
pub mod review;
pub mod search;
pub mod writing;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, de::Unexpected};
use serde_json::value::RawValue;

pub use self::{
    erased::{AnyEndedExecution, AnyWorkflow, Asked, Bound, Inspected, Options},
    in_process::{InProcess, Running},
    message::Message,
};
use crate::{
    base::{Fault, Result, invalid_input},
    graph::{Graph, GraphError, RunInfo, RunStatus, State},
};

/// What came off the queue, or from the command line.
#[derive(Debug, Clone)]
pub enum Event {
    /// Somebody asks for a run.
    Job {
        /// The workflow's input, as it was written.
        input: Arc<RawValue>,
        /// The name the asker gave it, or one made from the message; never empty.
        key: String,
        /// Whether who asks runs it in this process; a job over a queue or HTTP is not attended.
        attended: bool,
    },
    /// Something happened on the forge.
    Webhook {
        /// The event's name: `pull_request`, `issue_comment`, …
        event: String,
        /// The delivery's id, if the pipe kept it.
        delivery: Option<String>,
        /// One JSON object.
        body: bytes::Bytes,
    },
}

/// What an event comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission<I> {
    /// A run, new or known.
    Start(Start<I>),
    /// The subject needs no run any more.
    Cancel {
        /// The subject.
        subject: String,
    },
    /// Nothing.
    Ignore {
        /// Why, for the log.
        reason: String,
    },
}

/// The run an event asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Start<I> {
    /// One key, one run.
    pub key: String,
    /// What it is about: a newer run about the same supersedes it. In `GROUP#NAME` the group is what
    /// `worker.per_repository` counts.
    pub subject: Option<String>,
    /// Its place among the runs about its subject.
    pub order: i64,
    /// Whether more events of this kind may follow soon, each of which supersedes it: it then starts
    /// after the quiet time (`worker.quiet`).
    pub settles: bool,
    /// What it starts from.
    pub input: I,
}

/// A durable workflow.
#[async_trait]
pub trait Workflow: Send + Sync + 'static {
    /// Its name, in messages, listings and urls.
    const NAME: &'static str;
    /// The version of its graph, state and updates. A change of what records mean is a new one.
    const VERSION: u32;
    /// Older versions whose runs it continues.
    const CONTINUES: &'static [u32] = &[];
    /// Active time a run may take unless the settings say otherwise.
    const TIMEOUT: Duration = Duration::from_secs(30 * 60);
    /// Names of the forge events it wants to see.
    const EVENTS: &'static [&'static str] = &[];

    /// Its state.
    type State: State;
    /// What its nodes and its admission need from outside.
    type Deps: Send + Sync + 'static;

    /// Its graph.
    ///
    /// # Errors
    /// If it is not well built, which its tests show.
    fn graph() -> Result<Graph<Self::State, Self::Deps>, GraphError>;

    /// The state as people read it, if there is a better form than JSON. Not asked of a state with
    /// [`State::SENSITIVE`] fields: JSON is shown with those redacted.
    fn render(state: &Self::State) -> Option<String> {
        let _ = state;
        None
    }

    /// The node from which a completed run goes on when its head is current again: a newer head had
    /// overtaken it before it did what it was for, or `another` run about the subject is completed,
    /// whose result may stand where its own should.
    fn overtaken(state: &Self::State, another: bool) -> Option<&'static str> {
        let _ = (state, another);
        None
    }

    /// What the event comes to. May be asked again about the same event, at any time. As it stands
    /// here, a job's input is what the run starts from, and its key the run's.
    ///
    /// # Errors
    /// Transient if asking again may help.
    async fn admit(
        deps: &Self::Deps,
        event: &Event,
    ) -> Result<Admission<<Self::State as State>::Input>> {
        let _ = deps;
        match event {
            Event::Job { input, key, .. } => {
                let input = read_input(Self::NAME, input)?;
                Ok(Admission::Start(Start {
                    key: key.clone(),
                    subject: None,
                    order: 0,
                    settles: false,
                    input,
                }))
            }
            Event::Webhook { event, .. } => {
                let reason =
                    format!("workflow `{}` starts from jobs, not from `{event}`", Self::NAME);
                Ok(Admission::Ignore { reason })
            }
        }
    }

    /// Shows, to whoever watches from outside, where a run stands that its own nodes cannot tell of:
    /// it waits, or it ended before its last node, for this reason. Idempotent.
    ///
    /// # Errors
    /// Transient if showing it again may help.
    async fn show(
        _deps: &Self::Deps,
        _run: &RunInfo,
        _state: &Self::State,
        _stands: (RunStatus, &str),
    ) -> Result<()> {
        Ok(())
    }
}

/// The longest explanation taken over from the JSON parser, in characters.
const LONGEST: usize = 200;

/// Reads a job's input; one that does not fit is the sender's mistake.
///
/// # Errors
/// Permanent, with what was expected.
pub fn read_input<I: serde::de::DeserializeOwned>(workflow: &str, input: &RawValue) -> Result<I> {
    serde_json::from_str(input.get()).map_err(|error| {
        // What is expected may be long; logs and letters are for people.
        let why: String = invalid_input(&error).chars().take(LONGEST).collect();
        Fault::permanent(format!("the input does not fit workflow `{workflow}`: {why}"))
    })
}

/// A text of an input, which may not be blank.
fn non_blank<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() {
        let blank = Unexpected::Other("a blank text");
        return Err(serde::de::Error::invalid_value(blank, &"some words"));
    }
    Ok(text)
}

/// The workflows of this process, by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    workflows: BTreeMap<&'static str, Arc<dyn AnyWorkflow>>,
}

impl Registry {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    #[must_use]
    pub fn with(mut self, workflow: impl AnyWorkflow) -> Self {
        self.workflows.insert(workflow.name(), Arc::new(workflow));
        self
    }

    /// The workflow of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyWorkflow>> {
        self.workflows.get(name)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.workflows.keys().copied()
    }

    /// A message's body as people may read it: without the values of fields that its workflow marks
    /// as sensitive. What is no JSON, or of no workflow here, is shown as it is.
    pub fn readable(&self, workflow: Option<&str>, body: &[u8]) -> String {
        let as_it_is = || String::from_utf8_lossy(body).into_owned();
        let workflow = workflow.and_then(|name| self.get(name));
        let Some(workflow) = workflow else { return as_it_is() };
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
            return as_it_is();
        };
        let shown = workflow.redact(value.clone());
        if shown == value { as_it_is() } else { shown.to_string() }
    }

    /// The workflows that want to see this event of the forge.
    pub fn interested(&self, event: &Event) -> impl Iterator<Item = &Arc<dyn AnyWorkflow>> {
        let wants = move |workflow: &&Arc<dyn AnyWorkflow>| match event {
            Event::Webhook { event, .. } => workflow.events().contains(&&**event),
            Event::Job { .. } => false,
        };
        self.workflows.values().filter(wants)
    }
}
