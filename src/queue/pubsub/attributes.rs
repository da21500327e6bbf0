//! Messages as Pub/Sub carries them: headers are attributes, and a few attributes are ours.

use std::collections::HashMap;

use google_cloud_pubsub::model;

use super::{Message, QueueError, error::permanent, note};
use crate::base::Timestamp;

/// When the message was first published, in milliseconds since 1970. Always there: a message
/// without body and attributes would be refused.
const SENT: &str = "verdict_sent";
/// Deliveries before this copy of the message.
const DELIVERIES: &str = "verdict_deliveries";
/// A dead letter's id.
pub(super) const LETTER: &str = "verdict_letter";
/// A dead letter's reason.
pub(super) const REASON: &str = "verdict_reason";
/// Says that a dead letter's body did not fit.
pub(super) const BODY: &str = "x-verdict-body";

const MAX_NAME_BYTES: usize = 256;
const MAX_VALUE_BYTES: usize = 1024;
/// Pub/Sub takes 100; some are ours.
const MAX_HEADERS: usize = 96;
/// The same for a dead letter.
const MAX_LETTER_HEADERS: usize = 96 - note::ALL.len();
/// Pub/Sub takes 10,000,000 bytes in a request; names, lengths and what is ours need room.
pub(super) const MAX_MESSAGE_BYTES: usize = 10_000_000 - 16 * 1024;

/// What comes with a message beside its headers and its body.
pub(super) struct Origin {
    /// When it was first published.
    pub sent: Timestamp,
    /// Deliveries before this copy.
    pub deliveries: u32,
}

/// The message as it is published.
pub(super) fn outgoing(message: &Message, origin: &Origin) -> Result<model::Message, QueueError> {
    let size = message.size();
    if size > MAX_MESSAGE_BYTES {
        return Err(QueueError::TooLarge { size, limit: MAX_MESSAGE_BYTES });
    }
    if message.headers.len() > MAX_HEADERS {
        let why = format!("{} headers, and a message takes {MAX_HEADERS}", message.headers.len());
        return Err(permanent("publishing", why));
    }
    let mut attributes = HashMap::new();
    for (name, value) in &message.headers {
        if let Some(why) = invalid_header(name, value) {
            let name: String = name.chars().take(64).collect();
            return Err(permanent("publishing", format!("the header `{name}` {why}")));
        }
        attributes.insert(name.clone(), value.clone());
    }
    attributes.insert(SENT.to_owned(), origin.sent.0.to_string());
    if origin.deliveries > 0 {
        attributes.insert(DELIVERIES.to_owned(), origin.deliveries.to_string());
    }
    Ok(model::Message::new().set_data(message.body.clone()).set_attributes(attributes))
}

/// A dead letter as it is published: as much of the message as fits.
pub(super) fn outgoing_letter(letter: &super::DeadLetter, now: Timestamp) -> model::Message {
    let message = &letter.message;
    let fitting =
        message.headers.iter().filter(|(name, value)| invalid_header(name, value).is_none());
    let mut attributes: HashMap<_, _> = fitting
        .take(MAX_LETTER_HEADERS)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let size: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
    let mut body = message.body.clone();
    if size + body.len() > MAX_MESSAGE_BYTES {
        body.clear();
        attributes.insert(BODY.to_owned(), "in the store".to_owned());
    }
    attributes
        .extend(letter.notes.iter().map(|(name, value)| ((*name).to_owned(), shortened(value))));
    attributes.insert(SENT.to_owned(), now.0.to_string());
    attributes.insert(LETTER.to_owned(), shortened(&letter.id));
    attributes.insert(REASON.to_owned(), shortened(&letter.reason));
    model::Message::new().set_data(body).set_attributes(attributes)
}

/// The message as it was published, and what came with it.
pub(super) fn incoming(received: model::Message) -> (Message, Origin) {
    let published = received.publish_time.map_or(0, |at| {
        at.seconds().saturating_mul(1000).saturating_add(i64::from(at.nanos()) / 1_000_000)
    });
    let number = |name: &str| received.attributes.get(name).and_then(|text| text.parse().ok());
    let sent = Timestamp(number(SENT).unwrap_or(published));
    let deliveries = number(DELIVERIES).and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    // In order, so that of two names that differ in case alone the same one always wins.
    let mut headers: Vec<_> = received.attributes.into_iter().collect();
    headers.sort_unstable();
    let headers = headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let headers = headers.filter(|(name, _)| !is_internal(name)).collect();
    (Message { headers, body: received.data }, Origin { sent, deliveries })
}

/// Whether an attribute, in lower case, is ours or Pub/Sub's own.
fn is_internal(name: &str) -> bool {
    ["verdict_", "cloudpubsub", "goog"].iter().any(|prefix| name.starts_with(prefix))
}

/// Why a header cannot be an attribute.
fn invalid_header(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("has no name")
    } else if is_internal(name) {
        Some("has a name that is reserved")
    } else if name.len() > MAX_NAME_BYTES {
        Some("has a name of more than 256 bytes")
    } else {
        (value.len() > MAX_VALUE_BYTES).then_some("has a value of more than 1,024 bytes")
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_VALUE_BYTES)].to_owned()
}
