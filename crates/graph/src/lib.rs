//! The workflow engine. Domain-free; its only way out is the store port.
//!
//! - A [`Graph`] is built from nodes, edges, branches and fan-outs ([`GraphBuilder`]), checked once,
//!   and shared by every run.
//! - A run is an append-only log of [`Record`]s. Its [`State`] is the fold of that log; nothing is
//!   stored twice.
//! - [`RunMachine`] is the pure half: records in, what to do next out. [`Runtime::execute`] drives it.
//! - A [`Store`] keeps logs, and lets one process at a time write to each.
//!
//! It promises: a task's result is durable before anything depends on it; a run goes on from its
//! last record on any process; the same answers give the same state whatever order they came in.
//! It never round-trips a state through JSON between nodes, and never runs a finished task again.
//!
//! Words: a *run* takes *steps*; a step has *tasks*, each one call of a *node*; a node answers with
//! an *update* or a [`Command`]; an *interrupt* waits for an answer; an *execution* is one process's
//! turn at a run.
//!
//! ```
//! use verdict_graph::prelude::*;
//!
//! #[derive(Clone, serde::Serialize)]
//! struct Greeting(String);
//!
//! impl State for Greeting {
//!     type Input = String;
//!     type Update = String;
//!     fn new(input: String) -> Self {
//!         Self(input)
//!     }
//!     fn merge(&mut self, update: String) {
//!         self.0 = update;
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Fault> {
//! let mut graph = GraphBuilder::new();
//! graph.node("greet", |context: Context<Greeting, ()>| async move {
//!     Ok(format!("Hello, {}!", context.state().0))
//! });
//! graph.entry("greet").edge("greet", END);
//! let graph = graph.compile()?;
//!
//! let runtime = Runtime::in_memory();
//! let ran = runtime.run(NewSpec::new("greeting", 1, "world".to_owned()), graph.with(())).await?;
//! assert_eq!(ran.completed()?.0, "Hello, world!");
//! # Ok(())
//! # }
//! ```

/// The snippets of the README and of `docs/`, compiled and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../docs/langgraph.md")]
    struct LangGraph;
}

pub mod base;
mod builder;
mod check;
mod codec;
mod command;
mod context;
mod control;
mod draw;
mod ended;
mod event;
mod executor;
mod external;
mod faults;
mod graph;
mod head;
mod inspect;
mod journal;
mod letter;
mod machine;
pub mod memory;
mod meter;
mod node;
mod outline;
mod pack;
mod path;
mod plan;
pub mod prelude;
mod pulse;
mod record;
mod retry;
mod rewind;
pub mod rules;
mod run_id;
mod runtime;
mod spec;
mod start;
mod state;
pub mod store;
mod summary;
mod task;
pub mod testing;
mod waiting;
mod words;

pub use builder::GraphBuilder;
pub use check::GraphError;
pub use codec::{CodecError, HistoryEntry};
pub use command::{Command, Dispatch, END, NodeError, START, Target};
pub use context::{Context, RunInfo};
pub use control::{Control, Stop};
pub use draw::{Drawing, PathMark};
pub use ended::EndedExecution;
pub use event::{EventEnvelope, Events, RunEvent};
pub use external::{Awaited, AwaitedEvent, EventStore, ExternalEvent};
pub use graph::Graph;
pub use machine::{Ended, ForkedFrom, Illegal, OpenInterrupt, RunMachine, TaskSummary, Todo};
pub use memory::Memory;
pub use meter::describe_metrics;
pub use node::{Node, NodeResult};
pub use outline::{Outline, TaskStart};
pub use path::{Path, Place, StepRef};
pub use record::{Body, Envelope, Failure, Meta, Outcome, Record, Redo, Start};
pub use retry::{RetryPolicy, Waits};
pub use runtime::Runtime;
pub use spec::{ClaimHow, Execute, LeasedRun, NewSpec, OpenedRun, ReopenFrom};
pub use state::{Invalid, State, redact};
pub use store::{Head, RunId, RunStatus, Store, StoreError};
pub use summary::Timings;
