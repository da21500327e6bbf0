//! A run asks a person and waits. The process that asked may be gone when the answer comes:
//! another one takes it and goes on from the last record.
//!
//! `cargo run --example interrupt_resume`

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use verdict::{
    base::{Clock, Fault},
    checkpoint::SqliteStore,
    db::{Sqlite, SqliteOptions},
    graph::{
        ClaimHow, Context, END, Execute, Graph, GraphBuilder, GraphError, NewSpec, Runtime, State,
        Stop, store::Claimed,
    },
};

#[derive(Debug, Clone, Serialize)]
struct Release(Vec<String>);

#[derive(Serialize, Deserialize)]
struct Done(String);

impl State for Release {
    type Input = String;
    type Update = Done;

    fn new(version: String) -> Self {
        Self(vec![version])
    }

    fn merge(&mut self, Done(what): Done) {
        self.0.push(what);
    }
}

fn graph() -> Result<Graph<Release, ()>, GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node("build", |_| async { Ok(Done("built".to_owned())) });
    graph.node("approve", |ctx: Context<Release, ()>| async move {
        let by: String = ctx.interrupt("by", &"May this be released?")?;
        Ok(Done(format!("approved by {by}")))
    });
    graph.entry("build").edge("build", "approve").edge("approve", END);
    graph.compile()
}

/// What one process does with the run: opens the file, claims, executes, is gone.
async fn process(name: &str, file: &Path, answer: Option<&str>) -> Result<Stop, Fault> {
    let db = Sqlite::open(file, SqliteOptions::default()).await;
    let store = SqliteStore::new(db.map_err(|e| Fault::permanent(e.to_string()))?);
    let runtime = Runtime::new(Arc::new(store), Clock::system(), name);
    let graph = graph().map_err(|e| Fault::permanent(e.to_string()))?;
    let spec = NewSpec::new("release", 1, "v1.0".to_owned()).key("v1.0");
    let id = runtime.open(&graph, spec).await?.head.id;
    if let Some(answer) = answer {
        let value = to_raw_value(answer).map_err(|e| Fault::permanent(e.to_string()))?;
        runtime.resume(&id, "2.0.by", &value).await?;
    }
    let Claimed::Yours(lease, _) = runtime.claim(&id, ClaimHow::default()).await? else {
        return Err(Fault::transient("somebody else has it"));
    };
    let ran = runtime.execute(Execute::new(graph, Arc::new(())), lease).await?;
    let asks = ran.machine.interrupts().iter().map(|open| format!("{} {}", open.id, open.request));
    println!("{name}: {:?} {}", ran.machine.state().map(|s| &s.0), asks.collect::<String>());
    Ok(ran.stop)
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let folder = std::env::temp_dir().join(format!("verdict-example-{}", std::process::id()));
    let file = folder.join("runs.db");
    println!("{:?}", process("monday", &file, None).await?);
    println!("{:?}", process("friday", &file, Some("ann")).await?);
    std::fs::remove_dir_all(folder).map_err(|e| Fault::permanent(e.to_string()))
}
