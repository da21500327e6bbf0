//! A message: headers and a body, the same on every queue.

use std::{collections::BTreeMap, fmt};

use bytes::Bytes;

use crate::base::hash_hex;

/// The headers verdict reads and writes, all lower-case.
pub mod header {
    /// What the body is.
    pub const CONTENT_TYPE: &str = "content-type";
    /// The name of a GitHub webhook event.
    pub const GITHUB_EVENT: &str = "x-github-event";
    /// GitHub's id of a webhook delivery.
    pub const GITHUB_DELIVERY: &str = "x-github-delivery";
    /// The dead letter this message replays.
    pub const REPLAY: &str = "x-verdict-replay";
}

/// What travels on a queue. Header names are lower-case; an adapter makes them so on receipt.
///
/// Its `Debug` shows the headers' names and the body's size, never their content.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Short texts beside the body: `content-type`, `x-github-event`, `traceparent`, …
    pub headers: BTreeMap<String, String>,
    /// The payload, as it came.
    pub body: Bytes,
}

impl Message {
    /// A message without headers.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { headers: BTreeMap::new(), body: body.into() }
    }

    /// The same message with one more header, its name in lower case.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.into());
        self
    }

    /// A header's value. `name` is lower-case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A name for the message, the same however often it is delivered or replayed: a hash of its
    /// body and of its headers, that of a replay aside.
    pub fn digest(&self) -> String {
        let headers = self.headers.iter().filter(|(name, _)| *name != header::REPLAY);
        let headers = headers.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let parts: Vec<&[u8]> = [&self.body[..]].into_iter().chain(headers).collect();
        hash_hex(&parts)
    }

    /// Bytes of the body, the header names and the header values: what a queue's limit counts.
    pub fn size(&self) -> usize {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        headers + self.body.len()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("Message").field("headers", &names).field("bytes", &self.body.len()).finish()
    }
}
