//! Bytes stored per run against the run's length, and against LangGraph's in the same minute where
//! Python has it (`LANGGRAPH_PYTHON`, else `python3`). Prints; never judges.
//!
//! `cargo bench -p verdict-graph --bench bytes`

#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs, reason = "a benchmark")]

use std::{process::Command, time::Instant};

use serde::{Deserialize, Serialize};
use verdict_graph::{Runtime, prelude::*};

/// What each step adds, in bytes.
const WORD: usize = 100;

#[derive(Clone, Serialize, Deserialize)]
struct Words {
    steps: usize,
    words: Vec<String>,
}

impl State for Words {
    type Input = usize;
    type Update = String;

    fn new(steps: usize) -> Self {
        Self { steps, words: Vec::new() }
    }

    fn merge(&mut self, word: String) {
        self.words.push(word);
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    println!("each step appends {WORD} bytes to the state; two records a step, uncompressed\n");
    println!("{:>10} {:>14} {:>14} {:>9}", "records", "bytes", "bytes/record", "ms");
    for records in [10, 100, 1_000, 100_000] {
        let (stored, bytes, took) = runtime.block_on(stored(records / 2 - 1));
        let each = bytes as f64 / stored as f64;
        println!("{stored:>10} {bytes:>14} {each:>14.1} {took:>9.1}");
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/langgraph_bytes.py");
    let python = std::env::var("LANGGRAPH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).arg(script).output();
    match output {
        Ok(output) if output.status.success() => {
            print!("\n{}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let why = said.lines().last().unwrap_or_default();
            println!("\nLangGraph was not measured, `{python}` says: {why}");
        }
        Err(error) => println!("\nLangGraph was not measured: `{python}`: {error}"),
    }
}

/// The records of a run of so many steps, their bytes, and the milliseconds it took.
async fn stored(steps: usize) -> (usize, usize, f64) {
    let mut graph = GraphBuilder::<Words, ()>::new();
    graph.node("add", |_| async { Ok("x".repeat(WORD)) });
    graph.branch(
        "add",
        ["add", END],
        |state| {
            if state.words.len() < state.steps { "add" } else { END }
        },
    );
    graph.entry("add").recursion_limit(u32::MAX);
    let graph = graph.compile().unwrap();
    let runtime = Runtime::in_memory();
    let began = Instant::now();
    let ran = runtime.run(NewSpec::new("words", 1, steps), graph.with(())).await.unwrap();
    let took = began.elapsed().as_secs_f64() * 1e3;
    assert_eq!(ran.completed().unwrap().words.len(), steps);
    let (_, records) = runtime.store.load(&ran.run, 0).await.unwrap().unwrap();
    let size = |part: Option<&bytes::Bytes>| part.map_or(0, |part| part.len());
    let bytes = records.iter().map(|one| one.meta.len() + size(one.payload.as_ref())).sum();
    (records.len(), bytes, took)
}
