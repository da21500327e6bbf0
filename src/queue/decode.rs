//! What a message asks for, read from its headers and body.
//!
//! Four shapes are known: a [`Job`], the wake-up of a run, a GitHub [`Webhook`], and an
//! [`EventMessage`]. [`decode`] is
//! pure and total: any bytes give an answer, in time linear in their number. It is lenient about
//! fields it does not know and strict about those it does, and what it refuses it explains in a
//! sentence fit for a dead letter. It never looks inside a job's input or a webhook's body beyond
//! checking that they are JSON.

use std::{collections::BTreeMap, fmt::Write as _};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::message::{Message, header};

/// The content type of a [`Job`].
pub const JOB_TYPE: &str = "application/vnd.verdict.job+json";

/// The content type of an [`EventMessage`].
pub const EVENT_TYPE: &str = "application/vnd.verdict.event+json";

/// The largest body that is read: 25 MiB, which is more than GitHub sends.
pub const BODY_LIMIT: usize = 25 * 1024 * 1024;

/// The deepest nesting of arrays and objects that is accepted; later parsers take no more.
pub const NESTING_LIMIT: usize = 120;

/// The version of the job format this build reads, given as the content type's `version`.
const JOB_VERSION: &str = "1";

/// The longest workflow name, run id, event name and delivery id, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// The longest job key, in bytes.
const MAX_KEY_BYTES: usize = 1024;

/// The longest explanation taken over from the JSON parser, in characters.
const MAX_DETAIL_CHARS: usize = 200;

/// What a message asks for.
#[derive(Debug, Clone)]
pub enum Decoded {
    /// Run a workflow.
    Job(Job),
    /// Look at a run that exists, by its id.
    Wake {
        /// The run's id, unchecked.
        run: String,
    },
    /// See whether this event concerns anybody.
    Webhook(Webhook),
    /// Give this event to the runs that wait for its key.
    Event(EventMessage),
}

/// A request to run a workflow.
#[derive(Debug, Clone, Serialize)]
pub struct Job {
    /// The workflow's name.
    pub workflow: String,
    /// Its input, as it was written.
    pub input: Box<RawValue>,
    /// Jobs of one workflow under one key are one run; without a key each is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// A GitHub event, its body untouched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The event's name: `pull_request`, `issue_comment`, …
    pub event: String,
    /// GitHub's id of the delivery, where the pipe kept it.
    pub delivery: Option<String>,
    /// One JSON object.
    pub body: Bytes,
}

/// An event from outside, for runs that wait for its key.
#[derive(Debug, Clone, Deserialize)]
#[serde(expecting = "a JSON object with `key`, and perhaps `payload` and `id`")]
pub struct EventMessage {
    /// The key, unchecked.
    pub key: String,
    /// What it carries, as it was written; `null` if left out.
    pub payload: Option<Box<RawValue>>,
    /// Which of the key's events it is, unchecked; without an id the message itself tells.
    pub id: Option<String>,
}

/// Why nothing can be made of a message. Trying again cannot help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Undecodable {
    /// For people: what is wrong with the message.
    pub why: String,
}

impl Job {
    /// The message that asks for this job.
    pub fn to_message(&self) -> Message {
        let mut body = String::with_capacity(self.input.get().len() + 64);
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let _ = write!(body, r#"{{"workflow":{},"input":{}"#, text(&self.workflow), self.input);
        if let Some(key) = &self.key {
            let _ = write!(body, r#","key":{}"#, text(key));
        }
        body.push('}');
        Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE)
    }
}

impl Webhook {
    /// An event as it came over HTTP, checked as a message of a queue is.
    ///
    /// # Errors
    /// [`Undecodable`], with what is wrong.
    pub fn read(
        content_type: &str,
        event: &str,
        delivery: Option<&str>,
        body: Bytes,
    ) -> Result<Self, Undecodable> {
        let mut message = Message::new(body)
            .with(header::CONTENT_TYPE, content_type)
            .with(header::GITHUB_EVENT, event);
        if let Some(delivery) = delivery {
            message = message.with(header::GITHUB_DELIVERY, delivery);
        }
        match Decoded::of(&message)? {
            Decoded::Webhook(webhook) => Ok(webhook),
            Decoded::Job(_) | Decoded::Wake { .. } | Decoded::Event(_) => refuse("it is no event"),
        }
    }

    /// The message that carries this event.
    pub fn to_message(&self) -> Message {
        let message = Message::new(self.body.clone())
            .with(header::CONTENT_TYPE, "application/json")
            .with(header::GITHUB_EVENT, &self.event);
        match &self.delivery {
            Some(delivery) => message.with(header::GITHUB_DELIVERY, delivery),
            None => message,
        }
    }
}

impl Decoded {
    /// What a message asks for; see [`decode`].
    ///
    /// # Errors
    /// [`Undecodable`], with what is wrong.
    pub fn of(message: &Message) -> Result<Self, Undecodable> {
        decode(&message.headers, &message.body)
    }

    /// The message that wakes the run `run`.
    pub fn wake_message(run: &str) -> Message {
        let body = serde_json::json!({ "run": run }).to_string();
        Message::new(body).with(header::CONTENT_TYPE, JOB_TYPE)
    }
}

/// Reads what a message asks for. An `x-github-event` header makes it a webhook, the content type
/// [`EVENT_TYPE`] an event; otherwise the body's shape decides: `{"workflow","input","key"?}` is a job, `{"run"}` a wake-up.
///
/// # Errors
/// [`Undecodable`], with what is wrong.
pub fn decode(headers: &BTreeMap<String, String>, body: &Bytes) -> Result<Decoded, Undecodable> {
    check_headers(headers)?;
    let text = check_text(body)?;
    check_nesting(text)?;
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind_of(kind) == EVENT_TYPE) {
        return parse(text).map(Decoded::Event);
    }
    match headers.get(header::GITHUB_EVENT) {
        Some(event) => webhook(event, headers.get(header::GITHUB_DELIVERY), body, text),
        None => job_or_wake(text),
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Undecodable> {
    Err(Undecodable { why: why.into() })
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), Undecodable> {
    if let Some(encoding) = headers.get("content-encoding") {
        let plain = ["", "identity", "utf-8", "utf8"];
        if !plain.contains(&encoding.trim().to_ascii_lowercase().as_str()) {
            return refuse(format!("its content-encoding is `{}`; send it plain", clip(encoding)));
        }
    }
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let parameters = content_type.split(';').skip(1).map(|part| part.trim().to_ascii_lowercase());
    match kind_of(content_type).as_str() {
        JOB_TYPE | EVENT_TYPE => check_version(parameters),
        "application/x-www-form-urlencoded" => {
            refuse("it is form-encoded; set the webhook's content type to application/json")
        }
        // What pipes put there when nobody told them what it is.
        "" | "text/plain" | "application/octet-stream" => Ok(()),
        json if json == "application/json" || json == "text/json" || json.ends_with("+json") => {
            if json.starts_with("application/vnd.verdict.") {
                return refuse(format!("its content type `{}` is of no known format", clip(json)));
            }
            Ok(())
        }
        other => refuse(format!("its content type is `{}`, expected JSON", clip(other))),
    }
}

/// A content type without its parameters.
fn kind_of(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn check_version(mut parameters: impl Iterator<Item = String>) -> Result<(), Undecodable> {
    let version = parameters.find_map(|part| part.strip_prefix("version=").map(str::to_owned));
    match version.as_deref().map(|version| version.trim_matches('"')) {
        None | Some(JOB_VERSION) => Ok(()),
        Some(other) => refuse(format!(
            "it is of format version `{}`; this build reads version {JOB_VERSION}",
            clip(other)
        )),
    }
}

/// The body as text, or what it seems to be instead.
fn check_text(body: &[u8]) -> Result<&str, Undecodable> {
    if body.len() > BODY_LIMIT {
        return refuse(format!("its body is {} bytes, more than {BODY_LIMIT}", body.len()));
    }
    match body {
        [] => return refuse("its body is empty"),
        [0xef, 0xbb, 0xbf, ..] => {
            return refuse("its body starts with a byte order mark; send UTF-8 without one");
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..] => {
            return refuse("its body looks like UTF-16 or UTF-32; send UTF-8");
        }
        [0x1f, 0x8b, ..] => return refuse("its body is compressed with gzip; send it plain"),
        _ => {}
    }
    let text = std::str::from_utf8(body).or_else(|error| {
        refuse(format!("its body is no UTF-8: invalid byte at offset {}", error.valid_up_to()))
    })?;
    if text.trim_ascii().is_empty() { refuse("its body is blank") } else { Ok(text) }
}

/// Counts brackets outside strings. The JSON parser would skip over any depth and leave the
/// refusal to whoever looks inside.
fn check_nesting(text: &str) -> Result<(), Undecodable> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_LIMIT {
            return refuse(format!("its JSON is nested more than {NESTING_LIMIT} levels deep"));
        }
    }
    Ok(())
}

fn webhook(
    event: &str,
    delivery: Option<&String>,
    body: &Bytes,
    text: &str,
) -> Result<Decoded, Undecodable> {
    let named = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    if event.is_empty() || event.len() > MAX_NAME_BYTES || !event.bytes().all(named) {
        return refuse(format!("its x-github-event `{}` is no event name", clip(event)));
    }
    let delivery = delivery.filter(|id| !id.is_empty());
    if let Some(id) = delivery.filter(|id| id.len() > MAX_NAME_BYTES) {
        return refuse(format!("its x-github-delivery is {} bytes long", id.len()));
    }
    parse::<AnyObject>(text)?;
    Ok(Decoded::Webhook(Webhook {
        event: event.to_owned(),
        delivery: delivery.cloned(),
        body: body.clone(),
    }))
}

#[derive(Deserialize)]
#[serde(expecting = "a JSON object")]
struct AnyObject {}

#[derive(Deserialize)]
#[serde(expecting = "a JSON object with `workflow` and `input`, or with `run`")]
struct Envelope {
    workflow: Option<String>,
    /// `null` is an input too.
    #[serde(default, deserialize_with = "present")]
    input: Option<Box<RawValue>>,
    key: Option<String>,
    run: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(d).map(Some)
}

fn job_or_wake(text: &str) -> Result<Decoded, Undecodable> {
    let envelope: Envelope = parse(text)?;
    let Some(workflow) = envelope.workflow else {
        let Some(run) = envelope.run else {
            return refuse("it has no x-github-event header, no `workflow` and no `run`");
        };
        check_name("run", &run, MAX_NAME_BYTES)?;
        return Ok(Decoded::Wake { run });
    };
    check_name("workflow", &workflow, MAX_NAME_BYTES)?;
    let Some(input) = envelope.input else { return refuse("the job has no `input`") };
    if let Some(key) = &envelope.key {
        check_name("key", key, MAX_KEY_BYTES)?;
    }
    Ok(Decoded::Job(Job { workflow, input, key: envelope.key }))
}

fn check_name(field: &str, value: &str, limit: usize) -> Result<(), Undecodable> {
    if value.trim().is_empty() {
        return refuse(format!("its `{field}` is empty"));
    }
    if value.len() > limit {
        return refuse(format!("its `{field}` is {} bytes long, more than {limit}", value.len()));
    }
    match value.chars().any(char::is_control) {
        true => refuse(format!("its `{field}` holds control characters")),
        false => Ok(()),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Undecodable> {
    // A derived struct would also be read from an array, field by field.
    if !text.trim_ascii_start().starts_with('{') {
        return refuse("its body is no JSON object");
    }
    serde_json::from_str(text).or_else(|error| {
        refuse(format!("its body is not as expected: {}", clip(&error.to_string())))
    })
}

fn clip(text: &str) -> String {
    text.chars()
        .take(MAX_DETAIL_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
