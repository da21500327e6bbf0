//! Requests and answers as plain values.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

const DOCUMENTATION: &str = "https://docs.github.com/rest";

/// A request, whole.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query and without `/api/v3`, still encoded.
    pub(crate) path: String,
    pub(crate) query_text: String,
    pub(crate) query: BTreeMap<String, String>,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// The body as JSON; null where it is none.
    pub(crate) fn logged_body(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// The pairs of a query or a form.
pub(crate) fn pairs(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(&name.replace('+', " ")), decode(&value.replace('+', " ")))
    };
    text.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

/// A percent-encoded text.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Json(Value),
    Raw { kind: &'static str, bytes: Vec<u8> },
    Empty,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) payload: Payload,
}

/// An answer, or the refusal that took its place.
pub(crate) type Answer = Result<Reply, Reply>;

impl Reply {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), payload: Payload::Json(body) }
    }

    pub(crate) fn ok(body: Value) -> Answer {
        Ok(Self::json(200, body))
    }

    pub(crate) fn created(body: Value) -> Answer {
        Ok(Self::json(201, body))
    }

    pub(crate) fn empty() -> Answer {
        Ok(Self { status: 204, headers: Vec::new(), payload: Payload::Empty })
    }

    pub(crate) fn raw(kind: &'static str, bytes: Vec<u8>) -> Answer {
        Ok(Self { status: 200, headers: Vec::new(), payload: Payload::Raw { kind, bytes } })
    }

    /// A refusal with a message.
    pub(crate) fn refuse(status: u16, message: &str) -> Self {
        let body = json!({"message": message, "documentation_url": DOCUMENTATION, "status": status.to_string()});
        Self::json(status, body)
    }

    pub(crate) fn not_found() -> Self {
        Self::refuse(404, "Not Found")
    }

    pub(crate) fn forbidden() -> Self {
        Self::refuse(403, "Resource not accessible by integration")
    }

    /// 422 as reviews give it: a list of sentences that names no entry.
    pub(crate) fn unprocessable(errors: &[&str]) -> Self {
        Self::json(
            422,
            json!({"message": "Unprocessable Entity", "errors": errors, "documentation_url": DOCUMENTATION, "status": "422"}),
        )
    }

    /// The body as it is sent.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match &self.payload {
            Payload::Json(body) => body.to_string().into_bytes(),
            Payload::Raw { bytes, .. } => bytes.clone(),
            Payload::Empty => Vec::new(),
        }
    }

    /// The body as JSON, for the log.
    pub(crate) fn logged_body(&self) -> Value {
        match &self.payload {
            Payload::Json(body) => body.clone(),
            _ => Value::Null,
        }
    }
}

/// 422 as most of the API gives it: which field of what is wrong, and how.
pub(crate) fn validation_failed(resource: &str, field: &str, code: &str, message: &str) -> Reply {
    let mut error = json!({"resource": resource, "field": field, "code": code});
    if !message.is_empty() {
        crate::json::add(&mut error, "message", json!(message));
    }
    let body = json!({
        "message": "Validation Failed", "errors": [error], "documentation_url": DOCUMENTATION, "status": "422",
    });
    Reply::json(422, body)
}
