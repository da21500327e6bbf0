//! What is asked of a model, and what it answers.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::price::Cost;

/// The JSON that is asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutputSchema {
    /// A word of letters, digits and `_`.
    pub name: String,
    /// The JSON Schema of an object.
    pub schema: Value,
}

/// Who pays: what budgets count by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// The run.
    pub run: String,
    /// The repository, host first.
    pub repository: String,
    /// Whether the change is of somebody who has no part in the repository.
    pub by_outsider: bool,
}

/// An answer that did not fit, and why: asked again with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// What was answered.
    pub answer: String,
    /// What is wrong with it.
    pub why: String,
}

/// How far an answer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The request's purpose.
    pub purpose: String,
    /// The model that answers.
    pub model: String,
    /// Characters so far.
    pub characters: usize,
}

type Sink = Arc<dyn Fn(&Progress) + Send + Sync>;

/// One request. Its texts are ordered by how seldom they change, so that providers can cache the beginning.
#[derive(Clone)]
pub struct Request {
    /// What it is for, dotted: `review.security`. Named in metrics, logs and errors.
    pub purpose: String,
    /// Who pays.
    pub account: Account,
    /// The task: the same for all requests of one purpose.
    pub instructions: String,
    /// What is the same for several requests: the repository's rules.
    pub context: String,
    /// What this request is about.
    pub prompt: String,
    /// The JSON that is asked for; [`complete`](super::complete) sets it.
    pub schema: Arc<OutputSchema>,
    /// The most tokens of the answer, in place of the setting.
    pub max_output_tokens: Option<u32>,
    /// In place of the setting.
    pub temperature: Option<f64>,
    /// An earlier answer that did not fit.
    pub correction: Option<Correction>,
    /// Stops the request.
    pub cancel: CancellationToken,
    progress: Option<Sink>,
}

impl Request {
    /// A request for `purpose`.
    pub fn new(
        purpose: impl Into<String>,
        instructions: impl Into<String>,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            purpose: purpose.into(),
            account: Account::default(),
            instructions: instructions.into(),
            context: String::new(),
            prompt: prompt.into(),
            schema: Arc::default(),
            max_output_tokens: None,
            temperature: None,
            correction: None,
            cancel: CancellationToken::new(),
            progress: None,
        }
    }

    /// The same, with what several requests share.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// The same, for this account.
    #[must_use]
    pub fn paid_by(mut self, account: Account) -> Self {
        self.account = account;
        self
    }

    /// The same, stopped by `cancel`.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same, telling `sink` how far the answer is.
    #[must_use]
    pub fn reporting(mut self, sink: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(sink));
        self
    }

    /// Tells whoever watches how far the answer is.
    pub(super) fn report(&self, model: &str, characters: usize) {
        if let Some(sink) = &self.progress {
            let (purpose, model) = (self.purpose.clone(), model.to_owned());
            sink(&Progress { purpose, model, characters });
        }
    }

    /// All its texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let correction = self.correction.iter().flat_map(|c| [c.answer.as_str(), c.why.as_str()]);
        [&*self.instructions, &*self.context, &*self.prompt].into_iter().chain(correction)
    }
}

impl fmt::Debug for Request {
    /// Without its texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("purpose", &self.purpose).finish_non_exhaustive()
    }
}

/// What calls used, and cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Requests that were answered.
    pub calls: u64,
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Of those read, how many came from the provider's cache.
    pub cached: u64,
    /// By the price table.
    pub cost: Cost,
}

impl Usage {
    /// What is left of it without a part of it.
    #[must_use]
    pub fn less(self, part: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(part.calls),
            input: self.input.saturating_sub(part.input),
            output: self.output.saturating_sub(part.output),
            cached: self.cached.saturating_sub(part.cached),
            cost: Cost(self.cost.0.saturating_sub(part.cost.0)),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
        self.cost += other.cost;
    }
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It says all it had to say.
    Whole,
    /// Cut off by the limit on its length.
    Length,
    /// It went round in a loop and was cut off.
    Repeating,
}

/// What a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text, JSON if all went well.
    pub text: String,
    /// What it used, failed tries included.
    pub usage: Usage,
    /// The model that answered, as `adapter::name`.
    pub model: String,
    /// Why it ended.
    pub finish: Finish,
}
