//! What becomes of a failure: tried again, passed over with a substitute, or led to a handler.
//!
//! `cargo run --example error_path`

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use verdict::{
    base::Fault,
    graph::{Context, END, Execute, GraphBuilder, GraphError, NodeError, RetryPolicy, State},
};

#[derive(Debug, Clone, Serialize)]
struct Report(Vec<String>);

#[derive(Serialize, Deserialize)]
struct Line(String);

impl State for Report {
    type Input = ();
    type Update = Line;

    fn new((): ()) -> Self {
        Self(Vec::new())
    }

    fn merge(&mut self, Line(line): Line) {
        self.0.push(line);
    }
}

type Ctx = Context<Report, ()>;

async fn broken(ctx: Ctx) -> Result<Line, NodeError> {
    Err(Fault::permanent(format!("`{}` cannot do this", ctx.node())).into())
}

#[tokio::main]
async fn main() -> Result<(), GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node("start", |_: Ctx| async { Ok(Line("start".to_owned())) });

    // Transient: tried again, up to three times, after twice the wait each time.
    let quick = RetryPolicy { first: Duration::from_millis(5), ..RetryPolicy::default() };
    let flaky = graph.node("flaky", |ctx: Ctx| async move {
        if ctx.attempt() < 3 {
            return Err(Fault::transient("not yet").into());
        }
        Ok(Line(format!("flaky made it at try {}", ctx.attempt())))
    });
    flaky.retry(quick);

    // Permanent, and passed over: the run goes on with this instead, and remembers.
    let optional = graph.node("optional", broken);
    optional.on_error_continue(|fault| Line(format!("instead of optional: {fault}")));

    // Permanent, and handled: the run goes on at the handler, and there alone.
    graph.node("vital", broken).on_error_goto("handler");
    graph.node("never", |_: Ctx| async { Ok(Line("never".to_owned())) });
    graph.node("handler", |ctx: Ctx| async move {
        let failures = ctx.failures().iter().map(|failure| failure.fault.to_string());
        Ok(Line(format!("handler saw: {}", failures.collect::<Vec<_>>().join("; "))))
    });

    graph.entry("start").edge("start", "flaky").edge("start", "optional");
    graph.edge("flaky", "vital").edge("optional", "vital").edge("vital", "never");
    graph.edge("never", END).edge("handler", END);
    let graph = graph.compile()?;

    let ran = graph.run((), Execute::new(graph.clone(), Arc::new(()))).await;
    if let Some(state) = ran.machine.state() {
        println!("{}", state.0.join("\n"));
    }
    println!("{:?}", ran.stop);
    Ok(())
}
