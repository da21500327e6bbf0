//! OpenAI's chat completions, which most servers of one's own speak as well.

use serde_json::{Value, json};

use super::{Answer, Asked, event, pieces, text_of};
use crate::reply::End;

pub(super) fn read(body: &Value) -> Asked {
    let none = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&none);
    let of = |system: bool| {
        let is_system = |m: &&Value| matches!(m["role"].as_str(), Some("system" | "developer"));
        let texts =
            messages.iter().filter(|m| is_system(m) == system).map(|m| text_of(&m["content"]));
        texts.collect::<Vec<_>>().join("\n")
    };
    let limit = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
    let format = &body["response_format"]["json_schema"]["schema"];
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        streamed: body["stream"].as_bool().unwrap_or(false),
        instructions: of(true),
        prompt: of(false),
        schema: (!format.is_null()).then(|| format.clone()),
        max_output_tokens: limit,
        temperature: body["temperature"].as_f64(),
    }
}

fn reason(end: End) -> &'static str {
    match end {
        End::Whole => "stop",
        End::Length => "length",
        End::Refusal => "content_filter",
    }
}

fn usage(answer: &Answer<'_>) -> Value {
    let paid = answer.paid;
    json!({
        "prompt_tokens": paid.input,
        "completion_tokens": paid.output,
        "total_tokens": paid.input + paid.output,
        "prompt_tokens_details": {"cached_tokens": paid.cached},
    })
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let message = json!({"role": "assistant", "content": answer.text});
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason(answer.end)}],
        "usage": usage(answer),
    })
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        event(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": answer.model,
            "choices": choices, "usage": usage,
        }))
    };
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
    let mut events: Vec<String> = pieces(answer.text)
        .iter()
        .map(|piece| {
            let delta = json!({"role": "assistant", "content": piece});
            chunk(choice(delta, Value::Null), Value::Null)
        })
        .collect();
    events.push(chunk(choice(json!({}), json!(reason(answer.end))), Value::Null));
    events.push(chunk(json!([]), usage(answer)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

pub(super) fn error(words: &str) -> Value {
    json!({"error": {"message": words, "type": words, "code": words}})
}
