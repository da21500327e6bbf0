//! Anthropic's messages.

use serde_json::{Value, json};

use super::{Answer, Asked, pieces, text_of};
use crate::reply::End;

pub(super) fn read(body: &Value) -> Asked {
    let none = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&none);
    let texts: Vec<String> = messages.iter().map(|m| text_of(&m["content"])).collect();
    let format = &body["output_config"]["format"]["schema"];
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        streamed: body["stream"].as_bool().unwrap_or(false),
        instructions: text_of(&body["system"]),
        prompt: texts.join("\n"),
        schema: (!format.is_null()).then(|| format.clone()),
        max_output_tokens: body["max_tokens"].as_u64(),
        temperature: body["temperature"].as_f64(),
    }
}

fn reason(end: End) -> &'static str {
    match end {
        End::Whole => "end_turn",
        End::Length => "max_tokens",
        End::Refusal => "refusal",
    }
}

/// What was read anew and what from the cache are told apart here.
fn usage(answer: &Answer<'_>, output: u64) -> Value {
    let paid = answer.paid;
    json!({
        "input_tokens": paid.input - paid.cached,
        "cache_read_input_tokens": paid.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model,
        "content": [{"type": "text", "text": answer.text}],
        "stop_reason": reason(answer.end), "usage": usage(answer, answer.paid.output),
    })
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<String> {
    let event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model, "content": [],
        "stop_reason": null, "usage": usage(answer, 1),
    });
    let mut events = vec![
        event("message_start", json!({"message": message})),
        event(
            "content_block_start",
            json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
    ];
    events.extend(pieces(answer.text).iter().map(|piece| {
        let delta = json!({"type": "text_delta", "text": piece});
        event("content_block_delta", json!({"index": 0, "delta": delta}))
    }));
    events.push(event("content_block_stop", json!({"index": 0})));
    let delta = json!({"stop_reason": reason(answer.end)});
    let usage = json!({"output_tokens": answer.paid.output});
    events.push(event("message_delta", json!({"delta": delta, "usage": usage})));
    events.push(event("message_stop", json!({})));
    events
}

pub(super) fn error(words: &str) -> Value {
    json!({"type": "error", "error": {"type": words, "message": words}})
}
