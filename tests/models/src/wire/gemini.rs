//! Gemini's generation of content.

use serde_json::{Value, json};

use super::{Answer, Asked, event, pieces, text_of};
use crate::reply::End;

/// The model and whether to stream stand in the path: `…/models/NAME:streamGenerateContent`.
pub(super) fn read(path: &str, body: &Value) -> Asked {
    let (_, last) = path.rsplit_once("/models/").unwrap_or_default();
    let (model, action) = last.split_once(':').unwrap_or((last, ""));
    let none = Vec::new();
    let contents = body["contents"].as_array().unwrap_or(&none);
    let texts: Vec<String> = contents.iter().map(|content| text_of(&content["parts"])).collect();
    let config = &body["generationConfig"];
    let format = &config["responseJsonSchema"];
    Asked {
        model: model.to_owned(),
        streamed: action.starts_with("stream"),
        instructions: text_of(&body["systemInstruction"]["parts"]),
        prompt: texts.join("\n"),
        schema: (!format.is_null()).then(|| format.clone()),
        max_output_tokens: config["maxOutputTokens"].as_u64(),
        temperature: config["temperature"].as_f64(),
    }
}

fn reason(end: End) -> &'static str {
    match end {
        End::Whole => "STOP",
        End::Length => "MAX_TOKENS",
        End::Refusal => "SAFETY",
    }
}

fn part(answer: &Answer<'_>, text: &str, end: Option<End>) -> Value {
    let paid = answer.paid;
    let mut candidate =
        json!({"index": 0, "content": {"role": "model", "parts": [{"text": text}]}});
    if let Some(end) = end {
        candidate["finishReason"] = json!(reason(end));
    }
    json!({
        "candidates": [candidate],
        "modelVersion": answer.model,
        "usageMetadata": {
            "promptTokenCount": paid.input,
            "candidatesTokenCount": paid.output,
            "totalTokenCount": paid.input + paid.output,
            "cachedContentTokenCount": paid.cached,
        },
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    part(answer, answer.text, Some(answer.end))
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<String> {
    let pieces = pieces(answer.text);
    let last = pieces.len() - 1;
    let end = |at: usize| (at == last).then_some(answer.end);
    pieces.iter().enumerate().map(|(at, piece)| event(&part(answer, piece, end(at)))).collect()
}

pub(super) fn error(status: u16, words: &str) -> Value {
    json!({"error": {"code": status, "message": words, "status": words}})
}
