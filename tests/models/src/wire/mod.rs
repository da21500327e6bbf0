//! The formats: requests read, answers written.

mod anthropic;
mod gemini;
mod openai;

use serde_json::Value;

use crate::{Wire, call::Paid, reply::End};

/// What a request says, whatever its format.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) model: String,
    pub(crate) streamed: bool,
    pub(crate) instructions: String,
    pub(crate) prompt: String,
    pub(crate) schema: Option<Value>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) temperature: Option<f64>,
}

/// A text as it is to be written.
pub(crate) struct Answer<'a> {
    pub(crate) model: &'a str,
    pub(crate) text: &'a str,
    pub(crate) end: End,
    pub(crate) paid: Paid,
}

/// The format and the key of a request, by its path.
pub(crate) fn of_path(path: &str) -> Option<Wire> {
    if path.ends_with("/chat/completions") {
        Some(Wire::OpenAi)
    } else if path.ends_with("/messages") {
        Some(Wire::Anthropic)
    } else if path.contains("/models/") {
        Some(Wire::Gemini)
    } else {
        None
    }
}

/// The header that holds the key.
pub(crate) fn key_header(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenAi => "authorization",
        Wire::Anthropic => "x-api-key",
        Wire::Gemini => "x-goog-api-key",
    }
}

pub(crate) fn read(wire: Wire, path: &str, body: &Value) -> Asked {
    match wire {
        Wire::OpenAi => openai::read(body),
        Wire::Anthropic => anthropic::read(body),
        Wire::Gemini => gemini::read(path, body),
    }
}

/// The body of an answer in one piece.
pub(crate) fn whole(wire: Wire, answer: &Answer<'_>) -> String {
    match wire {
        Wire::OpenAi => openai::whole(answer),
        Wire::Anthropic => anthropic::whole(answer),
        Wire::Gemini => gemini::whole(answer),
    }
    .to_string()
}

/// The events of a streamed answer, as they go over the wire.
pub(crate) fn stream(wire: Wire, answer: &Answer<'_>) -> Vec<String> {
    match wire {
        Wire::OpenAi => openai::stream(answer),
        Wire::Anthropic => anthropic::stream(answer),
        Wire::Gemini => gemini::stream(answer),
    }
}

/// The body of an error.
pub(crate) fn error(wire: Wire, status: u16, words: &str) -> String {
    match wire {
        Wire::OpenAi => openai::error(words),
        Wire::Anthropic => anthropic::error(words),
        Wire::Gemini => gemini::error(status, words),
    }
    .to_string()
}

/// How many characters an event of a stream holds.
const PIECE_CHARS: usize = 48;

/// A text in pieces, at least one.
fn pieces(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> =
        chars.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect();
    if pieces.is_empty() { vec![String::new()] } else { pieces }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The text of a message: a string, or parts with a text each.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        part => part["text"].as_str().unwrap_or_default().to_owned(),
    }
}
