//! A run asks a person and waits. The process that asked may be gone when the answer comes:
//! another one takes it and goes on from the last record.
//!
//! `cargo run --example interrupt_resume`

use serde::{Deserialize, Serialize};
use verdict::{checkpoint::SqliteStore, graph::prelude::*};

#[derive(Clone, Serialize)]
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

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let mut graph = GraphBuilder::new();
    graph.node("build", |_| async { Ok(Done("built".to_owned())) });
    graph.node("approve", |ctx: Context<Release, ()>| async move {
        let by: String = ctx.interrupt("by", &"May this be released?")?;
        Ok(Done(format!("approved by {by}")))
    });
    graph.entry("build").edge("build", "approve").edge("approve", END);
    let graph = graph.compile()?;
    let folder = tempfile::tempdir().map_err(|e| Fault::permanent(e.to_string()))?;
    let file = folder.path().join("runs.db");
    let spec = NewSpec::new("release", 1, "v1.0".to_owned()).key("v1.0");
    let asked = Runtime::on(SqliteStore::open(&file).await?).run(spec, graph.with(())).await?;
    println!("monday: {} {}", asked.stop, asked.machine.interrupts()[0].request);
    let friday = Runtime::on(SqliteStore::open(&file).await?);
    let ran = friday.answer(&asked.run, "by", &"ann", graph.with(())).await?;
    assert_eq!(ran.completed()?.0, ["v1.0", "built", "approved by ann"]);
    println!("friday: {}", ran.stop);
    Ok(())
}
