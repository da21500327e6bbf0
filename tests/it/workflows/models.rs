//! Scripted models: what each question of a workflow is answered with.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

pub use fake_models::Reply;
use fake_models::{Call, ModelServer, When};
use verdict::{
    base::Clock,
    checkpoint::Memory,
    model::{Model, ModelOptions, chain::Chain},
};

/// What a model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Asked {
    /// The name of the type that is asked for.
    pub schema: String,
    pub instructions: String,
    pub prompt: String,
}

impl Asked {
    fn of(call: &Call) -> Self {
        let schema = call.body["response_format"]["json_schema"]["name"].as_str();
        let schema = schema.unwrap_or_else(|| panic!("{:#}", call.body)).to_owned();
        let (instructions, prompt) = (call.instructions.clone(), call.prompt.clone());
        Self { schema, instructions, prompt }
    }
}

pub struct Models(ModelServer);

impl Models {
    /// Answers as the script says, which is told how often the same was asked before.
    pub fn retried(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let server = ModelServer::start().unwrap();
        let seen = Mutex::<HashMap<Asked, usize>>::default();
        let answer = move |call: &Call| {
            let asked = Asked::of(call);
            let mut seen = seen.lock().unwrap();
            let times = seen.entry(asked.clone()).or_default();
            let before = std::mem::replace(times, *times + 1);
            script(&asked, before)
        };
        server.script(When::any(), [Reply::by(answer)]);
        Self(server)
    }

    /// Answers as the script says.
    pub fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::retried(move |asked, _| script(asked))
    }

    /// Its entry in `model.chain`.
    pub fn entry(&self) -> String {
        self.0.openai("scripted")
    }

    /// A chain of this server alone, which waits hardly at all between tries.
    pub fn model(&self) -> Option<Arc<dyn Model>> {
        let options = ModelOptions {
            chain: vec![self.entry()],
            retries: vec![Duration::from_millis(1); 3],
            concurrency: 64,
            ..ModelOptions::default()
        };
        let chain = Chain::open(&options, Arc::new(Memory::new(Clock::system())), &|_| None);
        Some(Arc::new(chain.unwrap().unwrap()))
    }

    /// All that was asked, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.0.calls().iter().map(Asked::of).collect()
    }

    /// Waits until so many calls are in hand at once, and lets them go.
    pub async fn release(&self, calls: usize) {
        crate::support::until("all are asked at once", || self.0.most_in_hand() >= calls).await;
        self.0.release();
    }
}
