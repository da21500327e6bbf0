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
//! use std::sync::Arc;
//! use verdict_graph::{END, Context, Execute, GraphBuilder, NodeError, State, Stop};
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
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut graph = GraphBuilder::new();
//! graph.node("greet", |context: Context<Greeting, ()>| async move {
//!     Ok::<_, NodeError>(format!("Hello, {}!", context.state().0))
//! });
//! graph.entry("greet").edge("greet", END);
//! let graph = graph.compile()?;
//!
//! let ran = graph.run("world".to_owned(), Execute::new(graph.clone(), Arc::new(()))).await;
//! assert_eq!(ran.stop, Stop::Completed);
//! assert_eq!(ran.machine.state().map(|state| state.0.as_str()), Some("Hello, world!"));
//! # Ok(())
//! # }
//! ```

pub mod base;
pub mod budget;
mod builder;
mod command;
mod context;
mod draw;
mod event;
mod executor;
mod journal;
mod letter;
mod look;
mod machine;
pub mod memory;
mod node;
mod pack;
mod plan;
mod ran;
mod record;
mod retry;
mod rewind;
pub mod rules;
mod runtime;
mod spec;
mod state;
pub mod store;
mod summary;
mod task;
pub mod testing;

pub use builder::{Graph, GraphBuilder, GraphError};
pub use command::{Command, END, NodeError, Send};
pub use context::{Context, RunInfo};
pub use draw::{Drawing, PathMark};
pub use event::{Events, RunEvent, Told};
pub use executor::{Control, Stop};
pub use machine::{Ended, ForkedFrom, Illegal, OpenInterrupt, RunMachine, TaskSummary, Todo};
pub use memory::Memory;
pub use node::{Node, NodeResult};
pub use ran::Ran;
pub use record::{Body, CodecError, Envelope, Failure, Meta, Outcome, Record, Redo, Start};
pub use retry::{RetryPolicy, Waits};
pub use runtime::Runtime;
pub use spec::{Begun, ClaimHow, Execute, Held, NewSpec, ReopenFrom};
pub use state::{Invalid, State, redact};
pub use store::{Head, RunId, RunStatus, Store, StoreError};
pub use summary::Timings;
