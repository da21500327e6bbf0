//! The smallest graph: two nodes, an edge, a state that merges what they say.
//!
//! `cargo run --example hello_graph`

use serde::{Deserialize, Serialize};
use verdict::graph::prelude::*;

/// What a run knows: words, in the order they were said.
#[derive(Debug, Clone, Serialize)]
struct Greeting {
    name: String,
    words: Vec<String>,
}

/// What a node may add to it.
#[derive(Serialize, Deserialize)]
struct Say(String);

impl State for Greeting {
    type Input = String;
    type Update = Say;

    fn new(name: String) -> Self {
        Self { name, words: Vec::new() }
    }

    fn merge(&mut self, Say(word): Say) {
        self.words.push(word);
    }
}

type Ctx = Context<Greeting, ()>;

#[tokio::main]
async fn main() -> Result<(), GraphError> {
    let mut graph = GraphBuilder::new();
    graph.node("hello", |_: Ctx| async { Ok(Say("hello".to_owned())) });
    graph.node("name", |ctx: Ctx| async move { Ok(Say(ctx.state().name.clone())) });
    graph.entry("hello").edge("hello", "name").edge("name", END);
    // Checked once, then shared by every run.
    let graph = graph.compile()?;

    for name in ["world", "graph"] {
        let ran = graph.run(name.to_owned(), graph.with(())).await;
        assert_eq!(ran.stop, Stop::Completed);
        let order: Vec<_> = ran.machine.history().iter().map(|task| &*task.node).collect();
        let words = ran.machine.state().map(|state| state.words.join(", "));
        println!("{} — by way of {}", words.unwrap_or_default(), order.join(" → "));
    }
    Ok(())
}
