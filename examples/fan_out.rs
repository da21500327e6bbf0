//! A fan-out: one task per word, side by side, each with an input of its own. They end in any
//! order; what they answer is merged in the order they were sent.
//!
//! `cargo run --example fan_out`

use std::time::Duration;

use serde::{Deserialize, Serialize};
use verdict::graph::prelude::*;

#[derive(Debug, Clone, Serialize)]
struct Lengths {
    text: String,
    lengths: Vec<(String, usize)>,
    longest: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Update {
    Counted(String, usize),
    Longest(String),
}

impl State for Lengths {
    type Input = String;
    type Update = Update;

    fn new(text: String) -> Self {
        Self { text, lengths: Vec::new(), longest: None }
    }

    fn merge(&mut self, update: Update) {
        match update {
            Update::Counted(word, length) => self.lengths.push((word, length)),
            Update::Longest(word) => self.longest = Some(word),
        }
    }
}

type Ctx = Context<Lengths, ()>;

/// The node that counts, and what it is sent: a word.
const COUNT: Target<String> = Target::new("count");

#[tokio::main]
async fn main() -> Result<(), GraphError> {
    let mut graph = GraphBuilder::new();
    graph.task(COUNT, |_: Ctx, word| async move {
        let length = word.len();
        if length < 6 {
            // Long words are quick here: the order of ending is not that of sending.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Update::Counted(word, length))
    });
    graph.node("compare", |ctx: Ctx| async move {
        let longest = ctx.state().lengths.iter().max_by_key(|(_, length)| *length);
        Ok(Update::Longest(longest.map(|(word, _)| word.clone()).unwrap_or_default()))
    });
    graph.edge("count", "compare").edge("compare", END);
    graph.fan_out(START, ["count"], |state| {
        state.text.split(' ').map(|word| COUNT.dispatch(&word.to_owned())).collect()
    });
    let graph = graph.compile()?;
    let text = "a quick brown foxtrot".to_owned();
    let ran = graph.run(text, graph.with(())).await;
    let ended: Vec<_> =
        ran.machine.history().iter().filter(|task| &*task.node == "count").collect();
    println!(
        "{} tasks of `count`; the last one sent ended first: {}",
        ended.len(),
        ended[0].index == 3
    );
    if let Some(state) = ran.machine.state() {
        println!("merged in order: {:?}", state.lengths);
        println!("longest: {}", state.longest.as_deref().unwrap_or("none"));
    }
    Ok(())
}
