//! A request as it was asked.

use std::ops::AddAssign;

use serde_json::Value;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
    /// Content generation.
    Gemini,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did not yet.
    InHand,
    /// Answered to the last byte.
    Answered,
    /// Refused with this status.
    Refused(u16),
    /// The server broke it off, as its script said.
    BrokenOff,
    /// The client did not wait for the end.
    Abandoned,
}

/// Tokens that a provider would ask money for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paid {
    /// Answered calls.
    pub calls: u64,
    /// Tokens read, cached ones included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Of those read, how many had been read before.
    pub cached: u64,
}

impl AddAssign for Paid {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.input += other.input;
        self.output += other.output;
        self.cached += other.cached;
    }
}

/// A request, and what became of it.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its place in the log, from 0.
    pub number: usize,
    /// Its format.
    pub wire: Wire,
    /// The model asked for.
    pub model: String,
    /// Whether the answer is streamed.
    pub streamed: bool,
    /// The key it came with.
    pub key: Option<String>,
    /// What its system messages say.
    pub instructions: String,
    /// What its other messages say, the first one first.
    pub prompt: String,
    /// The JSON Schema the answer should have.
    pub schema: Option<Value>,
    /// The most tokens of an answer.
    pub max_output_tokens: Option<u64>,
    /// How freely words may be chosen.
    pub temperature: Option<f64>,
    /// The whole body.
    pub body: Value,
    /// How it ended.
    pub outcome: Outcome,
    /// What it cost; nothing unless answered.
    pub paid: Paid,
}

impl Call {
    /// Everything that it says, instructions first.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.instructions, self.prompt)
    }

    /// Whether it says this anywhere.
    pub fn says(&self, words: &str) -> bool {
        self.instructions.contains(words) || self.prompt.contains(words)
    }
}

/// About how many tokens a text has.
pub(crate) fn tokens(text: &str) -> u64 {
    text.chars().count().div_ceil(3) as u64
}
