//! What nearly every user of the engine names: `use verdict_graph::prelude::*;`.

pub use super::{
    Awaited, Command, Context, Dispatch, END, EndedExecution, Execute, Graph, GraphBuilder,
    GraphError, Invalid, Memory, NewSpec, NodeError, RetryPolicy, RunId, Runtime, START, State,
    Stop, Target, base::Fault,
};
