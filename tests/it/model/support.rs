//! A chain of models on a scripted server.

use std::{sync::Arc, time::Duration};

use fake_models::ModelServer;
use schemars::JsonSchema;
use serde::Deserialize;
use verdict::{
    base::Clock,
    checkpoint::Memory,
    model::{Completed, ModelError, ModelOptions, Request, chain::Chain, complete},
};

/// What the tests ask for.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Greeting {
    pub word: String,
    pub times: u32,
}

/// Options whose waits a test can bear.
pub fn options(chain: &[String]) -> ModelOptions {
    ModelOptions {
        chain: chain.to_vec(),
        retries: [1, 2, 4].map(Duration::from_millis).to_vec(),
        ..ModelOptions::default()
    }
}

pub fn open(options: &ModelOptions) -> Chain {
    let store = Arc::new(Memory::new(Clock::system()));
    Chain::open(options, store, &|_| None).unwrap().unwrap()
}

/// Asks the chain for a greeting.
pub async fn greet(chain: &Chain) -> Result<Completed<Greeting>, ModelError> {
    let prompt = "Greet the world. ".repeat(60);
    complete(chain, Request::new("test.greet", "You greet people.", prompt)).await
}

/// An entry for each format.
pub fn each_format(models: &ModelServer) -> [String; 3] {
    [models.openai("a"), models.anthropic("b"), models.gemini("c")]
}
