//! Watching a run: every step, try and report as it happens, in order. Any number may watch, and
//! none of them slows the run.
//!
//! `cargo run --example streaming`

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use verdict::{
    base::{Clock, Fault},
    graph::{
        Context, END, Events, Execute, GraphBuilder, GraphError, RetryPolicy, RunEvent, RunId,
        State,
    },
};

#[derive(Debug, Clone, Serialize)]
struct Found(u32);

#[derive(Serialize, Deserialize)]
struct Add(u32);

impl State for Found {
    type Input = ();
    type Update = Add;

    fn new((): ()) -> Self {
        Self(0)
    }

    fn merge(&mut self, Add(more): Add) {
        self.0 += more;
    }
}

fn show(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::NodeRetried { node, fault, attempt, .. } => {
            format!("{node} failed ({fault}) at try {attempt}, and is tried again")
        }
        RunEvent::Progress { node, name, value, .. } => format!("{node} reports {name}: {value}"),
        RunEvent::NodeFinished { node, attempts, update, .. } => {
            format!("{node} ended at try {attempts} with {}", update.clone().unwrap_or_default())
        }
        RunEvent::StepFinished { step, .. } => format!("step {step} is over"),
        RunEvent::RunFinished { .. } => "the run is over".to_owned(),
        _ => return None,
    })
}

#[tokio::main]
async fn main() -> Result<(), GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node("search", |ctx: Context<Found, ()>| async move {
        ctx.progress("candidates", &65);
        Ok(Add(65))
    });
    let quick = RetryPolicy { first: Duration::from_millis(10), ..RetryPolicy::default() };
    let flaky = graph.node("check", |ctx: Context<Found, ()>| async move {
        if ctx.attempt() == 1 { Err(Fault::transient("busy").into()) } else { Ok(Add(1)) }
    });
    flaky.retry(quick);
    graph.entry("search").edge("search", "check").edge("check", END);
    let graph = graph.compile()?;

    let (to, mut from) = broadcast::channel(64);
    let events = Events::new(RunId::random(), Clock::system(), to);
    let execute = Execute { events, ..Execute::new(graph.clone(), Arc::new(())) };
    let watching = async {
        while let Ok(told) = from.recv().await {
            show(&told.event).into_iter().for_each(|line| println!("{line}"));
        }
    };
    // The events end with the execution that tells them.
    tokio::join!(async { drop(graph.run((), execute).await) }, watching);
    Ok(())
}
