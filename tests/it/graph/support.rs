//! A small state to build graphs on, and shorthands.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use verdict::graph::{
    Command, Context, EndedExecution, Execute, Graph, GraphBuilder, Invalid, NodeError, State,
};

/// Words in the order they were merged, and a number that must stay small.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Words {
    pub words: Vec<String>,
    pub level: i64,
    pub secret: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Add {
    Word(String),
    Level(i64),
    Secret(String),
}

impl State for Words {
    type Input = Vec<String>;
    type Update = Add;
    const SENSITIVE: &'static [&'static str] = &["secret", "Secret"];
    const CHECKED: bool = true;

    fn new(input: Vec<String>) -> Self {
        Self { words: input, ..Self::default() }
    }

    fn validate(&self, update: &Add) -> Result<(), Invalid> {
        match update {
            Add::Word(word) if word.is_empty() => Err(Invalid::new("words", "a non-empty string")),
            _ => Ok(()),
        }
    }

    fn merge(&mut self, update: Add) {
        match update {
            Add::Word(word) => self.words.push(word),
            Add::Level(by) => self.level += by,
            Add::Secret(secret) => self.secret = secret,
        }
    }

    fn revisit(&self, times: u32) -> Option<Duration> {
        let wanted = self.words.first().is_some_and(|word| word == "revisit");
        (wanted && times < 1).then_some(Duration::from_secs(60))
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.level <= 100 { Ok(()) } else { Err(Invalid::new("level", "at most 100")) }
    }
}

pub type Builder = GraphBuilder<Words, ()>;
pub type TestGraph = Graph<Words, ()>;

/// A node's function that adds its own name.
pub async fn say(context: Context<Words, ()>) -> Result<Add, NodeError> {
    Ok(Add::Word(context.node().to_string()))
}

/// The same, after giving way to the others a few times.
pub async fn say_later(context: Context<Words, ()>) -> Result<Add, NodeError> {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    Ok(Add::Word(context.node().to_string()))
}

pub async fn nothing(_: Context<Words, ()>) -> Result<Command<Add>, NodeError> {
    Ok(Command::nothing())
}

/// ingest → a, b, c side by side → judge → END.
pub fn diamond() -> TestGraph {
    let mut graph = Builder::new();
    graph.node("ingest", say);
    graph.node("a", say_later);
    graph.node("b", say);
    graph.node("c", say_later);
    graph.node("judge", say);
    graph.entry("ingest");
    for agent in ["a", "b", "c"] {
        graph.edge("ingest", agent).edge(agent, "judge");
    }
    graph.edge("judge", verdict::graph::END);
    graph.compile().unwrap()
}

pub fn execute(graph: &TestGraph) -> Execute<Words, ()> {
    Execute::new(graph.clone(), Arc::new(()))
}

/// Runs without a store.
pub async fn run(graph: &TestGraph) -> EndedExecution<Words> {
    graph.run(Vec::new(), execute(graph)).await
}

pub fn words(ran: &EndedExecution<Words>) -> Vec<&str> {
    ran.machine.state().unwrap().words.iter().map(String::as_str).collect()
}
